"""Tables of decompositions: what is read from kernels computes the same with operators of the core
set, and what the tables mean."""

from __future__ import annotations

import subprocess
import sys

import pytest

import jtorch as torch
from jtorch import nn
from jtorch._decomp import core_aten_decompositions, decomposition_table, get_decompositions
from jtorch._decomp.by_kernel import by_kernel
from jtorch._decomp.decompositions import BY_KERNEL
from jtorch.export import Dim, default_decompositions, export
from jtorch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten
#: Operators of PyTorch's core set, and the conversion, which is in its tables of core operators
#: under another name.
CORE = set(
    """abs acos acosh add amax amin any arange asin asinh atan atan2 atanh bitwise_and bitwise_not
    bitwise_or bitwise_xor bmm cat ceil clone cos cosh cumsum div eq erf exp expand expm1 flip floor
    fmod full ge gt isinf isnan le log log1p logical_and logical_not logical_or logical_xor lt
    maximum minimum mul ne neg permute pow prod round rsqrt sigmoid sign sin sinh slice sqrt squeeze
    sub sum tan tanh view where _to_copy""".split()
)


def operator(name: str):
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


X, Y = (
    torch.tensor([[0.5, -1.5, 2.0], [-0.25, 3.0, 0.0]]),
    torch.tensor([[1.0, 0.5, -2.0], [0.75, 0.25, 1.5]]),
)
P = torch.tensor([[0.1, 0.5, 0.9], [0.25, 0.75, 0.3]])
B = torch.tensor([[True, False, True], [False, True, True]])
#: Arguments for those that take others than tensors of one shape, and numbers.
SAMPLES = {
    "_log_softmax_backward_data": (X, Y, 1, torch.float32),
    "_softmax_backward_data": (X, Y, 1, torch.float32), "_safe_softmax": (X, 1),
    "elu_backward": (X, 1.0, 1.0, 1.0, False, Y), "leaky_relu_backward": (X, Y, 0.1, False),
    "mse_loss_backward": (X, X, Y, 0), "smooth_l1_loss_backward": (X, X, Y, 0, 1.0),
    "huber_loss_backward": (X, X, Y, 0, 1.0), "binary_cross_entropy_backward": (X, P, P, None, 0),
    "binary_cross_entropy": (P, P), "logsumexp": (X, [1]),
    "baddbmm": (torch.ones(2, 2, 2), torch.ones(2, 2, 3),
                                       torch.ones(2, 3, 2)),
    "addr": (torch.ones(2, 3), X[:, 0], X[0]), "mv": (X, X[0]), "dot": (X[0], Y[0]),
    "roll": (X, [1], [1]), "all.dim": (B, 1), "all.default": (B,), "all.dims": (B, [0, 1]),
    "all": (B,), "std.dim": (X, [1]), "var.dim": (X, [1]), "std_mean.dim": (X, [1]),
    "var_mean.dim": (X, [1]), "norm.ScalarOpt_dim": (X, 2, [1]),
    "channel_shuffle": (torch.rand(1, 4, 2, 2), 2), "pixel_shuffle": (torch.rand(1, 4, 2, 2), 2),
    "pixel_unshuffle": (torch.rand(1, 1, 4, 4), 2), "transpose_copy.int": (X, 0, 1),
    "unsqueeze_copy": (X, 0), "expand_copy": (X, [2, 2, 3]), "where.ScalarSelf": (B, 1.0, X),
    "where.ScalarOther": (B, X, 1.0), "where.Scalar": (B, 1.0, 2.0),

    "reflection_pad1d": (X[None], [1, 1]), "replication_pad1d": (X[None], [1, 1]),
    "native_dropout_backward": (X, B, 2.0), "upsample_nearest2d": (torch.rand(1, 1, 2, 2), [4, 4]),
    "prelu": (X, Y), "logit": (P,), "special_logit": (P,), "logit_backward": (X, P),
    "arccosh": (torch.ones(2) * 2,), "arctanh": (P,), "t_copy": (X,),
    "divide.Scalar_mode": (X, 2.0), "native_layer_norm_backward": (X, Y, [3], torch.ones(2, 1),
        torch.ones(2, 1), torch.ones(3), torch.ones(3), [True, True, True]),
    "native_group_norm_backward": (X, Y, torch.ones(2, 1), torch.ones(2, 1), torch.ones(3), 2, 3, 1,
                                   1, [True, True, True]),
    "native_batch_norm_backward": (X, Y, torch.ones(3), None, None, torch.ones(3), torch.ones(3),
                                   True, 1e-5, [True, True, True]),
    "multiply.Tensor": (X, Y), "isin.Scalar_Tensor": (1.0, X), "linalg_cross": (X, Y),
    "softplus_backward": (X, Y, 1.0, 20.0),
}  # fmt: skip
MODES = {"divide.Scalar_mode": {"rounding_mode": "trunc"}}


def sample(name: str):
    """Tensors for the operator's tensors, and numbers for those that have no default."""
    if name in SAMPLES:
        return SAMPLES[name]
    tensors = iter((X, Y, P))
    found = []
    for a in operator(name)._schema.arguments:
        if a.type == "Tensor":
            found.append(next(tensors))
        elif a.type in ("Scalar", "float", "int", "bool") and not a.has_default_value():
            found.append(0.5)
        else:
            break
    return tuple(found)


@pytest.mark.parametrize("name", BY_KERNEL)
def test_what_is_read_from_a_kernel_computes_the_same(name: str) -> None:
    func, args, kwargs = operator(name), sample(name), MODES.get(name, {})
    wanted = func(*args, **kwargs)
    assert by_kernel(func)(*args, **kwargs) is not NotImplemented
    tensors = [x for x in args if isinstance(x, torch.Tensor)]

    def call(*given):
        place = iter(given)
        return by_kernel(func)(
            *[next(place) if isinstance(x, torch.Tensor) else x for x in args], **kwargs
        )

    graph = make_fx(call)(*tensors)
    found, wanted = [[x] if isinstance(x, torch.Tensor) else x for x in (graph(*tensors), wanted)]
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)
    used = {
        n.target._opname
        for n in graph.graph.nodes
        if n.op == "call_function" and hasattr(n.target, "_opname")
    }
    assert used <= CORE, used - CORE


def test_random_values_are_not_made_constants() -> None:
    assert not {"rrelu", "bernoulli", "native_dropout", "dropout"} & {
        n.partition(".")[0] for n in BY_KERNEL
    }


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(3, 4), nn.LayerNorm(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.celu(self.norm(self.first(x)))
        return nn.functional.huber_loss(y, y.logsumexp(1, True) + 0 * y) + y.flatten().var()


def targets(program) -> list[str]:
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def test_programs_with_sizes_that_vary_are_decomposed() -> None:
    net = Net()
    program = export(net, (torch.randn(5, 3),), dynamic_shapes=({0: Dim("rows")},))
    found = program.run_decompositions()
    x = torch.randn(7, 3)
    torch.testing.assert_close(found.module()(x), net(x))
    assert not {
        "aten.celu.default",
        "aten.huber_loss.default",
        "aten.logsumexp.default",
        "aten.linear.default",
    } & set(targets(found))


def test_an_operator_that_is_taken_out_of_the_table_stays() -> None:
    program = export(Net(), (torch.randn(5, 3),))
    table = default_decompositions()
    del table[aten.linear.default], table[aten.huber_loss.default]
    kept = targets(program.run_decompositions(table))
    assert {"aten.linear.default", "aten.huber_loss.default"} <= set(kept)
    assert "aten.celu.default" not in kept
    assert {"aten.linear.default", "aten.layer_norm.default"} <= set(
        targets(program.run_decompositions({}))
    )


def test_the_table_is_whole_from_the_start() -> None:
    """What is in it does not hang on what was asked before."""
    code = """if True:
    from jtorch._decomp import core_aten_decompositions, decomposition_table, get_decompositions
    from jtorch.fx.experimental.proxy_tensor import make_fx
    before = set(decomposition_table)
    assert len(core_aten_decompositions()) > 350 and get_decompositions([])== {}
    print(len(before), before == set(decomposition_table) >= set(core_aten_decompositions()))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(decomposition_table)), "True"]


def test_the_tables() -> None:
    assert len(core_aten_decompositions()) > 350
    assert set(core_aten_decompositions()) <= set(decomposition_table)
    assert len(get_decompositions([aten.linear, aten.celu])) == 2
    assert all(not op._schema.writes for op in core_aten_decompositions())
