"""The table of the jagged layout, and what its functions do that need no code of their own:
delegate, or be refused with a reason."""

from __future__ import annotations

from collections.abc import Callable

from .functions import Table
from .pointwise import apply, names
from .tensor import NestedTensor

TABLE = Table("jagged", apply)
TABLE.unchanged |= names()
NestedTensor._table = TABLE

#: Functions whose bodies are made of functions that know nested tensors.
TABLE.delegates |= set(
    """
    __iter__ __contains__ __format__ nn.functional.softmin nn.functional.normalize
    nn.functional.gumbel_softmax linalg.norm
    """.split()
)


def _starts(*prefixes: str) -> Callable[[str], bool]:
    return lambda path: path.rpartition(".")[2].startswith(prefixes) or path.startswith(prefixes)


def _named(names: str) -> Callable[[str], bool]:
    found = frozenset(names.split())
    return lambda path: path in found or path.rpartition(".")[2] in found


TABLE.reasons += [
    (
        _starts("linalg."),
        (
            "the matrices of a batch would have to have one size; use them one by one, or "
            "to_padded_tensor()"
        ),
    ),
    (
        _starts("fft.", "stft", "istft"),
        "transforms of unlike lengths have no common frequencies; use the items one by one",
    ),
    (
        _starts(
            "conv",
            "max_pool",
            "avg_pool",
            "adaptive_",
            "lp_pool",
            "max_unpool",
            "fractional_",
            "unfold",
            "fold",
        ),
        (
            "windows would cross from one item into the next in the packed values; use "
            "to_padded_tensor()"
        ),
    ),
    (
        _starts(
            "grid_sample", "affine_grid", "interpolate", "upsample", "pixel_", "channel_shuffle"
        ),
        "images of a batch have one size; use the items one by one",
    ),
    (
        _starts("dropout1d", "dropout2d", "dropout3d", "feature_"),
        "channels are dimension 1, which is the ragged one; use dropout",
    ),
    (
        _named(
            "batch_norm instance_norm group_norm local_response_norm native_batch_norm "
            "native_group_norm native_layer_norm"
        ),
        "their statistics need one size of each dimension; use layer_norm or rms_norm",
    ),
    (
        _starts("gru", "lstm", "rnn_"),
        "recurrent networks take ragged batches as PackedSequence; see nn.utils.rnn.pack_sequence",
    ),
    (
        _starts(
            "scatter",
            "index_",
            "gather",
            "take",
            "put",
            "masked_scatter",
            "select_scatter",
            "slice_scatter",
            "diagonal_scatter",
        ),
        "the index would have to be ragged in the same way; use values()",
    ),
    (
        _starts(
            "cross_entropy",
            "nll_loss",
            "ctc_loss",
            "multi",
            "triplet",
            "cosine_embedding",
            "linear_cross_entropy",
        ),
        "its dimension of classes or samples is the ragged one; use values() of input and target",
    ),
    (
        _named("__array__ __dlpack__ __dlpack_device__ __array_wrap__ numpy tolist"),
        "there is no rectangular array of the data; use unbind(), values() or to_padded_tensor()",
    ),
    (
        _starts(
            "as_strided",
            "resize",
            "set_",
            "view_as_",
            "ravel",
            "is_coalesced",
            "to_sparse",
            "to_dense",
            "sparse_",
            "coalesce",
        ),
        "the memory holds the packed values, which have another shape",
    ),
    (
        _named(
            "squeeze_ unsqueeze_ transpose_ swapaxes_ swapdims_ t_ cumsum_ cumprod_ __imatmul__ "
            "tril_ triu_ renorm renorm_"
        ),
        "its result would have another structure than the tensor that is written",
    ),
    (
        _named("median nanmedian mode quantile nanquantile nanmean msort"),
        (
            "order statistics of items of unlike lengths are not taken at once; use unbind(), or "
            "values()"
        ),
    ),
    (
        _named(
            "vstack hstack dstack column_stack row_stack block_diag cartesian_prod combinations "
            "meshgrid repeat tile repeat_interleave"
        ),
        (
            "the result would be ragged in another dimension; use cat, stack or expand along dense "
            "dimensions"
        ),
    ),
    (
        _named("vsplit hsplit __reversed__"),
        "it works along the batch or the ragged dimension; use unbind()",
    ),
    (
        _named(
            """mm mv addmm addmv addbmm baddbmm addr dot vdot inner outer ger kron chain_matmul \
tensordot einsum bilinear t cdist pdist
            pairwise_distance dist cosine_similarity cross det logdet slogdet inverse pinverse qr \
svd lu lu_solve lu_unpack cholesky
            cholesky_inverse cholesky_solve triangular_solve matrix_exp matrix_power geqrf orgqr \
ormqr nuclear_norm frobenius_norm vander
            addbmm_ addmm_ addmv_ addr_ baddbmm_"""
        ),
        (
            "it takes vectors or matrices of one size; use matmul, bmm or linear, or "
            "to_padded_tensor()"
        ),
    ),
    (
        _starts(
            "triu",
            "tril",
            "diag",
            "trace",
            "rot90",
            "flip",
            "roll",
            "unique",
            "nonzero",
            "argwhere",
            "hist",
            "bincount",
            "search",
        ),
        (
            "the result would not be of this structure, or not ragged in one dimension; use "
            "unbind() or values()"
        ),
    ),
]
