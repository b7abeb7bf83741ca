"""Statements about kernels that take shapes of their own: windows, sums of products, matrices,
orders, layouts, distributions, loops.

The notation is that of ``_program_scenes``. Operands are made of the main tensor by ``live``,
``image`` and ``matrix``: finite numbers of double precision that keep their history, with something
added so that no two of them are equal and matrices are not singular.
"""

from __future__ import annotations

#: What the templates use beside ``PREAMBLE`` and ``SCENERY``.
MACHINERY = """
def live(x, *shape):
    n = __import__("math").prod(shape)
    x = x.resolve_conj()
    x = (x.real if x.is_complex() else x).double().nan_to_num(0.5, 1, -1).clamp(-3, 3).flatten()[:n]
    x = torch.cat([x, torch.zeros(n - x.numel(), dtype=torch.float64)])
    return (x + ((torch.arange(float(n), dtype=torch.float64) * 0.37) % 1.9 - 0.9)).reshape(shape)
def image(x):
    return live(x, 1, 2, 5, 4)
def matrix(x, *batch):
    return live(x, *batch, 3, 3) + 6 * torch.eye(3, dtype=torch.float64)
def even(x, *batch):
    m = live(x, *batch, 3, 3)
    return m @ m.mT + torch.diag(torch.tensor([1.0, 3.0, 5.0], dtype=torch.float64))
def grads_of(f, *xs):
    xs = [x.detach().requires_grad_() for x in xs]
    found = torch.autograd.grad(f(*xs).abs().sum(), xs, allow_unused=True, materialize_grads=True)
    return torch.cat([g.flatten() for g in found])
def sparse(x, layout="coo"):
    m = live(x, 4, 3)
    m = m * (m.abs() > 0.5)
    return m.to_sparse() if layout == "coo" else m.to_sparse_csr()
def nested(f, *blocks):
    with __import__("contextlib").ExitStack() as stack:
        for b in blocks:
            stack.enter_context(b)
        return f()
def moved(f, x):
    y, push = torch.func.linearize(f, x)
    return y + push(torch.ones_like(x))
def looped(f, x, n=3):
    out = []
    for _ in range(n):
        x = f(x)
        out.append(x)
    return torch.stack(out)
def drawn(d):
    torch.manual_seed(11)
    s = d.sample((2,))
    return s if s.is_floating_point() else s.double()
D = torch.distributions
"""

WINDOWS = """
F.unfold(image({x}), ({k} % 2 + 1, 2))|F.unfold(image({x}), 2, padding={k} % 2, stride=2)
F.fold(F.unfold(image({x}), 2), (5, 4), 2)
F.interpolate(image({x}), scale_factor=2)|F.interpolate(image({x}), size=(3, 7), mode="bilinear")
F.interpolate(image({x}), size=(7, 3), mode="bilinear", align_corners=True)
F.interpolate(image({x}), scale_factor=1.5, mode="bicubic")
F.interpolate(image({x}), size=(2, 3), mode="area")
F.interpolate(image({x}), size=(3, 6), mode="nearest-exact")
F.interpolate(image({x}), size=(3, 3), mode="bilinear", antialias=True)
F.interpolate(image({x})[0], size=6, mode="linear")
F.interpolate(image({x})[None], size=(2, 4, 6), mode="trilinear")
F.grid_sample(image({x}), live({x}, 1, 3, 2, 2))
F.grid_sample(image({x}), live({x}, 1, 3, 2, 2), mode="nearest", padding_mode="border", \
align_corners=True)
F.grid_sample(image({x}), live({x}, 1, 3, 2, 2), mode="bicubic", padding_mode="reflection", \
align_corners=False)
F.affine_grid(live({x}, 1, 2, 3), (1, 2, 3, 4), align_corners=False)
F.pixel_shuffle(live({x}, 1, 4, 2, 3), 2)
F.pixel_unshuffle(live({x}, 1, 1, 4, 6), 2)|F.channel_shuffle(live({x}, 1, 4, 2, 2), 2)
F.pad(image({x}), (1, 2, 0, 1), "reflect")
F.pad(image({x}), (1, -1, 0, 1), value={k})|F.pad(image({x}), (1, 2, 2, 1), "circular")
F.pad(image({x}), (2, 1, 0, 3), "replicate")
F.avg_pool2d(image({x}), 2, 1, 1, count_include_pad=False)
F.avg_pool2d(image({x}), 3, 2, 1, ceil_mode=True)|F.max_pool2d(image({x}), 2, 1)
F.max_pool2d(image({x}), 2, 2, dilation=2, ceil_mode=True)|F.lp_pool2d(image({x}).abs(), 2, 2)
F.adaptive_avg_pool2d(image({x}), (3, 2))
F.adaptive_max_pool2d(image({x}), (2, 3))
F.max_unpool2d(*F.max_pool2d(image({x}), 2, 2, return_indices=True), 2)
F.conv2d(image({x}), live({x}, 3, 2, 2, 2), padding="same")
F.conv2d(image({x}), live({x}, 2, 1, 2, 2), groups=2, stride=2, dilation=1)
F.conv_transpose2d(image({x}), live({x}, 2, 3, 2, 2), stride=2, output_padding=1)
F.conv1d(live({x}, 2, 3, 6), live({x}, 1, 3, 2), padding=1)|F.local_response_norm(image({x}), 2)
F.instance_norm(image({x}))
F.group_norm(image({x}), 2)|image({x}).unfold(2, 2, 1).unfold(3, 2, 2).sum(-1)
grads_of(lambda v: F.interpolate(v, size=(3, 3), mode="bicubic", antialias=True), image({x}))
grads_of(lambda v, g: F.grid_sample(v, g, align_corners=False), image({x}), live({x}, 1, 3, 2, 2) \
* 0.9)
grads_of(lambda v: F.fold(F.unfold(v, 2, padding=1), (5, 4), 2, padding=1) * v, image({x}))
grads_of(lambda v: F.max_pool2d(v, 2, 1) * F.avg_pool2d(v, 2, 1), image({x}))
grads_of(lambda v: F.pad(v, (1, 1, 2, 1), "reflect") ** 2, image({x}))
"""

PRODUCTS = """
torch.einsum("ij,jk->ik", live({x}, 2, 3), live({x}, 3, 4))
torch.einsum("bij,bkj->bik", live({x}, 2, 2, 3), live({x}, 2, 4, 3))
torch.einsum("ii->i", live({x}, 3, 3))|torch.einsum("ii", live({x}, 3, 3))
torch.einsum("...ij,...j", live({x}, 2, 3, 2), live({x}, 2))
torch.einsum("i,j,k->kij", live({x}, 2), live({x}, 3), live({x}, 2))
torch.einsum("ij,ij->", live({x}, 2, 3), live({x}, 2, 3))
torch.einsum(live({x}, 2, 3), [0, 1], live({x}, 3, 2), [1, 2], [2, 0])
torch.einsum("ijj->ji", live({x}, 2, 3, 3))
torch.einsum("a...b,b...->a...", live({x}, 2, 3, 4), live({x}, 4, 3))
torch.einsum("ij->j", live({x}, 3, 2)[:{k}])
torch.tensordot(live({x}, 2, 3, 4), live({x}, 4, 3, 2), dims=([1, 2], [1, 0]))
torch.tensordot(live({x}, 2, 3), live({x}, 3, 2), dims=1)
torch.bilinear(live({x}, 2, 3), live({x}, 2, 2), live({x}, 4, 3, 2), live({x}, 4))
torch.linalg.multi_dot([live({x}, 2, 3), live({x}, 3, 4), live({x}, 4, 2)])
torch.chain_matmul(live({x}, 2, 3), live({x}, 3, 2), live({x}, 2, 4))
torch.cdist(live({x}, 3, 2), live({x}, 4, 2) + 5, p={k} + 1.0)
torch.block_diag(live({x}, 2, 2), live({x}, 1, 3))|torch.cartesian_prod(live({x}, 2), live({x}, 3))
torch.linalg.vecdot(live({x}, 2, 3), live({x}, 3))
F.scaled_dot_product_attention(live({x}, 1, 2, 3, 4), live({x}, 1, 2, 5, 4), live({x}, 1, 2, 5, 4))
F.scaled_dot_product_attention(live({x}, 2, 3, 4), live({x}, 2, 3, 4), live({x}, 2, 3, 4), \
is_causal=True)
grads_of(lambda a, b: torch.einsum("bij,bjk,ik->b", a, b, a[0] @ b[0]), live({x}, 2, 2, 3), \
live({x}, 2, 3, 2))
grads_of(lambda a: torch.einsum("ii,ij->j", a, a), live({x}, 3, 3))
grads_of(lambda a: torch.cdist(a, a[:2] * 2 + 4), live({x}, 3, 2))
"""

MATRICES = """
torch.linalg.inv(matrix({x}, 2))|torch.linalg.solve(matrix({x}, 2), live({x}, 2, 3, 2))
torch.linalg.solve(matrix({x}), live({x}, 3))
torch.linalg.solve(matrix({x}, 2), live({x}, 2, 3, 2).mT[..., :3].mT, left=True)
torch.linalg.det(matrix({x}, 2, 2))
torch.linalg.slogdet(matrix({x}, 2))|torch.linalg.cholesky(even({x}, 2))
torch.linalg.cholesky(even({x}), upper=True)
torch.cholesky_solve(live({x}, 3, 2), torch.linalg.cholesky(even({x})))
torch.linalg.eigvalsh(even({x}, 2))
torch.linalg.svdvals(matrix({x}, 2))|torch.linalg.qr(matrix({x}, 2), mode="r").R.abs()
torch.linalg.matrix_exp(live({x}, 2, 3, 3) / 4)
torch.linalg.matrix_power(matrix({x}, 2), {k} - 1)
torch.linalg.pinv(live({x}, 2, 4, 3) + torch.eye(4, 3).double() * 5)
torch.linalg.lstsq(live({x}, 4, 3) + torch.eye(4, 3).double() * 5, live({x}, 4, 2)).solution
torch.linalg.solve_triangular(matrix({x}, 2).triu(), live({x}, 2, 3, 2), upper=True)
torch.linalg.lu_solve(*torch.linalg.lu_factor(matrix({x})), live({x}, 3, 2))
torch.linalg.lu(matrix({x}))[2]
torch.linalg.matrix_norm(matrix({x}, 2), ord="nuc")
torch.linalg.vector_norm(live({x}, 2, 3), {k}, dim=-1)
torch.linalg.matrix_norm(matrix({x}, 2), ord={k} % 2 + 1)|torch.linalg.cond(matrix({x}))
torch.linalg.cross(live({x}, 2, 3), live({x}, 1, 3) * 2 + 1)
torch.linalg.householder_product(live({x}, 4, 2), live({x}, 2))
torch.linalg.inv(matrix({x}, 2) * ({k} % 2))|torch.linalg.cholesky(even({x}, 2) * ({k} - 1))
torch.linalg.solve(matrix({x}) * ({k} % 2), live({x}, 3))
torch.linalg.inv(live({x}, 3, 2 + {k} % 2))
torch.linalg.cholesky_ex(-even({x})).info|torch.linalg.inv_ex(live({x}, 2, 3, 3) * 0).info
torch.linalg.eigh(live({x}, 3, 2 + {k} % 2))[0]
torch.linalg.solve(matrix({x}), live({x}, 3 + {k} % 2))
torch.linalg.matrix_power(matrix({x}) * ({k} % 2), -1)
torch.linalg.svdvals(live({x}, 0, 3))|torch.linalg.det(live({x}, 0, 0))
torch.linalg.matrix_rank(matrix({x}, 2))
torch.linalg.matrix_rank(live({x}, 3, 1) @ live({x}, 1, 3) * 10)|torch.logdet(even({x}))
torch.trapezoid(live({x}, 2, 4), dx=0.5)
torch.linalg.vander(live({x}, 3))|torch.linalg.tensorinv(matrix({x}).reshape(3, 3, 1), ind=1)
grads_of(lambda m: torch.linalg.inv(m), matrix({x}, 2))
grads_of(lambda m, b: torch.linalg.solve(m, b), matrix({x}, 2), live({x}, 2, 3, 2))
grads_of(lambda m: torch.linalg.cholesky(m @ m.mT), matrix({x}))
grads_of(lambda m: torch.linalg.slogdet(m)[1], matrix({x}, 2))
grads_of(lambda m: torch.linalg.svdvals(m), torch.diag(live({x}, 3).abs() + torch.tensor([1.0, 6, \
12]).double()))
grads_of(lambda m: torch.linalg.matrix_exp(m), live({x}, 3, 3) / 4)
grads_of(lambda m: torch.linalg.qr(m).R.abs(), matrix({x}))
grads_of(lambda m: torch.linalg.eigvalsh(m), even({x}))
grads_of(lambda m: torch.linalg.pinv(m), matrix({x}))
"""

ORDERS = """
torch.quantile(live({x}, 4, 3), 0.{k})
torch.quantile(live({x}, 4, 3), torch.tensor([0.1, 0.9]).double(), dim=0, keepdim=True)
torch.quantile(live({x}, 7), 0.4, interpolation="lower")
torch.quantile(live({x}, 7), 0.4, interpolation="nearest")
torch.nanquantile(live({x}, 4, 3), 0.3, dim=1)|torch.quantile(live({x}, 3), {k} - 1.0)
torch.histc(live({x}, 12), 5)
torch.histc(live({x}, 12), 4, -1, {k} - 1)|torch.histogram(live({x}, 12), 4)[0]
torch.histogram(live({x}, 12), torch.tensor([-2.0, 0, 0.5, 3]).double())[0]
torch.histogram(live({x}, 12), 3, range=(-1.0, 2.0), weight=live({x}, 12), density=True)[0]
torch.histogramdd(live({x}, 6, 2), [2, 3])[0]
torch.bincount((live({x}, 6) * 2).abs().long(), minlength={k})
torch.bincount((live({x}, 6) * 2).abs().long(), live({x}, 6))
torch.searchsorted(live({x}, 6).sort()[0], live({x}, 2, 3), right={k} > 1)
torch.bucketize(live({x}, 2, 3), torch.tensor([-1.0, 0, 1]).double(), right={k} > 1)
live({x}, 4, 3).index_reduce(0, torch.tensor([0, 2, 0]), live({x}, 3, 3) + 2, "{reduce}", \
include_self={k} > 1)
live({x}, 4, 3).scatter_reduce(1, torch.tensor([[0, 0, 2], [1, 2, 1]]), live({x}, 2, 3) + 2, \
"{scattered}", include_self={k} > 1)
torch.segment_reduce(live({x}, 6), "{segments}", lengths=torch.tensor([2, 0, 3, 1]))
torch.unique(live({x}, 6).round(), return_counts=True)[1]
torch.unique_consecutive(live({x}, 3, 2).round(), dim=0)
torch.topk(live({x}, 2, 5), 2, dim=1)|torch.kthvalue(live({x}, 2, 5), {k} + 1)[0]
torch.sort(live({x}, 2, 5), dim={k} % 2, descending=True)
torch.argsort(live({x}, 6), stable=True)|torch.cummax(live({x}, 2, 5), 1)
torch.logcumsumexp(live({x}, 2, 3), {k} % 2)
torch.cov(live({x}, 3, 4), correction={k} % 2)|torch.corrcoef(live({x}, 3, 4))
torch.median(live({x}, 3, 5), 1)
torch.mode(live({x}, 3, 5).round(), 1)[0]|torch.std_mean(live({x}, 3, 4), 1, correction={k} % 3)
torch.aminmax(live({x}, 3, 4), dim=0)
torch.renorm(live({x}, 3, 4), {k} + 1, 0, 1.0)
torch.diff(live({x}, 3, 4), n={k}, dim=1, prepend=live({x}, 3, 1))
torch.gradient(live({x}, 5), spacing=0.5)[0]|torch.combinations(live({x}, 4), 2)
grads_of(lambda v: torch.quantile(v, 0.3, dim=0), live({x}, 4, 3))
grads_of(lambda v: v.index_reduce(0, torch.tensor([0, 2, 0]), v[:3] + 2, "{reduce}"), live({x}, \
4, 3))
grads_of(lambda v: v.scatter_reduce(0, torch.tensor([[0, 0, 2]]), v[:1] + 2, "{scattered}"), \
live({x}, 4, 3))
grads_of(lambda v: torch.segment_reduce(v, "{segments}", lengths=torch.tensor([2, 3, 1])), \
live({x}, 6))
grads_of(lambda v: torch.kthvalue(v, 2, 0)[0] * torch.cummax(v, 0)[0], live({x}, 4, 3))
grads_of(lambda v: torch.logcumsumexp(v, 1), live({x}, 2, 3))
"""

LAYOUTS = """
sparse({x}).to_dense()|(sparse({x}) * 2).to_dense()|(sparse({x}) + sparse({y})).to_dense()
torch.sparse.mm(sparse({x}), live({x}, 3, 2))
sparse({x}) @ live({x}, 3, 2)|sparse({x}, "csr") @ live({x}, 3, 2)
torch.sparse.sum(sparse({x}), {k} % 2).to_dense()
sparse({x}).t().coalesce().values()|sparse({x}).coalesce().indices()|sparse({x}, "csr").values()
sparse({x}, "csr").crow_indices()
sparse({x}).index_select(0, torch.tensor([1, 1])).to_dense()
torch.sparse.addmm(live({x}, 4, 2), sparse({x}), live({x}, 3, 2))
torch.sparse.softmax(sparse({x}), 1).to_dense()|(sparse({x}) * live({y}, 4, 3)).to_dense()
torch.sparse_coo_tensor(torch.tensor([[0, 1, 0], [2, 0, 2]]), live({x}, 3), (2, 3)).to_dense()
torch.sparse_coo_tensor(torch.tensor([[0, 1 + {k}]]), live({x}, 2), (5,)).to_dense()
torch.cat([sparse({x}), sparse({y})], {k} % 2).to_dense()|sparse({x}).to_sparse_csr().to_dense()
live({x}, 4, 3).sparse_mask(sparse({y}).coalesce()).to_dense()
grads_of(lambda v: torch.sparse.mm(v.to_sparse(), v.mT), live({x}, 4, 3))
grads_of(lambda v: (v.to_sparse() * 3).to_dense() * v, live({x}, 4, 3))
torch.view_as_complex(live({x}, 3, 2))
torch.view_as_real(torch.complex(live({x}, 2), live({y}, 2)).conj().resolve_conj())
torch.complex(live({x}, 3), live({y}, 3)).conj().imag
torch.complex(live({x}, 2, 3), live({y}, 2, 3)).mH|torch.polar(live({x}, 3).abs(), live({y}, 3))
torch.complex(live({x}, 3), live({y}, 3)).conj() @ torch.complex(live({y}, 3), live({x}, 3))
grads_of(lambda a, b: torch.complex(a, b).conj().angle() + torch.view_as_complex(torch.stack([a, \
b], -1)).abs(), live({x}, 3), live({y}, 3))
grads_of(lambda a: torch.fft.rfft(a).abs() + torch.fft.fft(a, 3).real.sum(), live({x}, 6))
torch.stft(live({x}, 12), 4, 2, window=torch.hann_window(4).double(), return_complex=True)
torch.fft.irfft(torch.fft.rfft(live({x}, 2, 6)), 6)|torch.fft.fft2(live({x}, 3, 4)).abs()
torch.fft.fftshift(live({x}, 5))
live({x}, 12).as_strided((3, 4), (4, 1)).as_strided((2, 2), (1, 4), 3)
live({x}, 12).clone().as_strided_scatter(live({y}, 2, 2), (2, 2), (6, 2), 1)
written(lambda w: w.as_strided((2, 3), (6, 2), {k}).mul_(2))(live({x}, 12))
written(lambda w: w.view(3, 4).T[1].add_(5))(live({x}, 12))
written(lambda w: w.unfold(0, 3, 3)[1].zero_())(live({x}, 12))
written(lambda w: put(w.view(3, 4).diagonal(), 7.0, slice(1, None)))(live({x}, 12))
written(lambda w: torch.view_as_complex(w.view(6, 2)).conj().imag.fill_({k}))(live({x}, 12))
written(lambda w: w.view(3, 4).as_strided((3,), (5,)).copy_(w[:3] * 2))(live({x}, 12))
grads_of(lambda v: written(lambda w: w.as_strided((2, 2), (3, 1), \
{k}).mul_(w[0].detach().clone()))(v) * v, live({x}, 12))
grads_of(lambda v: written(lambda w: torch.view_as_complex(w.view(6, 2)).mul_(1j))(v) ** 2, \
live({x}, 12))
"""

BLOCKS = """
nested(lambda: {x} * 2, torch.no_grad(), torch.enable_grad())
nested(lambda: {x} * 2, torch.enable_grad(), torch.no_grad())
nested(lambda: {x} * 2, torch.inference_mode(), torch.inference_mode(False))
nested(lambda: {x}.view(-1), torch.inference_mode())
nested(lambda: {x} + 1, torch.inference_mode(), torch.enable_grad())
nested(lambda: {x}.clone(), torch.inference_mode(False), torch.no_grad())
nested(lambda: {f}.detach().requires_grad_() * 2, torch.no_grad())
nested(lambda: {x} * 1, torch.set_grad_enabled({k} > 1))
nested(lambda: torch.utils.checkpoint.checkpoint(lambda v: v.sin() * v, live({x}, 4), \
use_reentrant=False))
grads_of(lambda v: torch.utils.checkpoint.checkpoint(lambda w: w.sin() * w, v, \
use_reentrant=False), live({x}, 4))
moved(lambda v: v.sin() * v.sum(), live({x}, 4))|moved(lambda v: torch.linalg.inv(v), matrix({x}))
moved(lambda v: v[torch.tensor([0, 0])] ** 2, live({x}, 4))
looped(lambda v: v.sin() + v[:1], live({x}, 3))
torch.func.hessian(lambda v: (v.sin() * v.prod()).sum())(live({x}, 3))
torch.func.jacfwd(torch.func.jacrev(lambda v: v ** 3))(live({x}, 2))
torch.func.vmap(lambda a, b: torch.linalg.solve(a, b))(matrix({x}, 2), live({x}, 2, 3))
torch.func.vmap(lambda a: F.unfold(a, 2))(live({x}, 2, 1, 2, 3, 3))
torch.func.vmap(torch.func.grad(lambda v: torch.quantile(v, 0.4)))(live({x}, 2, 5))
torch.func.vmap(lambda a: torch.einsum("ij,kj->ik", a, a))(live({x}, 2, 2, 3))
torch.func.vmap(lambda a, i: a.index_reduce(0, i, a[:2] + 1, "amax"))(live({x}, 2, 3), \
torch.tensor([[0, 1], [2, 2]]))
torch.func.vmap(lambda a: F.interpolate(a, size=(3, 3), mode="bilinear"))(live({x}, 2, 1, 2, 4, 4))
torch.func.vmap(lambda a: F.grid_sample(a, a[:, :, :2, :2].movedim(1, -1)))(live({x}, 2, 1, 2, 3, \
3))
torch.func.jvp(lambda v: torch.linalg.cholesky(v @ v.mT), (matrix({x}),), \
(torch.eye(3).double(),))[1]
torch.func.jvp(lambda v: torch.linalg.svdvals(v), (matrix({x}),), (torch.eye(3).double(),))[1]
torch.func.jvp(lambda v: F.conv2d(v, v[:, :, :2, :2]), (image({x}),), (image({x}),))[1]
torch.func.jvp(lambda v: torch.sort(v)[0] * torch.cumprod(v, 0), (live({x}, 5),), \
(torch.ones(5).double(),))[1]
torch.func.functionalize(lambda v: written(lambda w: w.view(2, 3)[0].add_(1))(v))(live({x}, 6))
"""

DISTRIBUTED = """
D.Normal(live({x}, 3), 1.5).log_prob(live({y}, 3))|D.Normal(live({x}, 3), 1.5).cdf(live({y}, 3))
drawn(D.Normal(live({x}, 3).detach(), 0.5))
D.Categorical(logits=live({x}, 2, 4)).entropy()
D.Categorical(logits=live({x}, 2, 4)).log_prob(torch.tensor([1, 3]))
drawn(D.Bernoulli(logits=live({x}, 3).detach()))
D.kl_divergence(D.Normal(live({x}, 3), 1.0), D.Normal(live({y}, 3), 2.0))
D.Beta(live({x}, 3).abs() + 1, 2.0).log_prob(torch.tensor(0.3).double())
D.Gamma(live({x}, 3).abs() + 1, 2.0).log_prob(live({y}, 3).abs() + 0.1)
D.Dirichlet(live({x}, 2, 3).abs() + 1).mean
D.StudentT(live({x}, 3).abs() + 2).log_prob(live({y}, 3))
D.MultivariateNormal(live({x}, 3), even({x})).log_prob(live({y}, 3))
D.MultivariateNormal(live({x}, 3), scale_tril=torch.linalg.cholesky(even({x}))).entropy()
D.Laplace(live({x}, 3), 1.0).icdf(torch.tensor([0.1, 0.5, 0.8]).double())
D.Exponential(live({x}, 3).abs() + 1).log_prob(live({y}, 3).abs())
D.Poisson(live({x}, 3).abs() + 1).log_prob(torch.tensor(2.0).double())
D.TransformedDistribution(D.Normal(live({x}, 3), 1), [D.SigmoidTransform(), D.AffineTransform(1, \
2)]).log_prob(live({x}, 3) / 5 + 2)
D.Independent(D.Normal(live({x}, 2, 3), 1.0), 1).log_prob(live({y}, 2, 3))
D.MixtureSameFamily(D.Categorical(logits=live({x}, 3)), D.Normal(live({y}, 3), \
1.0)).log_prob(torch.tensor(0.2).double())
D.Normal(live({x}, 3), {k} - 1.0).variance|D.Categorical(probs=live({x}, 3) * 0 + {k} - 1).probs
D.Uniform(live({x}, 3), live({x}, 3) + 1).log_prob(live({x}, 3) + 0.5)
D.Cauchy(live({x}, 3), 1.0).log_prob(live({y}, 3))
D.NegativeBinomial(3.0, logits=live({x}, 3)).log_prob(torch.tensor(2.0).double())
D.Geometric(live({x}, 3).sigmoid()).log_prob(torch.tensor(2.0).double())
D.VonMises(live({x}, 3), 2.0).log_prob(live({y}, 3))
grads_of(lambda a: D.Normal(a, a.abs() + 1).rsample().detach() * 0 + D.Normal(a, a.abs() + \
1).log_prob(a * 2), live({x}, 3))
grads_of(lambda a: D.kl_divergence(D.Gamma(a.abs() + 1, a.abs() + 2), D.Gamma(2.0, 3.0)), \
live({x}, 3))
grads_of(lambda a: D.MultivariateNormal(a[0], a @ a.mT + torch.eye(3).double()).log_prob(a[1]), \
live({x}, 3, 3))
"""


def _split(text: str, prefix: str = "{new} = ") -> list[str]:
    return [prefix + t for line in text.strip().splitlines() for t in line.split("|")]


def _with_words(templates: list[str]) -> list[str]:
    """Templates in which one word stands for several, each of which gets a template of its own."""
    words = {
        "{reduce}": "prod mean amax amin",
        "{scattered}": "sum prod mean amax amin",
        "{segments}": "sum mean max min",
    }
    found = []
    for t in templates:
        field = next((f for f in words if f in t), "")
        found += [t.replace(field, word) for word in words[field].split()] if field else [t]
    return found


KERNELS = {
    "windows": _split(WINDOWS),
    "products": _split(PRODUCTS),
    "matrices": _split(MATRICES),
    "orders": _with_words(_split(ORDERS)),
    "layouts": _split(LAYOUTS),
    "blocks": _split(BLOCKS),
    "distributed": _split(DISTRIBUTED),
}
KERNEL_WEIGHTS = {
    "windows": 8,
    "products": 6,
    "matrices": 8,
    "orders": 8,
    "layouts": 8,
    "blocks": 8,
    "distributed": 5,
}
