"""The statements that random programs are made of, as templates, and the choice of their operands.

A field in braces is filled in from what PyTorch has at that point of the program:

- ``x`` any tensor; ``f`` a floating-point one, ``q`` also complex ones, ``z`` a complex one, ``i``
  an integer one, ``r`` any but a complex one, ``l`` a leaf, ``g`` one that requires a gradient. The
  field of a template that comes first is the main one; ``x1`` means a tensor of at least one
  dimension, ``x2`` of two, and likewise for the others;
- ``y`` a second tensor, mostly one that broadcasts with the main one; ``fy`` a floating-point one,
  ``same`` one of the main one's shape;
- ``d``, ``e`` dimensions of the main tensor; ``n`` a number; ``k`` 0 to 3; ``s`` a slice; ``ix``
  indices into dimension ``d``; ``i0`` the same for dimension 0; ``pair`` a shape with two
  dimensions; ``order`` a permutation; ``dtype`` a dtype; ``seed`` a seed;
- and those of ``_program_scenes``; ``_program_kernels`` has more statements.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from typing import Any

from . import _program_kernels as kernels
from . import _program_scenes as scenes

#: What templates may use.
PREAMBLE = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 * x.conj()

net = torch.nn.Linear(3, 2).double()
with torch.no_grad():
    net.weight.copy_(torch.arange(6.0).reshape(2, 3) / 4 - 0.5)
    net.bias.copy_(torch.arange(2.0))
"""

SHAPES = [(2, 3), (3,), (4, 2), (2, 2, 3), (), (1, 3), (6,), (0, 3), (3, 3), (2, 1)]
DTYPES = tuple(
    (
        "float32 float32 float64 float64 int64 int64 int32 uint8 bool int16 complex64 complex128 "
        "float16 bfloat16"
    ).split()
)
NUMBERS = ("2", "-3", "0.5", "True", "0", "-0.0", "3", "1.5", "-1", "300")

#: What statements of ``_program_scenes`` and ``_program_kernels`` use beside it.
SCENERY = scenes.SCENERY + kernels.MACHINERY
_NAMES = {*re.findall(r"^(?:class|def) (\w+)", SCENERY, re.MULTILINE), "net2", "opts", "F", "D"}
_SCENERY = re.compile(r"\b(" + "|".join(sorted(_NAMES)) + r")\b")

#: New tensors that may share memory with old ones.
VIEWS = """
{x}.view(-1)|{x}.reshape({pair})|{x}.view({pair})|{x}.permute({order})|{x}.transpose({d}, {e})
{x}.unsqueeze({k})|{x}.squeeze()
{x1}.squeeze({d})|{x}.expand(2, *{x}.shape)|{x1}.select({d}, {k} - 1)
{x1}.narrow({d}, {k} % 2, 1 + {k} // 2)|{x1}[{s}]|{x1}[..., {s}]
{x1}[{k} - 1]|{x2}[{k} % 2, {s}]|{x}[None, ..., None]|{x}[..., None]|{x2}.diagonal({k} - 1)
{x1}.unfold({d}, 2, 1 + {k} % 2)
{x1}.movedim({d}, 0)|{x}.as_strided((2, 2), (1 + {k} % 2, 1))|{x1}.chunk(2, {d})[-1]
{x1}.split(1 + {k} % 2, {d})[0]
{x1}.unbind({d})[-1]|{x}.detach()|{x}.data|{x}.flatten()|{x2}.mT|{x}.t()|{x}.contiguous()|{z}.real
{z}.imag|torch.view_as_real({z})
{x2}.swapaxes(0, -1)|{x1}.unflatten(-1, (1, -1))|{x}.expand_as({y})
torch.broadcast_to({x}, (2, *{x}.shape))
torch.broadcast_tensors({x}, {y})[0]|{x}.view_as({y})|{x1}.tensor_split(2, {d})[0]
{f}.view(torch.int32).clone()|{x}.ravel()
{x}.expand(*[3 if n == 1 else -1 for n in {x}.shape])|{x2}.T|torch.atleast_2d({x})
"""

#: Statements that write to their main tensor and give it back.
WRITES = """
{x}.add_({y})|{x}.add_({y}, alpha={k})|{x}.sub_({y})|{x}.mul_({y})|{q}.div_({k} + 1)
{x}.add_({k} - 2)|{q}.mul_(0.5 + {k})
{x}.fill_({k})|{x}.zero_()|{x}.copy_({y})|{x}.neg_()|{r}.clamp_(-2, 2)|{f}.sigmoid_()|{f}.relu_()
{f}.clamp_(max=2).exp_()|{r}.abs_()
{q}.tanh_()|{q}.pow_(2)|{f}.abs_().sqrt_()|{x}.masked_fill_({y} == 1, {k})
{x1}.index_fill_({d}, torch.tensor({ix}), 3)|{x}.t_()
{x}.squeeze_()|{x}.unsqueeze_(0)|{x2}.transpose_(0, -1)|{r}.floor_()|{r}.remainder_(3)
{f}.lerp_({fy}, 0.25)
{x}.addcmul_({y}, {y}, value=2)|{f}.addcdiv_({fy}, {fy}.abs() + 1)|{x1}.cumsum_({d})
{x}.logical_not_()|{i}.bitwise_and_(3)
{i}.bitwise_left_shift_(1)|{x2}.tril_()|{x}.eq_({y})|{f}.nan_to_num_(0.5)
{x1}.index_add_({d}, torch.tensor({ix}), torch.ones_like({x1}).index_select({d}, \
torch.tensor({ix})))
{x}.detach_()
{x1}.index_copy_({d}, torch.tensor([0]), torch.ones_like({x1}).narrow({d}, 0, 1))
{x1}.scatter_({d}, torch.zeros({x1}.shape, dtype=torch.int64), 3)
{x1}.index_put_((torch.tensor({i0}),), torch.ones((), dtype={x1}.dtype), accumulate=True)
{x}.detach().add_(1)|{x}.data.mul_(2)
torch.add({x}, 1, out={same})|torch.mul({x}, 2, out={same})
"""

#: Whole statements that write; ``{x}`` is the tensor written to.
ASSIGNMENTS = """
{x1}[{k} - 1] = {k}|{x1}[{s}] = {y}|{x1}[..., -1] = {k}|{r}[{r} > 1] = {k} - 2
{x1}[torch.tensor({i0})] = {k}|{x1}[{i0}] = {k}
{x1}[0] = {y}|{x2}[:, {s}] = {k}|{x}[...] = {y}|{x} += {y}|{x} *= {n}
{x1}[torch.arange({x1}.shape[0]) % 2 == 0] = {k}
{x1}[None, {s}] = {k}|{q} /= 2|{x} -= {y}
"""

#: Functions of one tensor, by name.
UNARY = """sin cos exp abs neg sigmoid tanh relu floor ceil round trunc frac sign sgn square
reciprocal erf log1p expm1 exp2 asinh atan isnan isinf isfinite logical_not positive angle
conj_physical nan_to_num sinc deg2rad bitwise_not rsqrt sqrt log resolve_conj log2 tan asin sinh
cosh lgamma digamma i0 logit erfc erfinv msort"""
#: Functions of two tensors, or a tensor and a number.
BINARY = """add sub mul div floor_divide remainder fmod maximum minimum fmax fmin atan2 hypot eq ne
lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor heaviside gcd lcm
true_divide xlogy nextafter float_power"""
WITH_NUMBER = "add sub mul div floor_divide remainder fmod pow eq lt ge"

#: New tensors with memory of their own.
VALUES = """
{x}.clone()|{x} + {y}|{x} - {y}|{x} * {y}|0.5 * {x} + {k}|{k} - {x}|2 ** {f}.clamp(-3, 3)|{i} << 2
{i} >> 1|~{i}|{i} & 3
{k} // ({x}.abs() + 1)|{x}.sum()|{x1}.sum({d}, keepdim=True)|{x1}.sum({d})|{x1}.prod({d})|{q}.mean()
{q1}.mean({d})|{r1}.amax({d})
{r1}.amin({d})|{r}.max()|{r}.min()|{r1}.max({d}).values|{r1}.argmax({d})|{r1}.min({d}).indices
{x}.any()|{x1}.all({d})
{q1}.std({d}, unbiased=False)|{q1}.var({d})|{r1}.median()|{r1}.sort(dim={d}, stable=True).values
{r1}.argsort(dim={d}, stable=True)
{x1}.cumsum({d})|{x1}.cumprod({d})|{f1}.softmax({d})|{f1}.log_softmax({d})|{r1}.cummax({d}).values
{x1}.flip({d})|{x1}.diff()
{r1}.aminmax().max|{f1}.logsumexp({d})|{q}.norm()|{x1}.count_nonzero({d})|{x1}.roll(1, {d})
torch.where({r} > 0, {r}, {y})
torch.where({r} > 0, {r}, {n})|torch.cat([{x1}, {x1}], {d})|torch.stack([{x}, {x}], 0)
torch.cat([{x1}, {y}], 0)
{x1}[torch.tensor({i0})]|{x1}[{i0}]|{x1}.index_select({d}, torch.tensor({ix}))|{r}[{r} > 0]
{x1}.gather({d}, torch.zeros_like({x1}, dtype=torch.int64))|{x2}[torch.tensor({i0}), ..., 0]
{x2}[:, [0, -1]]
{x1}.take_along_dim(torch.zeros_like({x1}, dtype=torch.int64), {d})|{x}.take(torch.tensor([0]))
{r}.nonzero()
{x1}.repeat_interleave(2, {d})|{x}.repeat(2, *[1] * {x}.dim())|torch.tril({x2})|torch.triu({x2}, 1)
torch.diag({x1})|{x2}.trace()
{x2} @ {x2}.mT|torch.einsum("...i,...i->...", {x1}, {x1})|torch.outer({x}.flatten(), {x}.flatten())
torch.kron({x1}, {x1})
torch.dot({q}.ravel(), {q}.ravel())
torch.addmm({x2}, {x2}, torch.eye({x2}.shape[1], dtype={x2}.dtype))
torch.tensordot({x1}, {x1}, ([0], [0]))|{x}.to(torch.{dtype})|{x}.type_as({y})
{r}.clamp(-100, 100).to(torch.{dtype})|{x}.double()
{r}.clamp(-99, 99).long()|torch.full_like({x}, {k})|torch.zeros_like({x})|{x}.new_ones(2, 3)
torch.arange({k}, 6, 2)
torch.linspace(0, 1, 3)|torch.eye(3)|torch.full((2, 3), {n})
torch.tensor({x}.tolist(), dtype={x}.dtype)|torch.isin({r}, {r})
torch.from_numpy({r}.detach().float().numpy().copy())|torch.bincount({i}.flatten().clamp(0, 5))
torch.logaddexp({f}, {fy})|{x1}.unique()
torch.nn.functional.pad({x1}, (1, 0))|torch.nn.functional.one_hot({i}.clamp(0, 3).long(), 4)
torch.nn.functional.gelu({f}.clamp(-9, 9))
{f}.frac()|torch.nn.functional.layer_norm({f1}, {f1}.shape[-1:])|torch.nn.functional.softplus({f})
torch.nn.functional.mse_loss({f}, {fy})
torch.nn.functional.linear({q1}, {q1}.reshape(-1, {q1}.shape[-1]))|torch.block_diag({x2})
torch.select_scatter({x2}, {x2}[0] * 2, 0, -1) * 1
torch.slice_scatter({x1}, {x1}[:1] * 2, 0, 0, 1) * 1
torch.sum({r}, dtype=torch.float64)|torch.addcmul({x}, {y}, {y}, value={k})|torch.nansum({r})
{r1}.flatten().item() * torch.ones(2) if {r1}.numel() == 1 else {r1} * 2
torch.searchsorted(torch.arange(4.0), {f}.float().contiguous())
torch.utils.checkpoint.checkpoint(lambda v: (v * v).sin(), {f}, use_reentrant=False)
{x}.detach().clone().requires_grad_({x}.dtype.is_floating_point)|Square.apply({q})
torch.func.grad(lambda v: (v.sin() * v).sum())({f}.detach())
torch.func.vmap(lambda v: v * 2 + v.sum())({q1})
torch.func.jvp(lambda v: v.sin() * v, ({f}.detach().contiguous(),), \
(torch.ones_like({f}).detach().contiguous(),))[1]
torch.func.grad(lambda v: (torch.zeros_like(v).add_(2) * v).sum())({f}.detach())
torch.trapezoid({q1}, dim={d})|torch.signbit({f}.nan_to_num())
torch.copysign({f}, {fy}.nan_to_num())|torch.logaddexp2({f}, {fy})
{r1}.contiguous().median({d}).values|{f1}.contiguous().nanmedian({d}).values
{r1}.topk(1, {d}).values|{r1}.kthvalue(1, {d}).values
{f1}.nan_to_num().mode({d}).values|{f1}.logcumsumexp({d})|{f1}.nanmean({d})|{f1}.norm({n}, {d})
torch.var_mean({q1}, {d})[0]
{f}.frexp().mantissa|{r1}.cummin({d}).indices
{r1}.max({d}).indices|{r}.unique(return_counts=True)[1]|{r}.unique_consecutive()
{x1}.rot90(1, [0, -1])
{x}.tile((2,))|torch.diag_embed({x1})|torch.combinations({x}.flatten())
torch.meshgrid({x}.flatten(), torch.arange(2), indexing="ij")[0]
torch.vander({x}.flatten(), 3)|torch.cov({f2})|torch.cdist({f2}, {f2})|torch.renorm({f2}, 2, 0, 1.0)
torch.bucketize({r}, torch.tensor([0, 1, 2]))
torch.histc({f}.float().nan_to_num(0, 1, -1), 4, -2, 2)
torch.fft.fft({q1}.to(torch.complex128))|torch.fft.rfft({f1}.double().nan_to_num(0, 1, -1))
torch.complex({f}.double(), {f}.double())
torch.polar({f}.double(), {f}.double())|torch.ldexp({f}, {i})|{f1}.double().quantile(0.3, {d})
torch.clamp({r}, min={fy})
torch.lerp({f}, {f} * 2, 0.3)
torch.scatter_add(torch.zeros_like({x1}), 0, torch.zeros_like({x1}, dtype=torch.int64), {x1})
torch.index_add(torch.zeros_like({x1}), 0, torch.arange({x1}.shape[0]) // 2, {x1})
{x}.put(torch.tensor([0, 0, -1]), {x}.new_ones(3), accumulate=True)
torch.linalg.inv({f2}.double().nan_to_num(0, 1, -1) + 40 * torch.eye({f2}.shape[-1]).double())
torch.linalg.det({f2}.double().nan_to_num(0, 1, -1))
torch.linalg.solve(torch.eye({f2}.shape[0]).double() * 3, {f2}.double())
torch.linalg.cross({q1}, {q1})|torch.bmm({q2}[None], {q2}.mT[None])
torch.baddbmm(torch.ones((), dtype={q2}.dtype), {q2}[None], {q2}.mT[None], beta={k})
torch.diagonal_scatter({x2}, {x2}.diagonal() * 2)
torch.nn.functional.silu({f})|torch.nn.functional.leaky_relu({f}, 0.1)|torch.nn.functional.elu({f})
torch.nn.functional.hardswish({f})
torch.nn.functional.cross_entropy({f2}, torch.zeros({f2}.shape[0], dtype=torch.int64))
torch.nn.functional.max_pool1d({f2}, 2)
torch.nn.functional.conv1d({f2}[:, None], {f2}.new_ones(2, 1, 2))
torch.nn.functional.pad({f2}[None], (1, 1), mode="replicate")
torch.nn.functional.embedding({i}.long().abs() % 2, {f2})
torch.nn.functional.log_softmax({f1}, {d}, dtype=torch.float64)
__import__("copy").deepcopy({l})
{x}.detach().reshape(1, -1, 1, 1).expand(2, -1, 2, 2).contiguous(memory_format=torch.channels_last)
torch.func.vjp(torch.sin, {f}.detach())[1]({f}.detach())[0]
torch.func.functional_call(net, {{"weight": net.weight * 2, "bias": net.bias}}, (torch.ones(2, \
3).double() * {f}.double().mean(),))
torch.func.vmap(torch.func.grad(lambda v: (v * v).sum()))({f1}.detach())
net(torch.ones(2, 3).double() * {f}.double().mean()).relu()
torch.func.jacrev(lambda v: v.flatten() * 2)({f}.detach())
torch.func.hessian(lambda v: (v ** 3).sum())({f}.detach().flatten())
"""

#: Whole statements on values and gradients.
GRADIENTS = """
{q}.requires_grad_()|{f}.requires_grad_()|{g}.abs().sum().backward(retain_graph=True)
{g}.abs().sum().backward()|{g}.retain_grad()
{new} = {f}.detach().clone().requires_grad_()|{g}.register_hook(lambda g: g * 2)|{l}.grad = None
{l}.grad.mul_(2)|{new} = {l}.grad
{new} = torch.autograd.grad(({g} * {g}).abs().sum(), {g}, create_graph=True)[0]
{new} = torch.autograd.grad({g}.abs().sum(), {l}, allow_unused=True)[0]
{new} = torch.autograd.grad(torch.autograd.grad(({g} ** 3).sum(), {g}, \
create_graph=True)[0].sum(), {g}, retain_graph=True)[0]
with torch.no_grad(): {x}.add_(1)|with torch.no_grad(): {new} = {x} * 2
with torch.no_grad(): {new} = {x1}[:1]
with torch.no_grad(): {l}.sub_(0.1 * {l}.grad)|with torch.inference_mode(): {new} = {f} * 2
with torch.enable_grad(): {new} = {x} + 1
{new} = {x} + 1 if bool(({r} > 0).any()) else {x} * 2
while bool(({f}.abs() > 4).logical_and({f}.isfinite()).any()): {f} = {f} / 2
for _ in range(int({r}.detach().count_nonzero()) % 4): {x} = {x} + 1
"""

#: Numbers drawn at random are the same ones.
DRAWS = """
{f}.uniform_(-1, 1)|{f}.normal_()|{r}.bernoulli_(0.5)|{r}.random_(0, 7)|{f}.exponential_()
{f}.geometric_(0.3)|torch.rand(2, 3)
torch.randn_like({q})|torch.randint(0, 9, (3,))|torch.randperm(6)
torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 2)
torch.normal(0.0, 1.0, (2, 3))|torch.bernoulli(torch.full((2, 3), 0.4))
torch.poisson(torch.full((2, 3), 3.0))
torch.nn.functional.dropout({f}, 0.4)
"""


def prologue(text: str) -> str:
    """What must run before statements with this text."""
    return PREAMBLE + SCENERY if _SCENERY.search(text) else PREAMBLE


def _split(text: str) -> list[str]:
    return [t for line in text.strip().splitlines() for t in line.split("|")]


def _families() -> dict[str, list[str]]:
    pure = [f"torch.{name}({{x}})" for name in UNARY.split()] + [
        f"torch.{name}({{x}}, {{y}})" for name in BINARY.split()
    ]
    pure += [f"torch.{name}({{x}}, {{n}})" for name in WITH_NUMBER.split()] + _split(VALUES)
    return {
        "views": ["{new} = " + t for t in _split(VIEWS)],
        "writes": ["{new} = " + t for t in _split(WRITES)] + _split(ASSIGNMENTS),
        "values": ["{new} = " + t for t in pure],
        "gradients": _split(GRADIENTS),
        "draws": ["torch.manual_seed({seed}); {new} = " + t for t in _split(DRAWS)],
        **scenes.SCENES,
        **kernels.KERNELS,
    }


FAMILIES = _families()
#: How often statements of each family come.
WEIGHTS = {
    "views": 15,
    "writes": 15,
    "values": 45,
    "gradients": 12,
    "draws": 2,
    **scenes.SCENE_WEIGHTS,
    **kernels.KERNEL_WEIGHTS,
}


class Unfilled(Exception):
    """No tensor fits a field."""


class Fields(dict[str, Any]):
    """The fields of one template, filled in as they are asked for."""

    def __init__(self, rng: random.Random, tensors: dict[str, Any], new: str) -> None:
        super().__init__(new=new)
        self.rng, self.tensors = rng, tensors
        self.main: str | None = None
        self.operands: list[str] = []

    def __missing__(self, key: str) -> Any:
        kind, least = key.rstrip("12"), 0
        if key[-1] in "12":
            least = int(key[-1])
        value = self._tensor(kind, least) if kind in _KINDS else self._other(key)
        self[key] = value
        return value

    def _tensor(self, kind: str, least: int) -> str:
        found = [name for name, t in self.tensors.items() if t.dim() >= least and _KINDS[kind](t)]
        if not found:
            raise Unfilled
        name = self.rng.choice(found)
        self.operands.append(name)
        self.main = self.main or name
        return name

    def _second(self, fits: Any) -> str:
        assert self.main is not None
        found = [name for name, t in self.tensors.items() if fits(t)]
        close = [
            name
            for name in found
            if _broadcast(self.tensors[self.main].shape, self.tensors[name].shape)
        ]
        if not found:
            raise Unfilled
        name = self.rng.choice(close if close and self.rng.random() < 0.9 else found)
        self.operands.append(name)
        return name

    def _other(self, key: str) -> Any:
        rng = self.rng
        if key == "y":
            return self._second(lambda _: True)
        if key == "fy":
            return self._second(_KINDS["f"])
        shape = tuple(self.tensors[self.main].shape) if self.main is not None else ()
        if key == "same":
            return self._second(lambda t: tuple(t.shape) == shape)
        if key in ("d", "e"):
            n = max(len(shape), 1)
            return rng.randrange(-n, n)
        if key in ("ix", "i0"):
            size = shape[self["d"] if key == "ix" else 0] if shape else 0
            if not size:
                raise Unfilled
            return [
                rng.randrange(-size if key == "i0" else 0, size) for _ in range(rng.randint(1, 3))
            ]
        if key == "order":
            return ", ".join(map(str, rng.sample(range(len(shape)), len(shape)))) or "()"
        if key == "pair":
            n = math.prod(shape)
            a = rng.choice([i for i in range(1, n + 1) if n % i == 0] or [0])
            return f"{a}, {n // a if a else 1}"
        if key == "s":
            return rng.choice(["1:", ":1", "::2", ":", "-1:", "1:2", ":-1", "2:1"])
        if key == "at":
            return scenes.index(rng, shape)
        if key in ("fn", "opt"):
            return scenes.function(rng) if key == "fn" else scenes.optimizer(rng)
        choices = {
            "v": scenes.NUMBERS,
            "n": NUMBERS,
            "k": range(4),
            "dtype": DTYPES,
            "seed": range(1000),
        }
        return rng.choice(choices[key])


_KINDS: dict[str, Any] = {
    "x": lambda _: True,
    "f": lambda t: t.dtype.is_floating_point,
    "q": lambda t: t.dtype.is_floating_point or t.dtype.is_complex,
    "z": lambda t: t.dtype.is_complex,
    "i": lambda t: "int" in str(t.dtype),
    "r": lambda t: not t.dtype.is_complex,
    "g": lambda t: t.requires_grad,
    "l": lambda t: t.requires_grad and _is_leaf(t),
}


def _is_leaf(t: Any) -> bool:
    """False also for a view that must not be asked, as its base was written after it had been made
    without gradients."""
    try:
        return t.is_leaf
    except RuntimeError:
        return False


def _broadcast(a: Any, b: Any) -> bool:
    return all(m == n or m == 1 or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))


def literal(
    rng: random.Random, shapes: Sequence[tuple[int, ...]] = SHAPES, dtypes: Sequence[str] = DTYPES
) -> str:
    """A new tensor, written out."""
    shape, dtype = rng.choice(shapes), rng.choice(dtypes)
    special = rng.random() < 0.1

    def number() -> str:
        if dtype == "bool":
            return str(rng.random() < 0.5)
        if dtype == "uint8":
            return str(rng.choice([rng.randrange(5), rng.randrange(256)]))
        if "int" in dtype:
            return str(rng.randrange(-5, 6))
        if "complex" in dtype:
            return f"{rng.randrange(-4, 5)}+{rng.randrange(5)}j"
        if special and rng.random() < 0.3:
            return rng.choice(["float('nan')", "float('inf')", "-float('inf')", "-0.0"])
        return str(rng.randrange(-12, 13) / 4)

    def nested(rest: tuple[int, ...]) -> str:
        return number() if not rest else f"[{', '.join(nested(rest[1:]) for _ in range(rest[0]))}]"

    text = f"torch.tensor({nested(shape)}, dtype=torch.{dtype})"
    return text if math.prod(shape) else f"torch.zeros({shape}, dtype=torch.{dtype})"
