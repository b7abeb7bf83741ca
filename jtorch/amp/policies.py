"""Which functions autocast runs in the lower precision, which in float32, and which in the widest of their operands.

Source: the tables of PyTorch's documentation of automatic mixed precision, for CPU and CUDA.
"""

from __future__ import annotations

import functools
from typing import Any

LOWER = {
    "cpu": "conv1d conv2d conv3d bmm mm linalg.vecdot baddbmm addmm addbmm nn.functional.linear linear matmul linalg.matmul conv_tbc "
    "conv_transpose1d conv_transpose2d conv_transpose3d nn.functional.scaled_dot_product_attention lstm rnn_tanh rnn_relu einsum tensordot "
    "linalg.multi_dot chain_matmul matrix_power linalg.matrix_power prelu nn.functional.prelu rnn_tanh_cell rnn_relu_cell",
    "cuda": "addbmm addmm addmv addr baddbmm bmm chain_matmul linalg.multi_dot conv1d conv2d conv3d conv_tbc conv_transpose1d "
    "conv_transpose2d conv_transpose3d nn.functional.linear linear matmul linalg.matmul mm mv linalg.vecdot prelu nn.functional.prelu "
    "nn.functional.scaled_dot_product_attention lstm_cell gru_cell rnn_tanh_cell "
    "rnn_relu_cell einsum inner matrix_power linalg.matrix_power",
}
#: Functions whose last step is a matrix product: computed in float32, their results are of the lower precision.
RESULT = {"cpu": "linalg.pinv cov corrcoef"}
#: Matrix products for vectors too, which are summed in their own precision.
MATRICES = {"cpu": "inner"}
#: Matrix products whose results meet the second operand, the state: that has the last word on the dtype.
STATE = {"cpu": "lstm_cell gru_cell gru"}
FLOAT32 = {
    "cpu": "avg_pool3d binary_cross_entropy grid_sampler polar prod quantile nanquantile stft cdist trace view_as_complex cholesky "
    "cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d "
    "mse_loss cosine_embedding_loss nll_loss hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy l1_loss huber_loss "
    "margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss "
    "binary_cross_entropy_with_logits fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfft2 fft.irfft2 "
    "fft.rfftn fft.irfftn fft.hfft fft.ihfft linalg.cond linalg.matrix_rank linalg.solve linalg.cholesky linalg.svdvals linalg.eigvals "
    "linalg.eigvalsh linalg.inv linalg.householder_product linalg.tensorinv linalg.tensorsolve geqrf linalg.qr linalg.eig linalg.eigh "
    "linalg.lstsq linalg.cholesky_ex linalg.inv_ex linalg.svd svd triangular_solve lu_unpack",
    "cuda": "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus softmin layer_norm group_norm "
    "norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss hinge_embedding_loss kl_div l1_loss "
    "smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss "
    "binary_cross_entropy_with_logits cross_entropy dist pdist cdist renorm logsumexp softmax log_softmax cumprod cumsum prod sum "
    "normalize multilabel_soft_margin_loss",
}
WIDEST = {
    "cpu": "stack cat index_copy",
    "cuda": "addcdiv addcmul atan2 bilinear cross dot grid_sample index_put tensordot scatter_add vdot stack cat",
}


@functools.cache
def table(kind: str) -> dict[Any, str]:
    """The policy of each public callable: functions of every namespace and methods."""
    import jtorch
    from jtorch.functional import PUBLIC

    found: dict[Any, str] = {}
    tables = {"lower": LOWER, "float32": FLOAT32, "widest": WIDEST, "result": RESULT, "matrices": MATRICES, "state": STATE}
    for policy, names in tables.items():
        for name in names.get(kind, names.get("cuda", "")).split():
            last = name.rpartition(".")[2]
            for path in (name, f"nn.functional.{last}", f"special.{last}") if "." not in name else (name,):
                if path in PUBLIC:
                    found[PUBLIC[path]] = policy
            for owner in (jtorch, jtorch.nn.functional):
                made = getattr(owner, last, None) if "." not in name or owner is jtorch.nn.functional else None
                if callable(made):
                    found[made] = policy
            if "." not in name:
                method = jtorch.Tensor.__dict__.get(last)
                if callable(method):
                    found[method] = policy
    for operator in ("__matmul__", "__rmatmul__"):
        found[getattr(jtorch.Tensor, operator)] = "lower"
    if kind == "cuda":
        for operator in ("__pow__", "__rpow__", "__rtruediv__"):
            found[getattr(jtorch.Tensor, operator)] = "float32"
    return found
