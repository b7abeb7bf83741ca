"""Statements about what surrounds tensors: modules and optimizers that live on, hooks, functions of
one's own, transformations, places.

The same notation as in ``_program_steps``, and ``at``: an index of the main tensor, of integers,
slices, ``None``, masks and tensors; ``v``: a number of Python's, or a tensor without dimensions;
``fn``: a function of one tensor made of several; ``opt``: an optimizer of ``net2``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

#: What the templates use beside ``PREAMBLE``.
SCENERY = """
import io
F = torch.nn.functional

class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.mark_dirty(x)
        return x.add_(by)

    @staticmethod
    def backward(ctx, g):
        return g * 2, None

class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, y)
        less = x < y
        ctx.mark_non_differentiable(less)
        return x * y, less, x + y

    @staticmethod
    def backward(ctx, g, _, h):
        x, y = ctx.saved_tensors
        gx = gy = None
        if ctx.needs_input_grad[0]:
            gx = (0 if g is None else g * y) + (0 if h is None else h)
        if ctx.needs_input_grad[1]:
            gy = (0 if g is None else g * x) + (0 if h is None else h)
        return gx, gy

class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3

class Seen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)[:2]

    @staticmethod
    def backward(ctx, g):
        return g.sum()

class Cubed(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x * x, x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return 3 * g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return 3 * t * ctx.saved_tensors[0], None

class Nested(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.rest = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Sigmoid(), \
torch.nn.Dropout(0.3))
        self.last = torch.nn.ModuleDict({"b": torch.nn.LayerNorm(4), "a": torch.nn.Linear(4, 2)})
        self.free = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("own", torch.arange(2.0), persistent=False)

    def forward(self, x):
        self.seen += 1
        x = self.rest(self.first(x).sigmoid())  # no gradient is zero but for rounding
        return self.last["a"](self.last["b"](x)).sin() * self.free + self.own * self.seen

torch.manual_seed(5)
net2 = Nested().double()
opts = {}
def opt(name, **options):
    if name not in opts:
        opts[name] = getattr(torch.optim, name)(net2.parameters(), **options)
    return opts[name]
def data(x):
    x = x.detach().resolve_conj()
    x = (x.real if x.is_complex() else x).double().nan_to_num(0.5, 1, -1).clamp(-3, 3).flatten()
    x = torch.cat([x, torch.ones(15).double()])[:15].reshape(5, 3)
    return x + torch.tensor([[0.1, -0.5, 1], [-0.7, 0.2, 0.3], [0.9, 0.8, -0.4], [-0.2, -0.9, \
0.6], [0.4, 0.1, -0.3]]).double()
def learn(x, o, times=1, set_to_none=True):
    for _ in range(times):
        o.zero_grad(set_to_none=set_to_none)
        (net2(data(x)) ** 2).sum().backward()
        o.step()
    return everything()
def everything():
    return torch.cat([v.detach().double().flatten() for v in net2.state_dict().values()])
def grads():
    return torch.cat([torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() for p \
in net2.parameters()])
def backward(x):
    net2(data(x)).abs().sum().backward()
    return grads()
def state_of(o):
    found = [v.detach().double().flatten() for s in o.state.values() for v in s.values() if \
isinstance(v, torch.Tensor)]
    return torch.cat([*found, torch.zeros(1)])
def batched(x):
    g = torch.ones((), dtype=x.dtype).expand(2, *x.shape)
    return torch.autograd.grad(x, x, g, is_grads_batched=True, retain_graph=True)[0]
def file(what):
    f = io.BytesIO()
    torch.save(what, f)
    f.seek(0)
    return torch.load(f)
def scheduled(x, o, name, **options):
    s = getattr(torch.optim.lr_scheduler, name)(o, **options)
    for _ in range(3):
        learn(x, o)
        s.step()
    return torch.tensor([g["lr"] for g in o.param_groups] + list(s.get_last_lr()), \
dtype=torch.float64)
def copied(o):
    other = type(o)(net2.parameters(), **{k: v for k, v in o.defaults.items() if k in ("lr", \
"momentum", "betas")})
    other.load_state_dict(file(o.state_dict()))
    return other
def hooked(run, *handles):
    try:
        return run()
    finally:
        for h in handles:
            h.remove()
def written(f):
    def g(v):
        w = v.clone()
        f(w)
        return w
    return g
def chain(*fs):
    def g(v):
        for f in fs:
            v = f(v)
        return v
    return g
def put(w, value, *at):
    w[at] = value
def jvp(f, x, t=None):
    return torch.func.jvp(f, (x,), (torch.ones_like(x) if t is None else t,))[1]
def vjp(f, x):
    y, back = torch.func.vjp(f, x)
    return back(torch.ones_like(y))[0]
def dual(f, x):
    with torch.autograd.forward_ad.dual_level():
        d = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        p, t = torch.autograd.forward_ad.unpack_dual(f(d))
        return torch.zeros_like(p) if t is None else t
"""

#: Functions of a tensor of at least one dimension, to be put one after the other.
PIECES = """
torch.sin|lambda v: v * v|lambda v: v.flip(0)|lambda v: v.cumsum(0)
lambda v: v[..., None] * v[..., :1, None]
lambda v: v.unsqueeze(0).expand(2, *v.shape)|lambda v: v.reshape(-1)|lambda v: v[:1] + v
lambda v: torch.where(v > 0, v * 2, v.exp())
lambda v: v.t() if v.dim() == 2 else v|lambda v: v.detach() * v
lambda v: v.diagonal(0, 0, -1) if v.dim() > 1 else v
lambda v: v.clamp(-1, 1)|lambda v: v / (1 + v * v)|lambda v: torch.cat([v, v.cos()], 0)
written(lambda w: w.mul_(2))
written(lambda w: w[0].add_(w[-1]))|written(lambda w: put(w, w[-1] * 3, 0))
written(lambda w: put(w, 1.5, ..., 0))
written(lambda w: w.view(-1).neg_())|written(lambda w: w.t_().exp_() if w.dim() == 2 else w.exp_())
written(lambda w: w.diagonal(0, 0, -1).zero_() if w.dim() > 1 else w)
lambda v: v[[0, 0]] if v.dim() else v|lambda v: v.movedim(0, -1)
lambda v: v - v.mean()|lambda v: v.softmax(-1)|lambda v: v.roll(1, 0)
lambda v: torch.stack([v, v * 3]).sum(0)
lambda v: v.unbind(0)[-1][None] * v|lambda v: v.masked_fill(v > 1, 0.5)|lambda v: Cubed.apply(v)[0]
lambda v: torch.zeros_like(v).copy_(v) * 2|lambda v: v.new_zeros(v.shape).add_(v, alpha=2)
lambda v: v.gather(0, torch.zeros_like(v, dtype=torch.int64))
lambda v: v.sort(dim=0, stable=True).values
lambda v: v.amax(0, keepdim=True) + v|lambda v: v.prod(0, keepdim=True)|lambda v: v.norm() * v
lambda v: v.tril() if v.dim() > 1 else v
lambda v: torch.nn.functional.pad(v, (1, 0))|lambda v: v.mT @ v if v.dim() > 1 else v
lambda v: torch.einsum("...i,...j->...ij", v, v).sum(-1)|lambda v: v.real * 1
lambda v: torch.func.grad(lambda w: (w ** 3).sum())(v)
lambda v: torch.func.vmap(torch.sin)(v)|lambda v: jvp(lambda w: w * w, v)
lambda v: v.to(torch.float32).to(v.dtype)
"""

TRANSFORMED = """
torch.func.vmap({fn})({f1}.detach())|torch.func.vmap({fn}, in_dims={d}, out_dims=-1)({f2}.detach())
torch.func.grad(lambda v: {fn}(v).sum())({f1}.detach())|jvp({fn}, {f1}.detach().clone())
vjp({fn}, {f1}.detach())
torch.func.jacrev({fn})({f1}.detach().flatten()[:3])
torch.func.jacfwd({fn})({f1}.detach().flatten()[:3])
torch.func.vmap(torch.func.grad(lambda v: {fn}(v).sum()))({f2}.detach())
torch.func.grad(lambda v: (torch.func.grad(lambda w: {fn}(w).sum())(v) ** 2).sum())({f1}.detach())
jvp(torch.func.grad(lambda v: {fn}(v).sum()), {f1}.detach().clone())
vjp(lambda v: jvp({fn}, v), {f1}.detach())
dual({fn}, {f1}.detach().clone())|torch.func.vmap(lambda v: jvp({fn}, v))({f2}.detach())
torch.func.hessian(lambda v: {fn}(v).sum())({f1}.detach().flatten()[:3])
dual({fn}, {f1}.detach().expand(2, *{f1}.shape).clone())
torch.func.vmap(torch.func.vmap({fn}, in_dims=-1))({f2}.detach()[..., None].expand(*{f2}.shape, 2))
{fn}({f1})
torch.func.linearize({fn}, {f1}.detach())[1](torch.ones_like({f1}))
torch.autograd.functional.jacobian({fn}, {f1}.detach().flatten()[:3])
torch.autograd.functional.jvp({fn}, {f1}.detach(), torch.ones_like({f1}))[1]
torch.func.vmap({fn}, chunk_size=2)({f2}.detach().repeat(2, *[1] * ({f2}.dim() - 1)))
torch.func.vmap(lambda v, w: {fn}(v) + w.sum(), (0, None))({f2}.detach(), {fy}.detach())
torch.utils.checkpoint.checkpoint({fn}, {f1}, use_reentrant=False)
"""

PROMOTED = """
{x} + {v}|{x} * {v}|{x} - {v}|{v} - {x}|{v} * {x}|{x} / {v}|{v} / {x}.abs().add(1)|{r} // {v}
{r} % {v}|{x} == {v}|{r} < {v}|{v} >= {r}
{x} ** 2|{f} ** {v}|torch.add({x}, {v}, out=torch.empty(0, dtype=torch.{dtype}))
torch.mul({x}, {y}, out=torch.empty(0, dtype=torch.{dtype}))|torch.add({x}, {y}, alpha={v})
torch.div({x}, {v}, out=torch.empty(0, dtype=torch.{dtype}))|torch.sub({x}, {v}, alpha=2)
torch.eq({x}, {v}, out=torch.empty(0, dtype=torch.{dtype}))
torch.sin({x}, out=torch.empty(0, dtype=torch.{dtype}))
torch.sum({x}, dtype=torch.{dtype})|{x1}.cumsum({d}, dtype=torch.{dtype})
{x1}.prod({d}, dtype=torch.{dtype})
{x1}.mean({d}, dtype=torch.{dtype})|torch.where({r} > 0, {v}, {x})|torch.where({r} > 0, {x}, {v})
torch.where({r} > 0, {v}, {v})
{x}.masked_fill({r} > 0, {v})|{r}.clamp({v}, 5)|{r}.clamp(min={v})
torch.maximum({r}, torch.tensor(2, dtype=torch.{dtype}))
torch.cat([{x1}, {x1}.to(torch.{dtype})], {d})|torch.stack([{x}, {x}.to(torch.{dtype})])
torch.full((2,), {v})|torch.full_like({x}, {v})
{x}.new_full((2,), {v})|torch.tensor([{v}, {v}])|torch.as_tensor({v})
torch.addcmul({x}, {y}, {y}, value={v})|torch.rsub({x}, {v})
{x1}.index_fill({d}, torch.tensor({ix}), {v})
torch.heaviside({f}, torch.tensor(0.5, dtype={f}.dtype))
{x1}.scatter({d}, torch.zeros({x1}.shape, dtype=torch.int64), {v})|{x}.add_({v})|{x}.mul_({v})
{x}.sub_({v})|{x}.div_({v})|{x}.fill_({v})
{x}.copy_(torch.as_tensor({v}))|{x}.masked_fill_({r} > 1, {v})|{x}.eq_({v})|{r}.clamp_(max={v})
{x}.pow_(2)|{i}.bitwise_or_({k})
{r}.floor_divide_({v})|{r}.remainder_({v})|{x} + torch.tensor({k}, dtype=torch.{dtype})
{x} * torch.tensor([{k}], dtype=torch.{dtype})
torch.result_type({x}, {v})|torch.promote_types({x}.dtype, torch.{dtype})
torch.tensor({k}, dtype=torch.{dtype}) / {x}
torch.linspace({k}, 5, 4, dtype=torch.{dtype})|torch.arange({k}, 5, dtype=torch.{dtype})
torch.outer({x}.flatten(), torch.ones(2, dtype=torch.{dtype}))
torch.sum({x1}, {d}, out=torch.empty(0, dtype=torch.{dtype}))
torch.all({x1}, {d}, out=torch.empty(0, dtype=torch.bool))|torch.any({x})|{x}.sum().add({v})
torch.max({r}, torch.tensor({k}, dtype=torch.{dtype}))|torch.lerp({f}, {f}, {v})
torch.floor_divide({r}, {v})|torch.true_divide({x}, {v})
torch.fmod({r}, {v})|torch.atan2({r}, torch.tensor(2.0))|torch.bitwise_and({i}, {v})
torch.logical_xor({x}, torch.tensor({k}))
torch.isclose({f}, {f} + 1e-9)|torch.copysign({r}, {v})|torch.float_power({r}, {k})
torch.xlogy({r}.abs(), {v})
torch.mul({x}, {v}, out={same})|torch.neg({x}, out={same})|torch.cumsum({x1}, {d}, out={same})
torch.bernoulli({f}.clamp(0, 1).round())
torch.trunc({r})|torch.round({f}, decimals={k})|torch.frac({f})|torch.sign({x})
{x}.to(torch.{dtype}, copy=True)|{x}.type(torch.{dtype})
torch.view_as_complex({f}.double().flatten()[:2].contiguous())|{z}.abs()|{z}.angle()|{z} * {v}
{z}.conj() * {z}|{z}.conj().real|{z}.mH
{z}.sgn()|torch.polar({f}.abs().double(), {f}.double())|{z}.conj().imag.mul_(2)|{z}.real.add_(1)
{z}.conj().add_(1j)|{z}.resolve_conj()
torch.view_as_real({z}).select(-1, 0).zero_()|torch.real({x})|{z}.conj().clone().neg_()
"""

PLACES = """
{new} = {x1}[{at}]|{new} = {x2}[{at}]|{x1}[{at}] = {k}|{x2}[{at}] = {k}|{x1}[{at}] += {k}
{x2}[{at}] *= 2|{x1}[{at}] = {x1}[{at}] * 2
{x2}[{at}] = {x2}.clone()[{at}] + 1|{new} = {x2}[{at}].mul_(2)|{new} = {x1}[{at}].zero_()
{x2}[{at}] -= {x2}[{at}].clone()
{new} = {q2}[{at}] * {q2}[{at}]|{x2}[{at}] = torch.tensor({k}, dtype=torch.{dtype})
{x2}[{at}].add_(1)|{new} = {x2}[{at}].reshape(-1)
{new} = {x2}.clone(); {new}[{at}] = {x2}[{at}].flip(0) if {x2}[{at}].dim() else 1
{x2}[{at}].data.fill_(3)
with torch.no_grad(): {x1}[{at}] = 2|with torch.no_grad(): {new} = {x2}[{at}]
with torch.inference_mode(): {new} = {x2}.clone()[{at}]
with torch.no_grad(): {x2}.select({d}, 0).mul_(2)|with torch.no_grad(): {x2}.diagonal().fill_({k})
with torch.no_grad(): {new} = {x1}.view(-1); {new}.add_(1)
with torch.no_grad(): {new} = {x2}.t() if {x2}.dim() == 2 else {x2}.mT; {new}[0] = 1
{new} = {x2}.unbind(0)[0]; {new}.add_(1)
{new} = {x2}.detach()[{at}]; {new}[...] = 2|{new} = {x2}.select({d}, -1); {new}.copy_({new} * 2)
{new} = {x1}.expand(2, *{x1}.shape)[{k} % 2]
{new} = {x2}.narrow({d}, 0, 1).squeeze({d}); {new} += {new}.clone()
{new} = torch.index_put({x1}, (torch.tensor({i0}),), torch.tensor({k}, dtype={x1}.dtype), \
accumulate=True)
{new} = {x1}.index_add({d}, torch.tensor({ix}), torch.ones_like({x1}).index_select({d}, \
torch.tensor({ix})), alpha=2)
{new} = {x1}.scatter_add({d}, torch.zeros_like({x1}, dtype=torch.int64), {x1})
{new} = {f1}.scatter_reduce({d}, torch.zeros_like({f1}, dtype=torch.int64), {f1}, "amax", \
include_self=False)
{new} = {x1}.masked_scatter({x1} == {x1}, {x1}.flip(0))
{new} = {x2}.take_along_dim({r2}.argsort(dim={d}, stable=True)[:1, :1] % 1, {d})
{new} = {x}.ravel()[::2]; {new}.zero_()
{new} = torch.as_strided({x}.clone().flatten(), (2, 2), (1, 0)) * 1
{new} = {x2}.swapdims(0, 1).flatten(0, 1)|{new} = {x2}.contiguous().view(-1)[1:]; {new}.mul_(3)
{x} = {x}.clone()
"""

HOOKED = """
{new} = Shift.apply({q} * 1, {k})|{new} = Shift.apply(({q} * 2)[...], 1)
{new} = Both.apply({f}, {fy})[{k} % 3]
{new} = Passed.apply({q}); {new} = {new} * 2|{new} = Passed.apply({q})
{new} = sum(Both.apply({f}, {f})[::2])
{new} = Cubed.apply({f})[{k} % 2]|{new} = Passed.apply({q1}[:1]) + 0
{new} = Passed.apply(({q1} * 1)).mul_(2)
{g}.register_hook(lambda g: None)|{g}.register_hook(lambda g: g.mul(2))
{new} = hooked(lambda: torch.autograd.grad({g}.abs().sum(), {g}, retain_graph=True)[0] * 2, \
{g}.register_hook(lambda g: g + 1))
{new} = {f}.detach().clone().requires_grad_(); {new}.register_post_accumulate_grad_hook(lambda p: \
p.grad.mul_(2))
{new} = {g}.mul(2); {new}.register_hook(lambda g: g * 3); {new}.add_(1)
{new} = {g}.mul(2); {new}.retain_grad(); {new}[...] = {new} * 2; \
{new}.abs().sum().backward(retain_graph=True)
{new} = {g} * 1; {new}.grad_fn.register_hook(lambda gi, go: None)
{new} = {g} * 1; {new}.grad_fn.register_prehook(lambda go: tuple(g * 2 for g in go))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 1, lambda t: t * 2): {new} = \
{g} * {g}
with torch.autograd.graph.save_on_cpu(): {new} = {g}.sin()
with torch.autograd.set_grad_enabled(False): {new} = {g} * 2
with torch.no_grad(): {new} = {g}.detach().requires_grad_(); {new}.mul_(2)
{new} = torch.autograd.grad({q}.abs().sum(), {l}, retain_graph=True, allow_unused=True, \
materialize_grads=True)[0]
{new} = torch.autograd.grad([{g}.abs().sum(), ({g} * {g}).abs().sum()], {g}, retain_graph=True)[0]
{new} = batched({g})
{new} = torch.autograd.grad(({g} ** 2).abs().sum(), {l}, create_graph=True, allow_unused=True)[0]
{l}.grad = torch.ones_like({l})|{l}.grad.zero_()|{l}.grad.add_({l}.detach())
{new} = {l}.grad.view(-1)|{l}.data = {l}.detach() * 2
{l}.data.add_(1)|{l}.data[...] = 3|{l}.detach().mul_(2)|{new} = {l}.grad; {l}.grad = None
with torch.no_grad(): {l}.copy_({l} * 0.5)
with torch.no_grad(): {l}.add_({l}.grad, alpha=-0.1)|{new} = {l}.detach(); {new}.zero_()
torch._foreach_add_([{f}, {f}], 1)
{new} = torch._foreach_mul([{x}, {x}], {k})[1]
{new} = torch.nn.Parameter({f}.detach().clone()); torch.optim.SGD([{new}], 0.1, momentum=0.9).step()
{new} = torch.nn.utils.clip_grad_norm_([{l}], 1.0)
{new} = {g}.clone(); {new}.detach_(); {new}.requires_grad_({g}.requires_grad)
{new} = {f}.double().nan_to_num(0, 1, -1).clamp(-3, 3)
{new} = {l} * 1; {new}[...] = 0; {new} = {new} + {l}
{new} = {l}.expand(2, *{l}.shape).clone(); {new}[0] *= 2; {new}.sum().abs().backward()
{new} = torch.autograd.grad(torch.nn.functional.cross_entropy({f}.reshape(1, -1), \
torch.tensor([-100])), {f}, allow_unused=True)[0]
{new} = torch.nn.functional.lp_pool1d({f}.reshape(1, -1), float("inf"), 1); {new}.sum().backward()
{new} = torch.nn.functional.lp_pool1d({f}.reshape(1, -1).abs().round(), 2, 1); \
{new}.sum().backward()
"""

MODELS = """
{new} = learn({x}, {opt})|{new} = learn({x}, {opt}, 3)|{new} = learn({x}, {opt}, 2, False)
{new} = everything()|{new} = grads()
net2.zero_grad()|net2.zero_grad(set_to_none=False)|net2.eval()|net2.train()|{new} = net2(data({x}))
(net2(data({x})) ** 2).sum().backward()|{new} = net2.first.weight|{new} = net2.first.weight[0]
{new} = net2.first.weight.detach()
{new} = net2.free.data|{new} = net2.rest[0].running_mean|{new} = net2.seen
with torch.no_grad(): net2.first.weight[{k} % 2].mul_(0.5)
with torch.no_grad(): net2.free.fill_({k})|net2.first.bias.data.add_(0.1)
{new} = net2.first.weight.grad
{new} = net2.last["a"].weight.grad[0]|net2.first.weight.grad.mul_(2)|{opt}.step()
net2.first.requires_grad_(False)
net2.requires_grad_(True)|net2.load_state_dict(file(net2.state_dict()))
saved = file(net2.state_dict())|net2.load_state_dict(saved)
kept = __import__("copy").deepcopy(net2.state_dict())|net2.load_state_dict(kept)
{new} = learn({x}, copied({opt}))
opts["SGD"] = copied(opt("SGD", lr=0.1))|net2 = __import__("copy").deepcopy(net2); opts.clear()
{new} = scheduled({x}, {opt}, "StepLR", step_size=2, gamma=0.5)
{new} = scheduled({x}, {opt}, "CosineAnnealingLR", T_max=3)
{new} = scheduled({x}, {opt}, "ExponentialLR", gamma=0.9)
{new} = scheduled({x}, {opt}, "LinearLR", total_iters=2)
{new} = scheduled({x}, {opt}, "MultiStepLR", milestones=[1, 2])
{new} = scheduled({x}, {opt}, "OneCycleLR", max_lr=0.1, total_steps=9)
{new} = hooked(lambda: net2(data({x})), net2.first.register_forward_hook(lambda m, i, o: o * 2))
{new} = hooked(lambda: net2(data({x})), net2.register_forward_pre_hook(lambda m, i: (i[0] + 1,)))
{new} = hooked(lambda: backward({x}), net2.last["a"].register_full_backward_hook(lambda m, gi, \
go: tuple(g * 2 for g in gi)))
{new} = hooked(lambda: backward({x}), net2.last["a"].register_full_backward_pre_hook(lambda m, \
go: tuple(g * 3 for g in go)))
{new} = hooked(lambda: backward({x}), net2.free.register_hook(lambda g: g * 5))
{new} = torch.func.functional_call(net2, {{"free": {q}.detach().flatten()[:1].abs().double(), \
"seen": torch.ones(())}}, (data({x}),))
{new} = torch.nn.utils.parameters_to_vector(net2.parameters())
torch.nn.utils.vector_to_parameters(torch.nn.utils.parameters_to_vector(net2.parameters()).detach() * 0.5, net2.parameters())
{new} = torch.nn.utils.clip_grad_norm_(net2.parameters(), 0.5)|net2.half(); net2.double()
net2.float(); opts.clear(); net2.double()
net2.apply(lambda m: m.reset_parameters() if hasattr(m, "reset_parameters") else None)
{opt}.zero_grad()
{opt}.param_groups[0]["lr"] = 0.05|net2.rest[0].momentum = 0.{k}|net2.rest[0].reset_running_stats()
{new} = state_of({opt})
net2.free = torch.nn.Parameter(net2.free.detach() * 2)
net2.own = {f}.detach().double().flatten()[:1] * 1
net2.first.weight.data = net2.first.weight.data.clone()|net2.first.weight.grad = None
with torch.autocast("cpu", dtype=torch.bfloat16): {new} = net(data({x}))
with torch.autocast("cpu", dtype=torch.bfloat16): {new} = data({x}).float() @ \
data({x}).float().mT + 1
with torch.autocast("cpu", dtype=torch.float16): {new} = \
torch.nn.functional.linear({f2}.float().clamp(-3, 3), {f2}.float().clamp(-3, 3))
with torch.autocast("cpu", enabled=False): {new} = {f} * 2
with torch.autocast("cpu", dtype=torch.bfloat16): {new} = torch.cat([{f1}.float(), {f1}.bfloat16()])
with torch.autocast("cpu", dtype=torch.bfloat16): {new} = ({f2}.float() @ \
{f2}.float().mT).softmax(-1).sum()
{new} = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, \
2).double())(data({x})).detach() * 0
with torch.inference_mode(): {new} = net2(data({x}))|with torch.no_grad(): {new} = net2(data({x}))
"""  # noqa: E501

OPTIMIZERS = """
SGD lr=0.1|SGD lr=0.1|Adam lr=0.01|AdamW lr=0.01, amsgrad=True|RMSprop lr=0.01, momentum=0.5
Adagrad lr=0.1|Adadelta|NAdam lr=0.01
RAdam lr=0.01|Adamax lr=0.01|ASGD lr=0.01
"""

VALUES = """
2|-3|True|0|0.5|2.5|1j|300|-1|10**10|float('inf')|-0.0|torch.tensor(2)
torch.tensor(2.5, dtype=torch.float64)|torch.tensor(True)
torch.tensor(3, dtype=torch.uint8)|torch.tensor(1 + 2j)|torch.tensor(0.5, dtype=torch.bfloat16)
"""


def _split(text: str, prefix: str = "") -> list[str]:
    return [prefix + t for line in text.strip().splitlines() for t in line.split("|")]


_PIECES, _OPTIMIZERS, NUMBERS = (_split(text) for text in (PIECES, OPTIMIZERS, VALUES))
SCENES = {
    "transformed": _split(TRANSFORMED, "{new} = "),
    "promoted": _split(PROMOTED, "{new} = "),
    "places": _split(PLACES),
    "hooked": _split(HOOKED),
    "models": _split(MODELS),
}
SCENE_WEIGHTS = {"transformed": 12, "promoted": 15, "places": 15, "hooked": 12, "models": 15}


def function(rng: random.Random) -> str:
    """A function of one tensor, of one to three pieces."""
    return f"chain({', '.join(rng.choice(_PIECES) for _ in range(rng.randint(1, 3)))})"


def optimizer(rng: random.Random) -> str:
    """An optimizer of the program's model: the one of that kind that it has, or a new one."""
    name, _, options = rng.choice(_OPTIMIZERS).partition(" ")
    return f'opt("{name}"{", " if options else ""}{options})'


def index(rng: random.Random, shape: Sequence[int]) -> str:
    """An index of a tensor of this shape; no place is named twice."""
    items: list[str] = []
    d = 0
    length = rng.choice([0, 1, 2])  # of the tensors in it, so that they broadcast
    while d < len(shape):
        n = shape[d]
        kind = rng.choice(
            [
                "int",
                "slice",
                "slice",
                "tensor",
                "mask",
                "none",
                "dots",
                "stop",
                "list",
                "zero",
                "range",
            ]
        )
        if kind == "stop" and items:
            break
        if kind == "none":
            items.append("None")
            continue
        if kind == "dots" and "..." not in items:
            left = rng.randint(d, len(shape))
            items.append("...")
            d = left
            continue
        if kind == "int" and n:
            items.append(str(rng.randrange(-n, n)))
        elif kind == "zero" and n:
            items.append(f"torch.tensor({rng.randrange(n)})")
        elif kind in ("tensor", "list") and n > length:
            chosen = [i - n * (rng.random() < 0.3) for i in rng.sample(range(n), length + 1)]
            items.append(f"torch.tensor({chosen})" if kind == "tensor" else str(chosen))
        elif kind == "mask":
            two = d + 1 < len(shape) and rng.random() < 0.3
            size = n * shape[d + 1] if two else n
            bits = [rng.random() < 0.5 for _ in range(size)]
            items.append(
                f"torch.tensor({bits}, dtype=torch.bool)"
                + (f".reshape({n}, {shape[d + 1]})" if two else "")
            )
            d += two
        else:
            items.append(rng.choice([":", "1:", ":1", "::2", ":-1", "-1:", "0:2", "2:1"]))
        d += 1
    return ", ".join(items) or "..."
