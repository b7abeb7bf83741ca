"""MetadataTensor: metadata go through every function, and nothing else changes."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch.overrides import get_overridable_functions, resolve_name
from jtorch.utils.data import DataLoader
from jtorch.wrappers import MetadataError, MetadataTensor, TensorLike, coverage, metadata

FACTS = {"unit": "km"}


def m(data=((1.0, 2.0), (3.0, 4.0)), facts=FACTS, **options):
    return MetadataTensor(data, facts, **options)


def test_repr_and_construction():
    x = torch.add(torch.tensor([[1, 2], [1, 2]]), m([[1, 2], [3, 4]]))
    assert repr(x) == "Metadata:\n{'unit': 'km'}\n\ndata:\ntensor([[2, 4],\n        [4, 6]])"
    t = torch.ones(2)
    assert (
        m(t).tensor is t
        and m([1], dtype=torch.float64).dtype is torch.float64
        and m(t, None).metadata == {}
    )
    assert (
        m(m(t)).tensor is t
        and m(m(t), None).metadata == FACTS
        and m(m(t), {"b": 1}).metadata == {"b": 1}
    )
    facts = dict(FACTS)
    x = m(t, facts)
    facts["unit"] = "m"
    assert x.metadata == FACTS and x.with_metadata(by="me").metadata == {**FACTS, "by": "me"}
    with pytest.raises(ValueError, match="policy must be"):
        m(t, policy="last")


# ---- every function ------------------------------------------------------------------------------

# Meta tensors: shapes and dtypes are computed, and nothing is compiled.
A, N = torch.empty(2, 2, device="meta"), torch.empty(2, 2, dtype=torch.int64, device="meta")
CALLS = [
    (A,), (A, A), (A, A, A), ([A, A],), (A, 0), (A, 0, 1), (A, (0, 1)), (A, 0, N), (A, 0, N, A),
    (A, N), (N,), (N, N), (A, 2), (A, 1, 2), (A.bool(),), (A[0],), (A[0], A[1]),
]  # fmt: skip
#: What they compute is not determined by their arguments, or is of the object itself.
UNSTABLE = (
    "dropout",
    "rand",
    "empty",
    "normal",
    "rrelu",
    "lowrank",
    "init",
    "geometric",
    "exponential",
    "cauchy",
    "uniform",
    "storage",
)
SKIPPED = {
    "bernoulli", "bernoulli_", "multinomial", "poisson", "binomial", "data_ptr", "__reduce_ex__",
    "__deepcopy__", "__dir__", "__dlpack__", "__repr__", "__format__", "__array_wrap__", "__div__",
    "__idiv__", "__rdiv__",
}  # fmt: skip


def copied(x, wrap=False):
    if isinstance(x, torch.Tensor):
        return MetadataTensor(x.clone(), FACTS) if wrap else x.clone()
    return [copied(item, wrap) for item in x] if isinstance(x, list) else x


def agree(plain, wrapped):
    if isinstance(plain, torch.Tensor):
        carries = isinstance(wrapped, MetadataTensor) and wrapped.metadata == FACTS
        return (
            carries
            and plain.dtype is wrapped.dtype
            and plain.shape == wrapped.shape
            and plain.device == wrapped.device
        )
    if isinstance(plain, (tuple, list)):
        return len(plain) == len(wrapped) and all(
            agree(p, w) for p, w in zip(plain, wrapped, strict=True)
        )
    return True


def compare(call, on_wrapped):
    """Whether a call exists that plain tensors can do; fails unless it does the same with
    metadata."""
    for arguments in CALLS:
        torch.manual_seed(0)
        try:
            plain = call(*copied(list(arguments)))
            if plain is NotImplemented:
                continue
            str(plain)
        except Exception:
            continue
        torch.manual_seed(0)
        assert agree(plain, on_wrapped(*copied(list(arguments), wrap=True)))
        return True
    return False


@pytest.mark.filterwarnings("ignore")
def test_every_function_of_the_namespaces():
    seen, bad = 0, []
    for key, functions in get_overridable_functions().items():
        if key is torch.Tensor or isinstance(key, property):
            continue
        for f in functions:
            name = resolve_name(f)
            if name.rsplit(".", 1)[-1] in SKIPPED or any(word in name for word in UNSTABLE):
                continue
            try:
                seen += compare(f, f)
            except Exception as error:
                bad.append((name, repr(error)[:80]))
    assert bad == [] and seen > 350


@pytest.mark.filterwarnings("ignore")
def test_every_method():
    seen, bad = 0, []
    for f in get_overridable_functions()[torch.Tensor]:
        name = resolve_name(f).rsplit(".", 1)[-1]
        private = name.startswith("_") and not name.startswith("__")
        if private or name in SKIPPED or any(word in name for word in UNSTABLE):
            continue

        def call(self, *args, name=name):
            if not hasattr(self, name):
                raise AttributeError(name)
            return getattr(self, name)(*args)

        try:
            seen += compare(call, call)
        except Exception as error:
            bad.append((name, repr(error)[:80]))
    assert bad == [] and seen > 350


def test_every_property():
    t = torch.ones(2, 3, requires_grad=True)
    for key in get_overridable_functions():
        if isinstance(key, property) and not key.__name__.startswith("_"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    plain = key.__get__(t)
                except Exception:
                    continue
                assert isinstance(getattr(m(t), key.__name__), MetadataTensor) == isinstance(
                    plain, torch.Tensor
                ), key.__name__


def test_coverage_partitions_the_list():
    sets = metadata.COVERAGE
    every = coverage.overridable_functions()
    parts = [set(sets[name]) for name in ("unchanged", "special", "delegates", "refused")]
    assert set().union(*parts) == every and sum(map(len, parts)) == len(every)
    assert (
        torch.add in sets["unchanged"]
        and torch.Tensor.add_ in sets["special"]
        and torch.Tensor.item in sets["delegates"]
    )


# ---- objects -------------------------------------------------------------------------------------


def test_operators():
    x = m()
    for r, expected in [
        (x + 1, [[2, 3], [4, 5]]), (1 - x, [[0, -1], [-2, -3]]),
        (torch.ones(2) * x, [[1, 2], [3, 4]]), (12 / x, [[12, 6], [4, 3]]),
        (x @ x, [[7, 10], [15, 22]]), (-x, [[-1, -2], [-3, -4]]), (x**2, [[1, 4], [9, 16]]),
        (2**x, [[2, 4], [8, 16]]), (x // 2, [[0, 1], [1, 2]]), (7 // x, [[7, 3], [2, 1]]),
        (x % 2, [[1, 0], [1, 0]]), (5 % x, [[0, 1], [2, 1]]), (abs(-x), [[1, 2], [3, 4]]),
    ]:  # fmt: skip
        assert isinstance(r, MetadataTensor) and r.metadata == FACTS and r.tolist() == expected
    assert (
        (x > 2).tolist() == [[False, False], [True, True]]
        and (x == x).all().item()
        and (~(x > 2)).metadata == FACTS
    )
    assert (
        len(x) == 2
        and float(x.sum()) == 10
        and 4.0 in x
        and [row.metadata for row in x] == [FACTS] * 2
    )
    assert (
        f"{x.sum()}" == "10.0"
        and bool(x[0, 0])
        and np.asarray(x).tolist() == x.tolist()
        and x.to(torch.int32).dtype is torch.int32
    )


def test_in_place_and_out_return_the_object():
    x = m()
    before = x
    assert x.add_(1) is x and x.tolist() == [[2, 3], [4, 5]]
    x += 1
    x[0] = 0
    x[1] = m([7.0, 8.0], {"other": 1})
    assert x is before and x.metadata == FACTS and x.tolist() == [[0, 0], [7, 8]]
    out = m(torch.zeros(2), {"old": 1})
    assert (
        torch.add(torch.ones(2), m([1.0, 2.0]), out=out) is out
        and out.metadata == FACTS
        and out.tolist() == [2, 3]
    )
    assert torch.add(torch.ones(2), torch.ones(2), out=out) is out and out.metadata == FACTS
    t = torch.zeros(2)
    t[0] = m(3.0)
    assert type(t) is torch.Tensor and t.tolist() == [3, 0]


def test_policies():
    a, b = {"a": 1, "c": 3}, {"b": 2, "c": 4}
    assert (m(1, a) + m(1, b)).metadata == a and torch.stack([m(1, b), m(1, a)]).metadata == b
    assert (m(1, a, policy="merge") + m(1, b)).metadata == {"a": 1, "c": 3, "b": 2}
    assert (m(1, a, policy="agree") + m(1, dict(a)) + 1).metadata == a
    with pytest.raises(MetadataError, match=r"torch\.add: operands have different metadata"):
        m(1, a, policy="agree") + m(1, b)
    seen = []

    def own(func, dictionaries):
        seen.append((func, dictionaries))
        return {"n": len(dictionaries)}

    r = torch.where(torch.tensor(True), m(1, a, policy=own), m(2, b))
    assert r.metadata == {"n": 2} and seen == [(torch.where, [a, b])] and r.policy is own
    x = m([1], a, policy="merge")
    x.add_(m([1], b))
    assert x.metadata == {"a": 1, "c": 3, "b": 2}


def test_results_do_not_share_their_dictionary():
    x = m()
    y = x + 1
    y.metadata["unit"] = "m"
    assert x.metadata == FACTS


def test_autograd():
    x, w = m(torch.ones(2, requires_grad=True)), torch.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g) or g * 2)
    (x * w * 3).sum().backward()
    assert (
        x.grad.metadata == FACTS
        and x.grad.tolist() == [6, 6]
        and x.grad is x.grad
        and w.grad.tolist() == [3, 3]
    )
    assert (
        seen[0].metadata == FACTS
        and type(w.grad) is torch.Tensor
        and x.is_leaf
        and not (x * 2).is_leaf
    )
    g, h = torch.autograd.grad((x * w).sum(), (x, w))
    assert g.metadata == FACTS and type(h) is torch.Tensor
    x.grad = None
    assert x.grad is None
    x.requires_grad = False
    assert (
        not x.requires_grad
        and x.requires_grad_().requires_grad
        and (x * 2).detach().metadata == FACTS
    )


def test_modules():
    net = torch.nn.Sequential(
        torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.LayerNorm(3), torch.nn.Dropout(0.5)
    ).eval()
    x = m()
    assert net(x).metadata == FACTS and torch.equal(net(x).tensor, net(x.tensor))
    loss = torch.nn.CrossEntropyLoss()(net(x), torch.tensor([0, 1]))
    loss.backward()
    assert loss.metadata == FACTS and type(net[0].weight.grad) is torch.Tensor


def test_data_loader():
    batch = next(
        iter(
            DataLoader(
                [(m([float(i)], {"i": i}, policy="merge"), i) for i in range(3)], batch_size=3
            )
        )
    )
    assert (
        batch[0].tolist() == [[0], [1], [2]]
        and batch[0].metadata == {"i": 0}
        and batch[1].tolist() == [0, 1, 2]
    )


def test_copies_pickles_and_files():
    x = m(policy="merge")
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), torch.load(file)["x"]):
        assert (
            type(y) is MetadataTensor
            and y.metadata == FACTS
            and y.policy == "merge"
            and y.tolist() == x.tolist()
        )
    assert copy.copy(x).tensor is x.tensor and copy.deepcopy(x).tensor is not x.tensor


def test_jax_transformations():
    x = m()
    assert jax.jit(lambda v: v * 2)(x).metadata == FACTS and jax.jit(lambda v: v * 2)(
        x
    ).tolist() == [[2, 4], [6, 8]]
    traced = []
    f = jax.jit(lambda v: traced.append(v.metadata) or v + 1)
    f(x), f(x), f(m(facts={"unit": "m"}))
    assert traced == [FACTS, {"unit": "m"}]
    assert jax.vmap(lambda v: v.sum())(x).tolist() == [3, 7]
    g = jax.grad(lambda v: (v * v).sum().tensor.jax())(x)
    assert g.metadata == FACTS and g.tolist() == [[2, 4], [6, 8]]
    assert torch.func.grad(lambda v: (v * v).sum().tensor)(x).tolist() == g.tolist()


def test_subclasses_and_other_types():
    class Named(MetadataTensor):
        pass

    assert type(Named(1.0, FACTS) + 1) is Named and type(torch.stack([Named(1.0, FACTS)])) is Named

    class Half(TensorLike):
        """Half of its data: knows itself only."""

        def __init__(self, data):
            self.inner = data

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if not all(issubclass(t, (Half, torch.Tensor)) for t in types):
                return NotImplemented
            return Half(
                func(*[x.inner if isinstance(x, Half) else x for x in args], **(kwargs or {}))
            )

    # the other type declines, the metadata go around the result
    r = torch.add(Half(torch.ones(1)), m([1.0]))
    assert type(r) is MetadataTensor and type(r.tensor) is Half and r.metadata == FACTS
    assert (
        type((m(Half(torch.ones(1))) * 2).tensor) is Half
        and m(Half(torch.ones(1))).reshape(1, 1).metadata == FACTS
    )


def test_recording_one_add_stays_cheap():
    """Not a benchmark: fails when the fast path is left."""
    import timeit

    t, x = torch.ones(1), m([1.0])
    plain = min(timeit.repeat(lambda: torch.add(t, t), number=300, repeat=7))
    assert min(timeit.repeat(lambda: torch.add(x, x), number=300, repeat=7)) < 8 * plain
