"""One representative call of each operation, for the sweep: as PyTorch says it and, where it has
the function, as JAX says it.

A line is ``PyTorch's call ; JAX's call``. Lines that start with ``each`` stand for one call for
every name in brackets. The operands are the names below; ``t``, ``F`` and ``L`` are the namespaces
``torch``, ``torch.nn.functional`` and ``torch.linalg``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

_POINTWISE = """
each [abs absolute sin cos tan sinh cosh tanh arcsinh arctan asinh atan exp exp2 expm1 square \
sign signbit floor ceil trunc negative \
positive sinc deg2rad rad2deg isfinite isinf isnan isneginf isposinf isreal logical_not \
nan_to_num i0 conj angle frexp round] t.{}(x) \
; np.{}(x)
each [acos asin arccos arcsin atanh arctanh] t.{}(p) ; np.{}(p)
each [sqrt reciprocal log log2 log10 log1p] t.{}(p) ; np.{}(p)
each [acosh arccosh] t.{}(p + 1) ; np.{}(p + 1)
each [neg sgn frac fix] t.{}(x)
each [logit rsqrt digamma lgamma] t.{}(p) ; {"logit": special.logit, "rsqrt": lax.rsqrt, \
"digamma": special.digamma, "lgamma": \
special.gammaln}["{}"](p)
each [erf erfc] t.{}(x) ; special.{}(x)
t.erfinv(p) ; special.erfinv(p)
t.mvlgamma(p + 3, 2) ; special.multigammaln(p + 3, 2)
t.polygamma(1, p) ; special.polygamma(1, p)
t.sigmoid(x) ; nn.sigmoid(x)
each [expit ndtr log_ndtr i0e i1 i1e] t.special.{}(x) ; special.{}(x)
each [entr ndtri] t.special.{}(p) ; special.{}(p)
each [erfcx modified_bessel_i0 modified_bessel_i1 bessel_j0 bessel_j1 spherical_bessel_j0 \
airy_ai] t.special.{}(x)
each [modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 \
bessel_y0 bessel_y1] t.special.{}(p)
t.special.zeta(p + 2, p) ; special.zeta(p + 2, p)
t.special.xlog1py(x, p) ; special.xlog1py(x, p)
t.xlogy(x, p) ; special.xlogy(x, p)
each [chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w \
hermite_polynomial_h \
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t \
shifted_chebyshev_polynomial_u \
shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w] t.special.{}(p, 5)
t.igamma(p, p2) ; special.gammainc(p, p2)
t.igammac(p, p2) ; special.gammaincc(p, p2)
each [add subtract multiply divide true_divide floor_divide remainder fmod copysign arctan2 hypot \
logaddexp logaddexp2 maximum \
minimum fmax fmin nextafter heaviside float_power allclose isclose] t.{}(x, y) ; np.{}(x, y)
each [sub mul div atan2 rsub] t.{}(x, y)
each [logical_and logical_or logical_xor not_equal greater greater_equal less less_equal] t.{}(x, \
y) ; np.{}(x, y)
each [eq ne lt le gt ge] t.{}(x, y)
each [bitwise_and bitwise_or bitwise_xor gcd lcm] t.{}(i, k) ; np.{}(i, k)
each [bitwise_left_shift bitwise_right_shift] t.{}(i, small) ; np.{}(i, small)
t.bitwise_not(i) ; np.bitwise_not(i)
t.equal(x, same) ; np.array_equal(x, same)
t.pow(p, y) ; np.power(p, y)
t.pow(x, 2) ; x ** 2
t.pow(x, 3) ; x ** 3
t.ldexp(x, small) ; np.ldexp(x, small)
t.add(x, y, alpha=2) ; x + 2 * y
t.mul(x, 1.5) ; x * 1.5
t.lerp(x, y, 0.3) ; x + 0.3 * (y - x)
t.addcmul(x, y, p) ; x + y * p
t.addcdiv(x, y, p) ; x + y / p
t.clamp(x, -1, 1) ; np.clip(x, -1, 1)
t.clamp_min(x, 0) ; np.maximum(x, 0)
t.clamp_max(x, 0) ; np.minimum(x, 0)
t.where(m, x, y) ; np.where(m, x, y)
t.complex(x, y) ; lax.complex(x, y)
t.polar(p, x)
t.conj_physical(c) ; np.conj(c)
t.abs(c) ; np.abs(c)
t.angle(c) ; np.angle(c)
t.mul(c, c) ; c * c
t.masked_fill(x, m, 0.5) ; np.where(m, np.float32(0.5), x)
t.Tensor.add_(fresh, y)
t.Tensor.mul_(fresh, 1.0)
t.Tensor.fill_(fresh, 1.0)
t.Tensor.copy_(fresh, y)
x.to(t.float64) ; x.astype(np.float64)
x.to(t.bfloat16) ; x.astype(np.bfloat16)
x.to(t.int32) ; x.astype(np.int32)
i.to(t.float32) ; i.astype(np.float32)
t.clone(x) ; np.copy(x)
t.renorm(x, 2, 0, 1.0)
"""

_ACTIVATIONS = """
each [relu relu6 silu mish celu elu selu softplus leaky_relu gelu] F.{}(x) ; nn.{}(x)
F.gelu(x) ; nn.gelu(x, approximate=False)
F.logsigmoid(x) ; nn.log_sigmoid(x)
F.softsign(x) ; nn.soft_sign(x)
F.hardtanh(x) ; nn.hard_tanh(x)
F.hardsigmoid(x) ; nn.hard_sigmoid(x)
F.hardswish(x) ; nn.hard_swish(x)
F.glu(x) ; nn.glu(x)
each [hardshrink softshrink tanhshrink] F.{}(x)
F.threshold(x, 0.1, 20.0)
F.prelu(x, one)
F.rrelu(x)
F.softmax(x, -1) ; nn.softmax(x, -1)
F.softmax(x, 0) ; nn.softmax(x, 0)
F.log_softmax(x, -1) ; nn.log_softmax(x, -1)
F.softmin(x, -1) ; nn.softmax(-x, -1)
F.gumbel_softmax(x)
F.normalize(x)
t.logsumexp(x, -1) ; nn.logsumexp(x, -1)
F.layer_norm(x, (n,), w, v)
F.rms_norm(x, (n,), w)
F.batch_norm(x, None, None, w, v, True)
F.group_norm(im, 1)
F.instance_norm(im)
F.local_response_norm(im, 2)
F.dropout(x, 0.5)
F.alpha_dropout(x, 0.5, True)
F.linear(x, y, v) ; x @ y.T + v
F.bilinear(x[:8], y[:8], cube)
F.embedding(index, x) ; np.take(x, index, 0)
F.embedding_bag(i, x[:, :4])
F.one_hot(index, n) ; nn.one_hot(index, n, dtype=np.int64)
F.scaled_dot_product_attention(heads, heads, heads) ; nn.dot_product_attention(heads, heads, heads)
"""

_REDUCTIONS = """
each [sum mean prod all any nansum nanmean count_nonzero amax amin argmax argmin max min median \
nanmedian var std var_mean std_mean \
aminmax] t.{}(x)
each [sum mean prod nansum nanmean amax amin argmax argmin var std count_nonzero] t.{}(x) ; np.{}(x)
each [max min] t.{}(x) ; np.{}(x)
each [median nanmedian] t.{}(x) ; np.{}(x)
each [all any] t.{}(m) ; np.{}(m)
each [sum mean prod nansum nanmean amax amin argmax argmin var std count_nonzero] t.{}(x, dim=1) \
; np.{}(x, axis=1)
each [sum mean amax argmax var] t.{}(x, dim=0) ; np.{}(x, axis=0)
each [all any] t.{}(m, dim=1) ; np.{}(m, axis=1)
each [max min median nanmedian mode] t.{}(x, dim=1)
t.median(x, 1) ; np.median(x, 1)
t.sum(i) ; np.sum(i)
t.sum(m) ; np.sum(m)
t.kthvalue(x, 2)
t.mode(i, 1)
t.quantile(x, 0.3) ; np.quantile(x, 0.3)
t.quantile(x, 0.3, dim=1) ; np.quantile(x, 0.3, axis=1)
t.nanquantile(x, 0.3, dim=1) ; np.nanquantile(x, 0.3, axis=1)
t.norm(x) ; linalg.norm(x)
t.norm(x, dim=1) ; linalg.norm(x, axis=1)
t.norm(x, 1) ; np.sum(np.abs(x))
t.norm(x, 3, dim=1) ; linalg.norm(x, 3, axis=1)
t.dist(x, y)
t.trace(x) ; np.trace(x)
t.cov(x) ; np.cov(x)
t.corrcoef(x) ; np.corrcoef(x)
t.histc(x, 100, -3, 3) ; np.histogram(x, 100, (-3, 3))[0]
t.histogram(x, 100) ; np.histogram(x, 100)
t.histogramdd(x[:, :2], (8, 8)) ; np.histogramdd(x[:, :2], (8, 8))
t.bincount(i.reshape(-1)) ; np.bincount(i.reshape(-1))
t.bincount(i.reshape(-1), x.reshape(-1)) ; np.bincount(i.reshape(-1), x.reshape(-1))
t.trapezoid(x) ; np.trapezoid(x)
t.trapezoid(x, v) ; np.trapezoid(x, v)
t.cumulative_trapezoid(x)
t.hash_tensor(x)
t.segment_reduce(x, "sum", lengths=lengths)
each [cumsum cumprod] t.{}(x, 1) ; np.{}(x, 1)
each [cumsum cumprod] t.{}(x, 0) ; np.{}(x, 0)
t.cumsum(i, 1) ; np.cumsum(i, 1)
t.cummax(x, 1)
t.cummin(x, 1)
t.cummax(x, 0)
t.logcumsumexp(x, 1) ; lax.cumlogsumexp(x, 1)
t.logcumsumexp(x, 0) ; lax.cumlogsumexp(x, 0)
t.diff(x) ; np.diff(x)
t.gradient(x)
F.mse_loss(x, y) ; np.mean((x - y) ** 2)
F.l1_loss(x, y) ; np.mean(np.abs(x - y))
each [smooth_l1_loss huber_loss soft_margin_loss hinge_embedding_loss poisson_nll_loss \
multilabel_soft_margin_loss] F.{}(x, y)
F.binary_cross_entropy(p, p2)
F.binary_cross_entropy_with_logits(x, p)
F.kl_div(x, p)
F.gaussian_nll_loss(x, y, p)
F.margin_ranking_loss(x, y, y)
F.cosine_embedding_loss(x, y, v)
F.multi_margin_loss(x, index)
F.multilabel_margin_loss(x[:64], i[:64])
F.cross_entropy(x, index)
F.cross_entropy(x, p)
F.nll_loss(x, index)
F.triplet_margin_loss(x, y, p)
F.ctc_loss(x[:, None].log_softmax(-1), index[:n // 4][None].clamp(min=1), (n,), (n // 4,))
F.cosine_similarity(x, y)
F.pairwise_distance(x, y)
F.pdist(x[:n // 4])
t.cdist(x, y)
t.cdist(x[:64], y[:64], p=1.0)
"""

_SORTING = """
t.sort(x) ; (np.sort(x), np.argsort(x))
t.sort(x, 0) ; (np.sort(x, 0), np.argsort(x, 0))
t.sort(x, descending=True)
t.sort(i)
t.argsort(x) ; np.argsort(x)
t.argsort(x, 0) ; np.argsort(x, 0)
t.msort(x) ; np.sort(x, 0)
t.sort(x.reshape(-1)) ; (np.sort(x.reshape(-1)), np.argsort(x.reshape(-1)))
t.topk(x, 2) ; lax.top_k(x, 2)
t.topk(x, n // 4) ; lax.top_k(x, n // 4)
t.topk(x, 2, 0)
t.topk(x.reshape(-1), 10) ; lax.top_k(x.reshape(-1), 10)
t.unique(i) ; np.unique(i)
t.unique(x) ; np.unique(x)
t.unique(i, return_inverse=True, return_counts=True) ; np.unique(i, return_inverse=True, \
return_counts=True)
t.unique(small, dim=0) ; np.unique(small, axis=0)
t.unique_consecutive(i)
t.searchsorted(s, x) ; np.searchsorted(s, x)
t.bucketize(x, s) ; np.digitize(x, s)
t.isin(i, index) ; np.isin(i, index)
t.nonzero(m) ; np.argwhere(m)
t.argwhere(m) ; np.argwhere(m)
t.nonzero_static(m, size=n) ; np.argwhere(m, size=n)
t.masked_select(x, m) ; x[m]
x[m] ; x[m]
t.multinomial(p, 2)
t.randperm(n * n)
"""

_INDEXING = """
t.gather(x, 1, i) ; np.take_along_axis(x, i, 1)
t.gather(x, 0, i) ; np.take_along_axis(x, i, 0)
t.take_along_dim(x, i, 1) ; np.take_along_axis(x, i, 1)
t.index_select(x, 0, index) ; np.take(x, index, 0)
t.index_select(x, 1, index) ; np.take(x, index, 1)
t.take(x, i) ; np.take(x, i)
x[index] ; x[index]
x[:, index] ; x[:, index]
x[index, index2] ; x[index, index2]
x[1:3] ; x[1:3]
x[::2, 1:] ; x[::2, 1:]
x[0] ; x[0]
x[:, None] ; x[:, None]
t.scatter(x, 1, i, y)
t.scatter(x, 1, i, 1.0)
t.scatter(x, 0, i, y)
t.scatter_add(x, 1, i, y)
t.scatter_add(x, 0, i, y)
t.scatter_reduce(x, 1, i, y, "amax")
t.scatter_reduce(x, 1, i, y, "mean")
t.index_add(x, 0, index, y) ; x.at[index].add(y)
t.index_add(x, 1, index, y) ; x.at[:, index].add(y)
t.index_copy(x, 0, index, y) ; x.at[index].set(y)
t.index_fill(x, 0, index, 1.0) ; x.at[index].set(1.0)
t.index_reduce(x, 0, index, y, "amax") ; x.at[index].max(y)
t.index_put(x, (index, index2), v) ; x.at[index, index2].set(v)
t.index_put(x, (index, index2), v, True) ; x.at[index, index2].add(v)
t.put(x, index, v)
t.masked_scatter(x, m, y)
t.select_scatter(x, v, 0, 1) ; x.at[1].set(v)
t.slice_scatter(x, y[:n // 2], 0, 0, n // 2) ; x.at[:n // 2].set(y[:n // 2])
t.diagonal_scatter(x, v)
t.as_strided_scatter(x, v, (n,), (1,))
t.repeat_interleave(x, 2, 0) ; np.repeat(x, 2, 0)
t.repeat_interleave(x, lengths, 0) ; np.repeat(x, lengths, 0)
t.unravel_index(index, (n, n)) ; np.unravel_index(index, (n, n))
"""

_SHAPES = """
each [ravel atleast_1d atleast_2d atleast_3d fliplr flipud rot90 tril triu diag diagonal squeeze] \
t.{}(x) ; np.{}(x)
t.diagflat(v) ; np.diagflat(v)
t.diag_embed(x[:8])
t.flip(x, (0, 1)) ; np.flip(x, (0, 1))
t.roll(x, 1, 0) ; np.roll(x, 1, 0)
t.roll(x, 3) ; np.roll(x, 3)
t.reshape(x, (n * n,)) ; np.reshape(x, (n * n,))
t.t(x) ; x.T
t.t(x).contiguous() ; np.copy(x.T)
t.permute(im, (0, 2, 3, 1)).contiguous() ; np.transpose(im, (0, 2, 3, 1))
t.movedim(im, 1, 3) ; np.moveaxis(im, 1, 3)
t.unsqueeze(x, 0) ; np.expand_dims(x, 0)
x.expand(2, n, n) ; np.broadcast_to(x, (2, n, n))
t.cat([x, y]) ; np.concatenate([x, y])
t.cat([x, y], 1) ; np.concatenate([x, y], 1)
each [stack hstack vstack dstack column_stack] t.{}([x, y]) ; np.{}([x, y])
t.split(x, 2) ; np.split(x, n // 2)
t.chunk(x, 2) ; np.split(x, 2)
t.unbind(x[:4]) ; np.unstack(x[:4])
t.meshgrid(v, w, indexing="ij") ; np.meshgrid(v, w, indexing="ij")
t.broadcast_tensors(v, x) ; np.broadcast_arrays(v, x)
t.tile(x, (2, 1)) ; np.tile(x, (2, 1))
x.repeat(2, 1) ; np.tile(x, (2, 1))
t.block_diag(x, y) ; sla.block_diag(x, y)
t.cartesian_prod(v, w)
t.combinations(v)
t.kron(x[:32, :32], y[:32, :32]) ; np.kron(x[:32, :32], y[:32, :32])
t.vander(v) ; np.vander(v)
t.view_as_real(c)
t.view_as_complex(pairs)
t.real(c) ; np.real(c)
x.unfold(1, 2, 1)
t.as_strided(x, (n, n), (1, n)).contiguous()
t.pixel_shuffle(im[:, :4], 2)
t.pixel_unshuffle(im, 2)
t.channel_shuffle(im, 2)
F.pad(x, (1, 1, 1, 1)) ; np.pad(x, 1)
each [reflect replicate circular] F.pad(im, (1, 1, 1, 1), mode="{}")
F.fold(F.unfold(im, 2), im.shape[2:], 2)
F.unfold(im, 2) ; lax.conv_general_dilated_patches(im, (2, 2), (1, 1), "VALID")
t.zeros(n, n) ; np.zeros((n, n), np.float32)
t.ones(n, n) ; np.ones((n, n), np.float32)
t.full((n, n), 2.0) ; np.full((n, n), 2.0, np.float32)
t.empty(n, n) ; np.empty((n, n), np.float32)
each [zeros_like ones_like empty_like] t.{}(x) ; np.{}(x)
t.full_like(x, 2.0) ; np.full_like(x, 2.0)
t.eye(n) ; np.eye(n, dtype=np.float32)
t.arange(n * n) ; np.arange(n * n)
t.arange(0, 1, 1 / (n * n)) ; np.arange(0, 1, 1 / (n * n), np.float32)
t.linspace(0, 1, n * n) ; np.linspace(0, 1, n * n, dtype=np.float32)
t.logspace(0, 1, n * n) ; np.logspace(0, 1, n * n, dtype=np.float32)
t.tril_indices(n, n) ; np.tril_indices(n)
t.triu_indices(n, n) ; np.triu_indices(n)
each [hann_window hamming_window blackman_window bartlett_window kaiser_window] t.{}(n)
t.scalar_tensor(1.0) ; np.asarray(1.0, np.float32)
"""

_RANDOM = """
each [rand randn] t.{}(n, n)
t.randint(100, (n, n))
t.rand_like(x)
t.normal(x, p)
t.bernoulli(p)
t.poisson(p)
t.binomial(small.float(), p)
fresh.uniform_()
fresh.normal_()
fresh.exponential_()
fresh.geometric_(0.3)
fresh.cauchy_()
fresh.log_normal_()
fresh.bernoulli_(0.3)
fresh.random_(10)
"""

_PRODUCTS = """
t.matmul(x, y) ; np.matmul(x, y)
t.matmul(x, v) ; np.matmul(x, v)
t.mm(x, t.t(y)) ; x @ y.T
t.mm(i, k) ; i @ k
t.mm(c, c) ; c @ c
t.bmm(batch, batch) ; batch @ batch
each [inner] t.{}(x, y) ; np.{}(x, y)
each [dot vdot outer] t.{}(v, w) ; np.{}(v, w)
t.mv(x, v) ; x @ v
t.addmm(x, x, y) ; x + x @ y
t.addmv(v, x, v) ; v + x @ v
t.addr(x, v, w) ; x + np.outer(v, w)
t.baddbmm(batch, batch, batch) ; batch + batch @ batch
t.addbmm(batch[0], batch, batch) ; batch[0] + np.sum(batch @ batch, 0)
t.tensordot(x, y) ; np.tensordot(x, y)
t.tensordot(x, y, 1) ; np.tensordot(x, y, 1)
t.einsum("ij,jk->ik", x, y) ; np.einsum("ij,jk->ik", x, y)
t.einsum("ij,ij->i", x, y) ; np.einsum("ij,ij->i", x, y)
t.einsum("bij,bjk->bik", batch, batch) ; np.einsum("bij,bjk->bik", batch, batch)
t.einsum("ij->j", x) ; np.einsum("ij->j", x)
t.chain_matmul(x, y, x) ; linalg.multi_dot([x, y, x])
L.multi_dot([x, y, x]) ; linalg.multi_dot([x, y, x])
L.cross(x[:, :3], y[:, :3]) ; np.cross(x[:, :3], y[:, :3])
L.vecdot(x, y) ; np.vecdot(x, y)
"""

_LINALG = """
each [inv det slogdet pinv matrix_rank] L.{}(x) ; linalg.{}(x)
L.inv_ex(x)
L.cholesky(spd) ; linalg.cholesky(spd)
t.cholesky_solve(x, spd)
t.cholesky_inverse(spd)
L.qr(x) ; linalg.qr(x)
L.eigh(spd) ; linalg.eigh(spd)
L.eigvalsh(spd) ; linalg.eigvalsh(spd)
L.eig(x[:256, :256]) ; linalg.eig(x[:256, :256])
L.eigvals(x[:256, :256]) ; linalg.eigvals(x[:256, :256])
L.svd(x[:512, :512]) ; linalg.svd(x[:512, :512])
L.svdvals(x[:512, :512]) ; linalg.svdvals(x[:512, :512])
L.cond(x[:512, :512]) ; linalg.cond(x[:512, :512])
L.solve(x, y) ; linalg.solve(x, y)
L.solve_triangular(spd, x, upper=True) ; sla.solve_triangular(spd, x)
L.lu_factor(x) ; sla.lu_factor(x)
L.lu(x) ; sla.lu(x)
L.ldl_factor(spd[:256, :256])
L.lstsq(x, y) ; linalg.lstsq(x, y)
L.matrix_exp(p / n) ; sla.expm(p / n)
L.matrix_power(x, 5) ; linalg.matrix_power(x, 5)
L.matrix_norm(x) ; linalg.matrix_norm(x)
L.matrix_norm(x, 1) ; linalg.matrix_norm(x, ord=1)
L.vector_norm(x) ; linalg.vector_norm(x)
L.householder_product(x, v)
t.geqrf(x)
t.ormqr(x, v, y)
L.inv(batch) ; linalg.inv(batch)
L.det(batch) ; linalg.det(batch)
L.solve(batch, batch) ; linalg.solve(batch, batch)
L.qr(batch) ; linalg.qr(batch)
L.cholesky(spds) ; linalg.cholesky(spds)
L.eigh(spds) ; linalg.eigh(spds)
L.svd(batch[:256]) ; linalg.svd(batch[:256])
L.tensorinv(x.reshape(n, 2, -1), 1) ; linalg.tensorinv(x.reshape(n, 2, -1), 1)
"""

_FFT = """
each [fft ifft rfft] t.fft.{}(x) ; fft.{}(x)
each [irfft hfft] t.fft.{}(c) ; fft.{}(c)
t.fft.ihfft(x) ; fft.ihfft(x)
each [fft2 ifft2 rfft2 fftn rfftn] t.fft.{}(x) ; fft.{}(x)
each [fft ifft fft2] t.fft.{}(c) ; fft.{}(c)
t.fft.irfft2(c) ; fft.irfft2(c)
t.fft.hfft2(c)
t.fft.ihfftn(x)
t.fft.fft(x, dim=0) ; fft.fft(x, axis=0)
t.fft.fftshift(x) ; fft.fftshift(x)
t.fft.ifftshift(x) ; fft.ifftshift(x)
t.fft.fftfreq(n * n) ; fft.fftfreq(n * n, dtype=np.float32)
t.fft.rfftfreq(n * n) ; fft.rfftfreq(n * n, dtype=np.float32)
t.stft(x, 4, return_complex=True, window=t.ones(4))
t.istft(t.stft(x, 4, return_complex=True, window=t.ones(4)), 4, window=t.ones(4))
"""

_IMAGES = """
F.conv1d(seq, filter1, padding=1) ; lax.conv_general_dilated(seq, filter1, (1,), ((1, 1),))
F.conv2d(im, filter2, padding=1) ; lax.conv_general_dilated(im, filter2, (1, 1), ((1, 1), (1, 1)))
F.conv2d(im, filter2[:, :, :1, :1]) ; lax.conv_general_dilated(im, filter2[:, :, :1, :1], (1, 1), \
((0, 0), (0, 0)))
F.conv2d(im, filter2[:, :1], padding=1, groups=4) ; lax.conv_general_dilated(im, filter2[:, :1], \
(1, 1), ((1, 1), (1, 1)), \
feature_group_count=4)
F.conv3d(vol, filter3, padding=1) ; lax.conv_general_dilated(vol, filter3, (1, 1, 1), ((1, 1),) * 3)
F.conv_transpose1d(seq, filter1, padding=1)
F.conv_transpose2d(im, filter2, padding=1)
F.conv_transpose3d(vol, filter3, padding=1)
F.max_pool1d(seq, 2) ; lax.reduce_window(seq, -np.inf, lax.max, (1, 1, 2), (1, 1, 2), "VALID")
F.max_pool2d(im, 2) ; lax.reduce_window(im, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
F.max_pool2d(im, 3, 1, 1) ; lax.reduce_window(im, -np.inf, lax.max, (1, 1, 3, 3), (1, 1, 1, 1), \
"SAME")
F.max_pool2d(im, 2, return_indices=True)
F.max_pool3d(vol, 2)
each [avg_pool1d] F.{}(seq, 2)
F.avg_pool2d(im, 2) ; lax.reduce_window(im, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4
F.avg_pool2d(im, 3, 1, 1)
F.avg_pool3d(vol, 2)
F.lp_pool2d(im, 2.0, 2)
F.adaptive_avg_pool2d(im, 2)
F.adaptive_avg_pool2d(im, 1) ; np.mean(im, (2, 3), keepdims=True)
F.adaptive_max_pool2d(im, 2)
F.adaptive_max_pool2d(im, 2, return_indices=True)
F.adaptive_avg_pool1d(seq, 2)
F.adaptive_avg_pool3d(vol, 2)
F.fractional_max_pool2d(im, 2, 1)
F.max_unpool2d(*F.max_pool2d(im, 2, return_indices=True), 2)
F.interpolate(im, scale_factor=2) ; img.resize(im, (im.shape[0], 4, im.shape[2] * 2, im.shape[3] \
* 2), "nearest")
F.interpolate(im, scale_factor=2, mode="bilinear") ; img.resize(im, (im.shape[0], 4, im.shape[2] \
* 2, im.shape[3] * 2), "bilinear")
F.interpolate(im, scale_factor=2, mode="bicubic") ; img.resize(im, (im.shape[0], 4, im.shape[2] * \
2, im.shape[3] * 2), "cubic")
F.interpolate(im, scale_factor=0.5, mode="area")
F.interpolate(im, scale_factor=0.5, mode="bilinear", antialias=True) ; img.resize(im, \
(im.shape[0], 4, im.shape[2] // 2, im.shape[3] \
// 2), "bilinear")
F.interpolate(seq, scale_factor=2, mode="linear")
F.interpolate(vol, scale_factor=2, mode="trilinear")
F.grid_sample(im, grid, align_corners=False)
F.grid_sample(im, grid, mode="nearest", align_corners=False)
F.grid_sample(im, grid, mode="bicubic", align_corners=False)
F.affine_grid(theta, im.shape, align_corners=False)
t.lstm_cell(x[:64], (x[:64], y[:64]), four, four)
t.gru_cell(x[:64], y[:64], three, three)
t.rnn_tanh_cell(x[:64], y[:64], x, y)
t.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)
"""

_BLOCKS = (
    _POINTWISE,
    _ACTIVATIONS,
    _REDUCTIONS,
    _SORTING,
    _INDEXING,
    _SHAPES,
    _RANDOM,
    _PRODUCTS,
    _LINALG,
    _FFT,
    _IMAGES,
)


@dataclasses.dataclass(frozen=True)
class OpCall:
    """One call, as source: ``jax`` is empty where JAX has no such function."""

    torch: str
    jax: str


def calls() -> list[OpCall]:
    """All calls of the table, one for each PyTorch call; of two equal ones the one that JAX has
    too."""
    found: dict[str, OpCall] = {}
    for line in "\n".join(_BLOCKS).splitlines():
        if not line:
            continue
        names = [""]
        if line.startswith("each ["):
            listed, line = line.removeprefix("each [").split("] ", 1)
            names = listed.split()
        for name in names:
            mine, _, its = line.replace("{}", name).partition(" ; ")
            if its or mine not in found:
                found[mine] = OpCall(mine, its)
    return list(found.values())


def operands(n: int) -> dict[str, Any]:
    """What the names in the calls stand for, as NumPy arrays, for matrices of ``n`` by ``n``."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    # an image of as many elements as a matrix, but for n = 4, where it needs room for kernels
    side = 2 if n == 4 else 128
    batches = max(n * n // (4 * side * side), 1)
    x, width = normal(n, n), min(n, 16)
    count = max(n * n // (width * width), 1)
    batch = normal(count, width, width) + 2 * np.sqrt(width, dtype=np.float32) * np.eye(
        width, dtype=np.float32
    )
    spd = x @ x.T / n + np.eye(n, dtype=np.float32)
    depth = 2 if n == 4 else 64
    return {
        "n": n,
        "x": x,
        "y": normal(n, n),
        "same": x.copy(),
        "fresh": normal(n, n),
        "p": rng.uniform(0.05, 0.95, (n, n)).astype(np.float32),
        "p2": rng.uniform(0.05, 0.95, (n, n)).astype(np.float32),
        "i": rng.integers(0, n, (n, n)),
        "k": rng.integers(-9, 9, (n, n)),
        "small": rng.integers(0, 8, (n, n)),
        "m": rng.random((n, n)) < 0.5,
        "c": (normal(n, n) + 1j * normal(n, n)).astype(np.complex64),
        "v": normal(n),
        "w": normal(n),
        "one": np.full(1, 0.2, np.float32),
        "s": np.sort(normal(n)),
        "index": rng.permutation(n),
        "index2": rng.permutation(n),
        "lengths": np.ones(n, np.int64),
        "pairs": normal(n, n, 2),
        "spd": spd,
        "batch": batch,
        "spds": batch @ np.swapaxes(batch, 1, 2),
        "heads": normal(max(n * n // (4 * width * 64), 1), 4, max(min(n // 16, 64), 1), width),
        "cube": normal(4, n, n),
        "im": normal(batches, 4, side, side),
        "seq": normal(max(n // 64, 1), 4, n * 16 if n > 4 else 4),
        "vol": normal(1, 4, depth, depth, depth),
        "grid": rng.uniform(-1, 1, (batches, side, side, 2)).astype(np.float32),
        "theta": normal(batches, 2, 3),
        "filter1": normal(4, 4, 3),
        "filter2": normal(4, 4, 3, 3),
        "filter3": normal(4, 4, 3, 3, 3),
        "three": normal(3 * n, n),
        "four": normal(4 * n, n),
    }
