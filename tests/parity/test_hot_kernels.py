"""Products, normalisation, attention, losses, embeddings and linear algebra against PyTorch: values
and gradients, or the error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

#: Calls, and the shapes of the tensors ``a, b, c, ...`` they take: numbers for floats, ``i<n>:``
#: for indices below n, ``b:`` for bools, ``p:`` for positive numbers below 1. ``w:`` and ``s:`` are
#: positive numbers and signs that want no gradient.
CALLS = """
t.matmul(a, b) ; 3 ; 3
t.matmul(a, b) ; 2,3 ; 3,4
t.matmul(a, b) ; 2,3 ; 3
t.matmul(a, b) ; 3 ; 3,4
t.matmul(a, b) ; 5,2,3 ; 3,4
t.matmul(a, b) ; 5,2,3 ; 3
t.matmul(a, b) ; 3 ; 5,3,4
t.matmul(a, b) ; 2,3 ; 5,3,4
t.matmul(a, b) ; 5,1,2,3 ; 4,3,2
t.matmul(a, b) ; 0,3 ; 3,4
t.matmul(a, b) ; 2,0 ; 0,4
a @ b ; 4,2,3 ; 4,3,2
f.linear(a, b, c) ; 2,3 ; 4,3 ; 4
f.linear(a, b, c) ; 5,2,3 ; 4,3 ; 4
f.linear(a, b) ; 5,2,3 ; 4,3
f.linear(a, b, c) ; 3 ; 4,3 ; 4
f.linear(a, b) ; 2,3 ; 3
f.linear(a, b, c) ; 2,3 ; 4,3 ; 1
f.linear(a, b, c) ; 2,3 ; 4,3 ; 2,4
f.linear(a, b, c) ; 0,3 ; 4,3 ; 4
t.addmm(c, a, b) ; 2,3 ; 3,4 ; 4
t.addmm(c, a, b, beta=0.5, alpha=2) ; 2,3 ; 3,4 ; 2,4
t.addmm(c * float('nan'), a, b, beta=0) ; 2,3 ; 3,4 ; 2,4
t.addmv(c, a, b, beta=0.5, alpha=2) ; 2,3 ; 3 ; 2
t.addbmm(c, a, b, beta=0.5, alpha=2) ; 4,2,3 ; 4,3,5 ; 2,5
t.baddbmm(c, a, b, beta=0.5, alpha=2) ; 4,2,3 ; 4,3,5 ; 5
t.addr(c, a, b, beta=0.5, alpha=2) ; 3 ; 4 ; 3,4
t.bmm(a, b) ; 4,2,3 ; 4,3,5
t.outer(a, b) ; 3 ; 4
t.inner(a, b) ; 2,3 ; 5,3
t.vdot(a, b) ; 3 ; 3
t.einsum('bij,bjk->bik', a, b) ; 4,2,3 ; 4,3,5
t.einsum('i...j,j->i...', a, b) ; 4,2,3 ; 3
t.einsum('ii->i', a) ; 3,3
t.einsum('ij,ij->', a, b) ; 2,3 ; 1,3
t.einsum('ij,jk,kl->il', a, b, c) ; 2,3 ; 3,4 ; 4,2
t.einsum('ba', a) ; 2,3
t.einsum(a, [0, 1], b, [1, 2], [2, 0]) ; 2,3 ; 3,4
t.tensordot(a, b, 1) ; 2,3 ; 3,4
t.tensordot(a, b, dims=([0, 1], [1, 0])) ; 2,3 ; 3,2,4
t.linalg.multi_dot([a, b, c]) ; 2,3 ; 3,4 ; 4
t.cross(a, b) ; 3,4 ; 3,4
t.linalg.cross(a, b) ; 4,3 ; 1,3
f.bilinear(a, b, c, d) ; 5,2 ; 5,3 ; 4,2,3 ; 4
t.cdist(a, b) ; 4,3 ; 5,3
t.cdist(a, b) ; 2,30,3 ; 30,3
t.cdist(a, a) ; 4,3
t.cdist(a, b, p=1.0) ; 4,3 ; 5,3
t.cdist(a, b, p=3.0) ; 4,3 ; 5,3
t.cdist(a, b, p=float('inf')) ; 4,3 ; 5,3
f.pdist(a) ; 5,3
f.cosine_similarity(a, b, dim=-1) ; 4,3 ; 3
f.pairwise_distance(a, b) ; 4,3 ; 4,3
f.layer_norm(a, (4,), b, c) ; 2,3,4 ; 4 ; 4
f.layer_norm(a, (3, 4), b, c) ; 2,3,4 ; 3,4 ; 3,4
f.layer_norm(a, (4,)) ; 2,3,4
f.layer_norm(a, (4,), b) ; 3,4 ; 4
f.rms_norm(a, (4,), b) ; 2,3,4 ; 4
f.rms_norm(a, (3, 4), eps=0.1) ; 2,3,4
f.group_norm(a, 2, b, c) ; 3,4,5 ; 4 ; 4
f.group_norm(a, 4) ; 3,4,5,2
f.batch_norm(a, None, None, b, c, True) ; 3,4,5 ; 4 ; 4
f.batch_norm(a, None, None, training=True) ; 5,4
f.batch_norm(a, b, c, d, e) ; 3,4,5 ; w:4 ; w:4 ; 4 ; 4
f.instance_norm(a, weight=b, bias=c) ; 3,4,5 ; 4 ; 4
f.local_response_norm(a, 3, alpha=0.5) ; 2,5,3
f.local_response_norm(a, 2) ; 2,5,3
f.normalize(a, dim=1) ; 3,4
f.scaled_dot_product_attention(a, b, c) ; 2,2,3,4 ; 2,2,5,4 ; 2,2,5,6
f.scaled_dot_product_attention(a, b, c, is_causal=True) ; 2,2,3,4 ; 2,2,5,4 ; 2,2,5,6
f.scaled_dot_product_attention(a, b, c, is_causal=True, scale=0.3) ; 2,2,5,4 ; 2,2,3,4 ; 2,2,3,6
f.scaled_dot_product_attention(a, b, c, d) ; 2,2,3,4 ; 2,2,5,4 ; 2,2,5,6 ; 3,5
f.scaled_dot_product_attention(a, b, c, d) ; 2,2,3,4 ; 2,2,5,4 ; 2,2,5,6 ; b:2,1,3,5
f.scaled_dot_product_attention(a, b, c, d < -9) ; 2,2,3,4 ; 2,2,5,4 ; 2,2,5,6 ; 3,5
f.scaled_dot_product_attention(a, b, c, d < -9, is_causal=True) ; 2,2,3,4 ; 2,2,5,4 ; 2,2,5,4 ; 3,5
f.scaled_dot_product_attention(a, b, c, d.detach(), is_causal=True) ; 2,2,3,4 ; 2,2,5,4 ; 2,2,5,4 \
; 3,5
f.scaled_dot_product_attention(a, b, c) ; 3,4 ; 5,4 ; 5,6
f.scaled_dot_product_attention(a, b, c, enable_gqa=True) ; 2,4,3,5 ; 2,2,3,5 ; 2,2,3,5
f.cross_entropy(a, b) ; 5,4 ; i4:5
f.cross_entropy(a, b) ; 4 ; i4:
f.cross_entropy(a, b, reduction='sum') ; 5,4 ; i4:5
f.cross_entropy(a, b, reduction='none') ; 5,4,3 ; i4:5,3
f.cross_entropy(a, b, ignore_index=2) ; 5,4 ; i4:5
f.cross_entropy(a, b, c) ; 5,4 ; i4:5 ; w:4
f.cross_entropy(a, b, c, ignore_index=1, label_smoothing=0.2) ; 5,4,2 ; i4:5,2 ; w:4
f.cross_entropy(a, b, label_smoothing=0.2) ; 5,4 ; i4:5
f.cross_entropy(a, b, label_smoothing=0.2, reduction='none') ; 5,4 ; i4:5
f.cross_entropy(a, b) ; 5,4 ; p:5,4
f.cross_entropy(a, b, c, label_smoothing=0.1) ; 5,4,2 ; p:5,4,2 ; p:4
f.cross_entropy(a * 1000, b) ; 5,4 ; i4:5
f.nll_loss(a, b, c, ignore_index=1) ; 5,4 ; i4:5 ; w:4
f.nll_loss(a, b, reduction='none') ; 5,4,2,3 ; i4:5,2,3
f.mse_loss(a, b) ; 3,4 ; 3,4
f.mse_loss(a, b, weight=c) ; 3,4 ; 3,4 ; p:3,4
f.l1_loss(a, b, reduction='sum') ; 3,4 ; 3,4
f.l1_loss(a, a) ; 3,4
f.smooth_l1_loss(a, b, beta=0.5) ; 3,4 ; 3,4
f.huber_loss(a, b, delta=0.5) ; 3,4 ; 3,4
f.binary_cross_entropy(a, b, c) ; p:3,4 ; p:3,4 ; w:4
f.binary_cross_entropy(a.round(), b.round()) ; p:3,4 ; p:3,4
f.binary_cross_entropy_with_logits(a, b, c, pos_weight=d) ; 3,4 ; p:3,4 ; w:4 ; w:4
f.binary_cross_entropy_with_logits(a * 0, b) ; 3,4 ; p:3,4
f.kl_div(a, b, reduction='batchmean') ; 3,4 ; p:3,4
f.kl_div(a, b, reduction='sum', log_target=True) ; 3,4 ; 3,4
f.poisson_nll_loss(a, b * 4, full=True) ; 3,4 ; p:3,4
f.gaussian_nll_loss(a, b, c) ; 3,4 ; 3,4 ; p:3,1
f.gaussian_nll_loss(a, b, c * 1e-9, full=True) ; 3,4 ; 3,4 ; p:3,4
f.soft_margin_loss(a, b) ; 3,4 ; s:3,4
f.hinge_embedding_loss(a, b) ; 3,4 ; s:3,4
f.margin_ranking_loss(a, b, c, margin=0.5) ; 3 ; 3 ; s:3
f.margin_ranking_loss(a, a, b) ; 3 ; s:3
f.cosine_embedding_loss(a, b, c, margin=0.1) ; 3,4 ; 3,4 ; s:3
f.multi_margin_loss(a, b, p=2, weight=c) ; 3,4 ; i4:3 ; w:4
f.multilabel_margin_loss(a, b - 1) ; 3,4 ; i5:3,4
f.multilabel_soft_margin_loss(a, b.round(), c) ; 3,4 ; p:3,4 ; p:4
f.triplet_margin_loss(a, b, c, swap=True) ; 3,4 ; 3,4 ; 3,4
f.ctc_loss(a.log_softmax(2), b + 1, (6, 5), (3, 2)) ; 6,2,4 ; i3:2,3
f.ctc_loss(a.log_softmax(2), b + 1, (6, 5), (3, 2), reduction='none') ; 6,2,4 ; i3:5
f.ctc_loss(a.log_softmax(2), b + 1, (2, 5), (3, 2), zero_infinity=True) ; 6,2,4 ; i2:2,3
f.embedding(b, a) ; 5,3 ; i5:2,4
f.embedding(b, a, padding_idx=1) ; 5,3 ; i5:2,4
f.embedding(b, a, padding_idx=-1, scale_grad_by_freq=True) ; 5,3 ; i5:20
f.embedding_bag(b, a) ; 5,3 ; i5:2,4
f.embedding_bag(b, a, c * 0, mode='sum') ; 5,3 ; i5:6 ; i1:1
f.embedding_bag(b, a, mode='max', padding_idx=2) ; 5,3 ; i5:3,4
f.embedding_bag(b, a, mode='sum', per_sample_weights=c) ; 5,3 ; i5:2,4 ; 2,4
t.linalg.inv(a) ; 3,3
t.linalg.det(a) ; 2,3,3
t.linalg.slogdet(a)[1] ; 2,4,4
t.logdet(a @ a.mT) ; 4,4
t.linalg.solve(a, b) ; 2,3,3 ; 3,4
t.linalg.solve(a, b) ; 2,3,3 ; 2,3
t.linalg.solve(a, b, left=False) ; 3,3 ; 4,3
t.linalg.cholesky(a @ a.mT + t.eye(3, dtype=a.dtype)) ; 2,3,3
t.linalg.cholesky(a @ a.mT + t.eye(3, dtype=a.dtype), upper=True) ; 3,3
t.cholesky_solve(a, b) ; 3,2 ; 3,3
t.cholesky_inverse(a) ; 3,3
t.linalg.qr(a)[0] ; 4,3
t.linalg.qr(a)[1] ; 3,5
t.linalg.svdvals(a) ; 2,4,3
t.linalg.svd(a, full_matrices=False)[0].abs() ; 4,3
t.linalg.eigvalsh(a) ; 3,3
t.linalg.eigh(a)[1].abs() ; 3,3
t.linalg.eigvals(a).abs() ; 3,3
t.linalg.pinv(a) ; 4,3
t.linalg.pinv(a[:, :1] @ a[:1]) ; 4,3
t.linalg.lstsq(a, b)[0] ; 4,3 ; 4,2
t.linalg.lu(a)[1] ; 3,3
t.linalg.lu_solve(*t.linalg.lu_factor(a), b) ; 3,3 ; 3,2
t.linalg.lu_solve(*t.linalg.lu_factor(a), b, adjoint=True) ; 3,3 ; 3,2
t.linalg.solve_triangular(a, b, upper=True) ; 3,3 ; 3,2
t.linalg.matrix_exp(a) ; 2,3,3
t.linalg.matrix_power(a, 5) ; 3,3
t.linalg.matrix_power(a, -2) ; 3,3
t.linalg.matrix_norm(a) ; 2,3,4
t.linalg.matrix_norm(a, 'nuc') ; 3,4
t.linalg.matrix_norm(a, 2) ; 3,4
t.linalg.matrix_norm(a, 1, dim=(0, 2), keepdim=True) ; 2,3,4
t.linalg.norm(a, 3) ; 5
t.linalg.norm(a) ; 2,3,4
t.linalg.cond(a) ; 3,3
t.linalg.cond(a.detach(), 1) ; 3,3
t.linalg.matrix_rank(a[:, :1] @ a[:1]) ; 4,3
t.linalg.householder_product(a, b) ; 4,3 ; 3
t.linalg.tensorsolve(a, b) ; 2,3,6 ; 2,3
"""

#: Calls that must fail, with ``r`` for random tensors.
ERRORS = """
t.matmul(r(()), r(2)) | t.matmul(r(3), r(4)) | t.matmul(r(2, 3), r(4, 5))
t.matmul(r(2, 3), r(4)) | t.matmul(r(4), r(3, 2))
t.matmul(r(2, 3, 4), r(5, 2)) | t.matmul(r(2, 3, 4), r(2, 5, 2))
t.matmul(r(2, 3, 4), r(3, 4, 5)) | t.matmul(r(2, 3, 4), r(5))
t.matmul(r(2, 3), r(3, 4).double()) | t.matmul(r(3), r(3).double()) | t.mm(r(2), r(2, 3))
t.bmm(r(2, 3, 4), r(3, 4, 5))
t.mv(r(2), r(4)) | t.dot(r(2, 3), r(3)) | t.outer(r(2, 3), r(3)) | t.inner(r(2, 3), r(4))
t.addmm(r(3, 3), r(2, 3), r(3, 2))
t.addmv(r(5), r(2, 3), r(3)) | t.addbmm(r(2, 2), r(2, 3, 4), r(3, 4, 5))
t.baddbmm(r(2, 3, 6), r(2, 3, 4), r(2, 4, 5))
t.addr(r(2, 2), r(3), r(2)) | t.mm(r(2, 3).bool(), r(3, 2).bool())
t.bmm(r(2, 3, 3).bool(), r(2, 3, 3).bool())
f.linear(r(2, 3), r(4, 5)) | f.linear(r(()), r(4, 3)) | f.linear(r(2, 3), r(4, 3), r(5))
f.linear(r(2, 3), r(4, 3).double())
f.linear(r(2, 3), r(4, 3), r(4).double()) | t.einsum('ij,jk', r(2, 3))
t.einsum('ij->k', r(2, 3)) | t.einsum('ii', r(2, 3))
t.einsum('ij,ij->i', r(2, 3), r(2, 4)) | t.einsum('i1', r(2, 3)) | t.einsum('i.j', r(2, 3))
t.einsum('ij->ii', r(2, 3))
t.einsum('i...j->', r(2)) | t.einsum('...i,...i->', r(2, 3), r(4, 3))
t.tensordot(r(2, 3), r(4, 5), 1)
t.tensordot(r(2, 3), r(3, 5), dims=3) | t.cross(r(2, 4), r(2, 4)) | t.cross(r(3), r(3, 3))
t.cdist(r(2, 3), r(2, 4))
t.cdist(r(3), r(2, 3)) | t.cdist(r(2, 3), r(2, 3), p=-1)
t.cosine_similarity(r(2, 3).long(), r(2, 3).long())
f.layer_norm(r(2, 3), [4]) | f.layer_norm(r(2, 3), [3], r(4)) | f.layer_norm(r(2, 3), [])
f.layer_norm(r(2, 3), [3], r(3).double())
f.rms_norm(r(2, 3), [4]) | f.group_norm(r(2, 6), 4) | f.group_norm(r(1, 3), 3)
f.group_norm(r(2, 6), 3, r(5))
f.batch_norm(r(2, 3), None, None) | f.batch_norm(r(2, 3), r(4), r(3))
f.batch_norm(r(1, 3), None, None, training=True)
f.batch_norm(r(3), None, None, training=True) | f.instance_norm(r(2, 3))
f.instance_norm(r(2, 3, 4), use_input_stats=False)
f.local_response_norm(r(2, 3), 2) | f.scaled_dot_product_attention(r(3), r(4, 3), r(4, 3))
f.scaled_dot_product_attention(r(2, 2, 3), r(2, 4, 3), r(2, 5, 3))
f.scaled_dot_product_attention(r(2, 2, 3), r(2, 4, 3), r(2, 4, 3), t.ones(2, 4).bool(), \
is_causal=True)
f.scaled_dot_product_attention(r(2, 2, 3), r(2, 4, 3), r(2, 4, 3), t.ones(2, 4).long())
f.cross_entropy(r(2, 3), t.tensor([0, 3]))
f.scaled_dot_product_attention(r(2, 4, 2, 3), r(2, 3, 4, 3), r(2, 3, 4, 3), enable_gqa=True)
f.cross_entropy(r(2, 3), t.tensor([0]))
f.cross_entropy(r(2, 3), r(2, 4)) | f.cross_entropy(r(2, 3), t.tensor([0, 1]), r(4))
f.cross_entropy(r(2, 3), t.tensor([0, 1]), reduction='x')
f.cross_entropy(r(2, 3), t.tensor([0, 1]).int())
f.cross_entropy(r(2, 3, 4), t.tensor([0, 1])) | f.cross_entropy(r(2, 3).long(), t.tensor([0, 1]))
f.cross_entropy(r(2, 3), r(2, 3), ignore_index=1) | f.nll_loss(r(2, 3), t.tensor([0, 3]))
f.nll_loss(r(2, 3, 4, 5), t.zeros(2, 5).long()) | f.embedding(t.tensor([0, 5]), r(3, 2))
f.embedding(t.tensor([0.0]), r(3, 2))
f.embedding(t.tensor([0]), r(3)) | f.mse_loss(r(2, 3), r(2, 4))
f.embedding(t.tensor([0]), r(3, 2), padding_idx=3)
f.binary_cross_entropy(r(2, 3) + 9, r(2, 3)) | f.binary_cross_entropy(r(2, 3), r(2, 4))
f.multi_margin_loss(r(2, 3), t.tensor([0, 5]))
f.multilabel_margin_loss(r(2, 3), t.tensor([0, 1])) | f.smooth_l1_loss(r(2), r(2), beta=-1)
f.gaussian_nll_loss(r(2, 3), r(2, 3), -t.ones(2, 3)) | f.margin_ranking_loss(r(2, 3), r(2, 3), r(2))
f.triplet_margin_loss(r(2), r(2), r(2), -1)
f.ctc_loss(r(5, 2, 4), t.ones(2, 3).long(), (5, 6), (3, 2))
f.ctc_loss(r(5, 2, 4), t.ones(2, 3).long(), (5, 5), (3, 4))
f.ctc_loss(r(5, 2, 4), t.ones(2, 3).long(), (5, 5), (3, 2), blank=4)
f.cosine_embedding_loss(r(2, 3), r(2, 3), t.tensor(1)) | t.linalg.inv(r(2, 3))
t.linalg.inv(r(3)) | t.linalg.inv(r(3, 3).long())
t.linalg.inv(t.zeros(3, 3)) | t.linalg.inv(t.zeros(2, 3, 3)) | t.linalg.solve(t.zeros(3, 3), r(3))
t.linalg.solve(r(3, 3), r(4, 2))
t.linalg.cholesky(t.diag(t.tensor([1.0, 1.0, -1.0])))
t.linalg.cholesky(-t.eye(3).expand(2, 3, 3)) | t.linalg.qr(r(3, 3), mode='x')
t.linalg.svd(t.full((3, 3), float('nan'))) | t.linalg.svd(r(3)) | t.linalg.eigh(r(3, 3), UPLO='x')
t.linalg.eig(t.full((3, 3), float('nan'))) | t.linalg.lstsq(r(3, 2), r(4)) | t.linalg.pinv(r(3))
t.linalg.matrix_norm(r(3, 3), 3)
t.linalg.norm(r(3, 3, 3), 2) | t.linalg.cond(r(2, 3), 1) | t.linalg.lu_factor(t.zeros(3, 3))
t.linalg.lu_factor(r(3, 3), pivot=False)
t.linalg.solve_triangular(r(3, 3), r(4, 1), upper=True) | t.linalg.matrix_power(t.zeros(3, 3), -1)
t.linalg.tensorinv(r(2, 3, 4), 1)
t.matrix_exp(r(3, 3).long()) | t.linalg.multi_dot([r(2, 3), r(4, 5)]) | t.linalg.multi_dot([r(2)])
"""

TOLERANCE = {"float32": (2e-5, 2e-6), "float64": (1e-10, 1e-12)}
#: Calls whose float32 rounding is amplified: inverses of badly conditioned matrices, differences of
#: large numbers.
LOOSE = ("linalg.cond", "linalg.inv", "linalg.solve", "matrix_power", "cholesky", "linalg.pinv",
         "lstsq", "eigh", "eigvals", "svd", "qr",
         "logdet", "lu_solve", "slogdet", "cdist", "linalg.det", "lu(", "triangular", "tensorsolve",
         "householder", "matrix_exp")  # fmt: skip


def _parsed() -> list[tuple[str, list[str]]]:
    lines = [line.split(";") for line in CALLS.strip().splitlines()]
    return [(call.strip(), [spec.strip() for spec in specs]) for call, *specs in lines]


def _input(spec: str, dtype: str, r: np.random.RandomState) -> np.ndarray:
    kind, _, sizes = spec.rpartition(":")
    shape = tuple(int(n) for n in sizes.split(",") if n)
    if kind.startswith("i"):
        return np.asarray(r.randint(0, int(kind[1:]), shape), np.int64)
    if kind == "b":
        return np.asarray(r.rand(*shape) > 0.4)
    if kind == "s":
        return np.asarray(r.randint(0, 2, shape) * 2 - 1, dtype)
    return np.asarray(r.rand(*shape) * 0.9 + 0.05 if kind else r.randn(*shape), dtype)


def _run(
    library: Any, call: str, specs: list[str], inputs: list[np.ndarray]
) -> tuple[Any, list[Any]]:
    """The value and the gradients of a fixed linear function of it."""
    space = {"t": library, "f": library.nn.functional}
    wanted = [
        x.dtype.kind == "f" and spec[:2] not in ("w:", "s:")
        for x, spec in zip(inputs, specs, strict=True)
    ]
    tensors = [library.tensor(x, requires_grad=w) for x, w in zip(inputs, wanted, strict=True)]
    value = eval(call, space, dict(zip("abcde", tensors, strict=False)))
    if value.requires_grad:
        weights = np.cos(np.arange(value.numel())).reshape(tuple(value.shape))
        (value * library.tensor(weights, dtype=value.dtype)).sum().backward()
    grads = [None if x.grad is None else x.grad.numpy() for x in tensors]
    return value.detach().numpy(), grads


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("call", "specs"), _parsed(), ids=[" ; ".join([call, *specs]) for call, specs in _parsed()]
)
def test_values_and_gradients(call: str, specs: list[str], dtype: str) -> None:
    r = np.random.RandomState(sum(map(ord, call)))
    inputs = [_input(spec, dtype, r) for spec in specs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, grads = _run(torch, call, specs, inputs)
        found, found_grads = _run(jtorch, call, specs, inputs)
    rtol, atol = TOLERANCE[dtype]
    if any(name in call for name in LOOSE):
        rtol, atol = rtol * 100, atol * 500
    assert found.dtype == value.dtype
    assert found.shape == value.shape
    np.testing.assert_allclose(found, value, rtol, atol)
    for name, g, e in zip("abcde", found_grads, grads, strict=False):
        assert (g is None) == (e is None), name
        if e is not None:
            np.testing.assert_allclose(
                g,
                e,
                rtol,
                atol * max(1.0, float(np.max(np.abs(e), initial=0))),
                err_msg=f"gradient of {name}",
            )


def _errors() -> list[str]:
    return [call.strip() for call in ERRORS.strip().replace("\n", "|").split("|") if call.strip()]


@pytest.mark.parametrize("call", _errors())
def test_errors(call: str) -> None:
    found = []
    for library in (torch, jtorch):
        rs = np.random.RandomState(0)

        def random(*shape: Any, library: Any = library, rs: np.random.RandomState = rs) -> Any:
            return library.tensor(
                np.asarray(rs.randn(*(() if shape == ((),) else shape)), np.float32)
            )

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = eval(call, {"t": library, "f": library.nn.functional, "r": random})
                # what depends on values is raised when they are needed
                (made[0] if isinstance(made, tuple) else made).tolist()
            except Exception as error:
                found.append((type(error), str(error).split("\n")[0].split(" (in ")[0]))
            else:
                found.append((None, "no error"))
    (expected, text), (given, given_text) = found
    assert expected is not None
    assert given is not None, "no error"
    names = [c.__name__.lstrip("_") for c in given.__mro__]
    assert expected.__name__.lstrip("_") in names
    assert given_text == text
