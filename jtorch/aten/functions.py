"""Tables: which public functions are other operators' names, which PyTorch takes apart before dispatch, which are no operators at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Functions that write a public function with operators, by its path without ``torch.``; they have the public function's parameters.
#: A path without namespace serves the method and ``nn.functional`` too. They may return ``NotImplemented``.
ROUTES: dict[str, Callable[..., Any]] = {}
#: The same by the name of the operator that PyTorch takes apart.
DECOMPOSED: dict[str, Callable[..., Any]] = {}

#: Other names of operators.
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div", "true_divide": "div", "fix": "trunc",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "subtract": "sub", "ger": "outer", "inverse": "linalg_inv", "det": "linalg_det", "swapaxes": "transpose", "swapdims": "transpose",
    "moveaxis": "movedim", "row_stack": "vstack", "special_expit": "sigmoid", "special_expm1": "expm1", "special_exp2": "exp2",
    "special_erf": "erf", "special_erfc": "erfc", "special_erfinv": "erfinv", "special_digamma": "digamma", "special_psi": "digamma",
    "special_gammaln": "lgamma", "special_gammainc": "igamma", "special_gammaincc": "igammac", "special_i0": "i0",
    "special_log1p": "log1p", "special_logit": "logit", "special_logsumexp": "logsumexp", "special_polygamma": "polygamma",
    "special_multigammaln": "mvlgamma", "special_round": "round", "special_sinc": "sinc", "special_xlogy": "xlogy",
    "special_softmax": "softmax", "special_log_softmax": "log_softmax", "conj_physical": "_conj_physical",
    "orgqr": "linalg_householder_product",
    "logsigmoid": "log_sigmoid", "cross": "linalg_cross",
    "qr": "linalg_qr", "linalg_matmul": "matmul", "__abs__": "abs", "__neg__": "neg", "__pos__": "positive",
    "__invert__": "bitwise_not", "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__mod__": "remainder", "__pow__": "pow", "__floordiv__": "floor_divide", "__eq__": "eq", "__ne__": "ne",
    "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__matmul__": "matmul", "__iadd__": "add_", "__isub__": "sub_",
    "__imul__": "mul_", "__itruediv__": "div_", "__imod__": "remainder_", "__ipow__": "pow_", "__ifloordiv__": "floor_divide_",
    "__iand__": "bitwise_and_", "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__and__": "bitwise_and", "__or__": "bitwise_or",
    "__xor__": "bitwise_xor", "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
}  # fmt: skip
for _name in [n for n in ALIASES if not n.startswith(("__", "special_", "linalg_"))]:
    ALIASES[f"{_name}_"] = f"{ALIASES[_name]}_"

#: Operators that PyTorch takes apart before they are dispatched.
COMPOSITE = frozenset(
    """adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adjoint alpha_dropout argsort argwhere atleast_1d
    atleast_2d atleast_3d avg_pool1d batch_norm bilinear broadcast_tensors broadcast_to cartesian_prod cdist chain_matmul chunk
    column_stack combinations conj conj_physical contiguous conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    cosine_embedding_loss cosine_similarity cross ctc_loss cumulative_trapezoid diag diagflat diff dropout dsplit dstack einsum
    embedding_bag expand_as feature_alpha_dropout feature_dropout fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn
    fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
    fft_rfftn flatten fliplr flipud float_power frobenius_norm get_device grid_sampler group_norm gru gru_cell hinge_embedding_loss
    histogramdd hsplit hstack imag inner instance_norm is_complex is_conj is_floating_point is_inference is_neg is_signed isclose
    isfinite isreal istft item kl_div kron l1_loss layer_norm linalg_cholesky linalg_cond linalg_det linalg_diagonal linalg_eigh
    linalg_eigvals linalg_eigvalsh linalg_inv linalg_ldl_factor linalg_lu_factor linalg_matmul linalg_matrix_norm linalg_matrix_power
    linalg_matrix_rank linalg_multi_dot linalg_norm linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals
    linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot linear log_softmax logdet lstm lstm_cell lu_solve
    margin_ranking_loss matmul matrix_exp matrix_power max_pool1d max_pool1d_with_indices max_pool2d max_pool3d meshgrid movedim msort
    multilabel_margin_loss nanmean nanquantile narrow nll_loss nuclear_norm one_hot outer pad pairwise_distance pdist pin_memory pinverse
    poisson_nll_loss positive prelu qr quantile ravel real relu6 reshape reshape_as resolve_conj resolve_neg retain_grad rms_norm
    rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell rrelu scaled_dot_product_attention selu slogdet softmax square stft sum_to_size svd
    take_along_dim tensor_split tensordot tile to trapezoid trapz triplet_margin_loss type_as unflatten unsafe_chunk vander view_as
    vsplit vstack log_sigmoid chalf coalesce corrcoef cov gradient native_channel_shuffle norm_except_dim numel special_ndtr""".split()
)

#: Functions that are no operators: metadata, hooks, gradients, and what is written with other public methods.
PASS = frozenset(
    """dim ndimension size numel nelement element_size stride storage_offset data_ptr is_contiguous requires_grad_ backward register_hook
    register_post_accumulate_grad_hook retain_grad is_floating_point is_complex is_signed is_conj is_neg is_inference is_same_size
    get_device dim_order is_pinned is_shared is_coalesced __len__ __iter__ __reversed__ __contains__ __format__ __repr__ __dlpack__
    __dlpack_device__ __array_wrap__ broadcast_shapes is_tensor is_storage result_type can_cast numpy.__doc__ type_as
    __torch_function__ untyped_storage storage share_memory_ is_set_to is_nonzero manual_seed""".split()
)


def route(*paths: str, aten: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares how public functions are written with operators; ``aten`` names the operator that is taken apart in the same way."""

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        for path in paths:
            ROUTES[path] = body
        if aten is not None:
            DECOMPOSED[aten] = body
        return body

    return declare


def load() -> None:
    """Imports the modules that declare routes."""
    from . import (  # noqa: F401
        routes_factories,
        routes_linalg,
        routes_math,
        routes_nn,
        routes_recurrent,
        routes_shape,
        routes_statistics,
        routes_tensor,
    )
