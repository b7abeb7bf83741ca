"""Tensors as trees of JAX: every function on trees and every transformation takes them, and no
gradient is dropped on the way."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch

X = [1.0, 2.0, -3.0]


@pytest.fixture
def x() -> torch.Tensor:
    return torch.tensor(X)


def square(v: torch.Tensor) -> torch.Tensor:
    return v * v


def total(v: torch.Tensor) -> jax.Array:
    return (v * v).sum().jax()


class Tagged(torch.Tensor):
    """A subclass whose instances have an attribute."""


class Halves(torch.Tensor):
    """A wrapper of two tensors, taken apart by PyTorch's own protocol."""

    @staticmethod
    def __new__(cls, low, high):
        return torch.Tensor._make_wrapper_subclass(cls, low.shape, dtype=low.dtype)

    def __init__(self, low, high):
        self.low, self.high = low, high

    def __tensor_flatten__(self):
        return ["low", "high"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["low"], inner["high"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


# ---- transformations -----------------------------------------------------------------------------


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_jacobian_is_one_tensor(jacobian, x) -> None:
    found = jacobian(square)(x)
    assert type(found) is torch.Tensor and torch.equal(found, torch.diag(2 * x))


def test_hessian(x) -> None:
    assert torch.equal(jax.hessian(total)(x), 2 * torch.eye(3))


def test_hessian_of_parameters() -> None:
    lin = torch.nn.Linear(2, 1, bias=False)
    a = torch.tensor([[1.0, 2.0]])
    found = jax.hessian(lambda p: torch.func.functional_call(lin, p, (a,)).pow(2).sum().jax())(
        dict(lin.named_parameters())
    )
    assert found["weight"]["weight"].detach().reshape(2, 2).tolist() == [[2.0, 4.0], [4.0, 8.0]]
    one, two = jax.jacrev(lambda a, b: a * b, argnums=(0, 1))(torch.ones(2), torch.full((2,), 3.0))
    assert torch.equal(one, 3 * torch.eye(2)) and torch.equal(two, torch.eye(2))


def test_grad_of_parameter_and_subclass(x) -> None:
    p = torch.nn.Parameter(x)
    found = jax.grad(total)(p)
    assert type(found) is torch.nn.Parameter and found.tolist() == [2.0, 4.0, -6.0]
    found = jax.grad(total)(x.as_subclass(Tagged))
    assert type(found) is Tagged and found.tolist() == [2.0, 4.0, -6.0]
    # a change of class cuts nothing
    assert jax.grad(lambda v: (v.as_subclass(Tagged) * v).sum().jax())(x).tolist() == [
        2.0,
        4.0,
        -6.0,
    ]


def test_tangents_need_not_require_grad(x) -> None:
    p = torch.nn.Parameter(x)
    _, tangent = jax.jvp(square, (p,), (torch.nn.Parameter(torch.ones(3), requires_grad=False),))
    assert tangent.tolist() == [2.0, 4.0, -6.0]


def test_control_flow(x) -> None:
    assert jax.lax.cond(True, lambda v: v + 1, lambda v: v - 1, x).tolist() == [2.0, 3.0, -2.0]
    assert jax.lax.switch(1, [lambda v: v, lambda v: v * 2], x).tolist() == [2.0, 4.0, -6.0]
    carry, rows = jax.lax.scan(lambda c, v: (c + v, c * v), torch.zeros(()), x)
    assert carry.item() == 0.0 and rows.tolist() == [0.0, 2.0, -9.0]
    assert jax.lax.while_loop(lambda v: (v.sum() < 10).jax(), lambda v: v + 1, x).tolist() == [
        5.0,
        6.0,
        1.0,
    ]
    assert jax.lax.fori_loop(0, 3, lambda i, v: v * 2, x).tolist() == [8.0, 16.0, -24.0]
    assert jax.lax.map(lambda v: v * 2, x).tolist() == [2.0, 4.0, -6.0]
    assert jax.lax.associative_scan(lambda a, b: a + b, x).tolist() == [1.0, 3.0, 0.0]


def test_transformations_of_functions(x) -> None:
    assert jax.vmap(square)(x).tolist() == [1.0, 4.0, 9.0]
    assert jax.grad(jax.checkpoint(total))(x).tolist() == [2.0, 4.0, -6.0]
    value, back = jax.vjp(square, x)
    assert value.tolist() == [1.0, 4.0, 9.0] and back(torch.ones(3))[0].tolist() == [2.0, 4.0, -6.0]

    @jax.custom_vjp
    def tripled(v):
        return v * 3

    tripled.defvjp(lambda v: (tripled(v), None), lambda _, g: (g * 5,))
    assert jax.grad(lambda v: tripled(v).sum().jax())(x).tolist() == [5.0, 5.0, 5.0]


def test_shard_map(x) -> None:
    mesh = jax.make_mesh((1,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.sharding.PartitionSpec("a")
    assert jax.shard_map(square, mesh=mesh, in_specs=rows, out_specs=rows)(x).tolist() == [
        1.0,
        4.0,
        9.0,
    ]


def test_a_result_that_is_a_tree_is_refused_in_words(x) -> None:
    with pytest.raises(TypeError, match="scalar-output") as caught:
        jax.grad(lambda v: (v * v).sum())(x)
    assert "return tensor.jax()" in str(caught.value.__cause__)


# ---- trees ---------------------------------------------------------------------------------------


def test_leaves_that_are_no_arrays(x) -> None:
    shapes = jax.tree.map(lambda a: a.shape, {"w": x, "p": torch.nn.Parameter(x)})
    assert jax.tree.leaves(shapes, is_leaf=lambda a: isinstance(a, tuple)) == [(3,), (3,)]
    assert (
        repr(shapes["w"]) == "tensor(<(3,)>)"
        and repr(shapes["p"]) == "Parameter containing:\ntensor(<(3,)>)"
    )
    with pytest.raises(RuntimeError, match=r"no data: a function on trees put \(3,\) in its place"):
        _ = shapes["w"].shape
    names = jax.tree.map(lambda _: "decay", x)
    assert jax.tree.map(lambda name, a: a if name == "decay" else None, names, x).tolist() == X
    typed = jax.tree.map(lambda _: jax.random.key(0), x)
    assert jax.tree.leaves(typed)[0] == jax.random.key(0)


def test_shapes_without_data(x) -> None:
    found = jax.eval_shape(lambda v: v[:, None] @ v[None], x)
    assert found.is_meta and found.shape == (3, 3) and found.dtype is torch.float32
    assert jax.tree.leaves(found) == [jax.ShapeDtypeStruct((3, 3), jnp.float32)]
    assert jax.jit(square).lower(torch.zeros(3, device="meta")).out_info.shape == (3,)


def test_what_survives(x) -> None:
    x.grad, p = None, torch.nn.Parameter(x.clone())
    halved = jax.tree.map(lambda a: a / 2, {"p": p, "x": x})
    assert (
        type(halved["p"]) is torch.nn.Parameter
        and halved["p"].requires_grad
        and not halved["x"].requires_grad
    )
    tagged = x.as_subclass(Tagged)
    tagged.tag = "metres"
    found = jax.jit(square)(tagged)
    assert type(found) is Tagged
    assert jax.jit(lambda v: v)(tagged).tag == "metres"
    arrays = jax.tree.map(np.asarray, x)
    assert type(arrays) is torch.Tensor and arrays.tolist() == X
    assert jax.tree.map(lambda a: a, torch.ones(2, dtype=torch.bfloat16)).dtype is torch.bfloat16


def test_wrappers_go_by_their_parts(x) -> None:
    pair = Halves(x, x + 1)
    found = jax.jit(lambda h: Halves(h.low + h.high, h.high))(pair)
    assert type(found) is Halves and found.low.tolist() == [3.0, 5.0, -5.0]
    marked = jax.tree.map(lambda _: "mark", pair)
    assert jax.tree.leaves(marked) == ["mark", "mark"] and jax.tree.structure(
        marked
    ) == jax.tree.structure(pair)


# ---- gradients -----------------------------------------------------------------------------------

CUT = "no gradient would come back"


def test_no_gradient_is_dropped_in_silence(x) -> None:
    leaf = x.clone().requires_grad_()
    inner = leaf * 2
    for call in (
        jnp.sin,
        lambda v: v * jnp.ones(3, jnp.float32),
        lambda v: jnp.ones(3, jnp.float32) + v,
        jnp.sum,
        jnp.asarray,
    ):
        assert call(x) is not None
        for tensor in (leaf, inner):
            for _ in range(2):  # what JAX has compiled is no way round
                with pytest.raises(RuntimeError, match=CUT):
                    call(tensor)
            with torch.no_grad():
                assert call(tensor) is not None
            assert call(tensor.detach()) is not None
        with pytest.raises(RuntimeError, match=CUT):
            call(leaf)
    with pytest.raises(RuntimeError, match=CUT):
        jax.jit(square)(inner)


@pytest.mark.parametrize(
    "call",
    [
        *(
            jnp.abs,
            jnp.around,
            jnp.corrcoef,
            jax.nn.relu,
            jax.nn.softplus,
            jax.nn.selu,
            jax.scipy.linalg.lu,
        ),
        # these compute on the tensor itself before they call another
        *(jax.nn.hard_sigmoid, jax.nn.sparse_sigmoid),
    ],
)
@pytest.mark.parametrize("kind", [torch.Tensor, torch.nn.Parameter])
def test_no_gradient_is_dropped_where_functions_of_jax_call_others(call, kind) -> None:
    plain = torch.ones(3, 3).as_subclass(kind)
    leaf = plain.clone().detach().as_subclass(kind).requires_grad_()
    # what JAX has compiled for others is no way round
    assert leaf.is_leaf and jax.tree.leaves(call(plain.requires_grad_(False)))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=CUT):
            call(leaf)
    # a function of the user's own may have it
    assert jax.tree.leaves(jax.jit(lambda v: (call(v),))(leaf))


def test_trees_are_alike_whether_gradients_are_asked_for() -> None:
    leaf, plain = (
        torch.nn.Parameter(torch.ones(2)),
        torch.nn.Parameter(torch.ones(2), requires_grad=False),
    )
    trees = jax.tree.structure({"w": leaf}), jax.tree.structure({"w": plain})
    assert trees[0] == trees[1]
    assert jax.tree.map(lambda a, b: a + b, {"w": leaf}, {"w": plain})["w"].tolist() == [2.0, 2.0]
    assert jax.jvp(lambda p: jnp.sin(p["w"]), ({"w": leaf},), ({"w": plain},))[1].shape == (2,)
    carried, _ = jax.lax.scan(
        lambda p, _: (jax.tree.map(lambda a: a * 2, p), None), {"w": leaf}, None, length=2
    )
    assert carried["w"].tolist() == [4.0, 4.0]
    for choice in (True, False):
        assert (
            jax.lax.cond(choice, lambda p: p, lambda p: jax.tree.map(jnp.zeros_like, p), leaf)
            .sum()
            .item()
            == 2.0 * choice
        )


def test_what_a_watched_leaf_computes_on_the_way_is_a_constant_at_last() -> None:
    leaf = torch.ones(2, requires_grad=True)
    assert not jax.lax.scan(lambda c, _: (c * 2, None), leaf, None, length=2)[0].requires_grad
    assert not jax.lax.cond(True, lambda v: v * 2, lambda v: v + 1, leaf).requires_grad


def test_numpy_and_jax_know_dtypes_of_tensors() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int8, torch.bool):
        assert np.dtype(dtype) == torch.zeros(1, dtype=dtype).jax().dtype
    assert jnp.issubdtype(torch.float16, jnp.floating) and not jnp.issubdtype(
        torch.int64, jnp.floating
    )
    with pytest.raises(TypeError, match="qint8"):
        np.dtype(torch.qint8)
    assert np.dtype(np.int8) != torch.qint8
    assert (
        jnp.result_type(torch.ones(2)) == np.float32
        and np.dtype(torch.ones(2, dtype=torch.int8)) == np.int8
    )


def test_a_function_of_ones_own_may_have_leaves(x) -> None:
    leaf = x.clone().requires_grad_()
    assert jax.jit(lambda v: jnp.sin(v) + v * jnp.ones(3, jnp.float32))(leaf).shape == (3,)
    assert jax.grad(lambda v: jnp.sum(jnp.sin(v)))(leaf).shape == (3,)
    made = jax.jit(square)(leaf)
    assert not made.requires_grad  # and not a leaf that would take gradients which end there


def test_an_operator_has_its_gradient(x) -> None:
    @torch.library.jax_op("tests_with_jax::sine")
    def sine(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    leaf = x.clone().requires_grad_()
    sine(leaf).sum().backward()
    assert torch.allclose(leaf.grad, x.cos())


# ---- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [torch.tensor, torch.as_tensor, torch.asarray, torch.zeros(1).new_tensor, torch.from_dlpack],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_])
def test_arrays_become_tensors(make, dtype) -> None:
    for array in (jnp.array([[1, 0], [3, 4]], dtype), jnp.array(1, dtype)):
        made = make(array)
        if make.__name__ != "new_tensor":
            assert made.dtype is torch.from_numpy(np.zeros(1, dtype)).dtype
        assert made.tolist() == array.tolist()
        made.fill_(0)
        assert array.any()  # JAX's array stays as it is


def test_arrays_become_tensors_with_options() -> None:
    array = jnp.array([1.5, -2.5], np.float32)
    assert torch.tensor(array, dtype=torch.int64).tolist() == [1, -2]
    assert torch.tensor(array, requires_grad=True).requires_grad
    assert torch.tensor([array[0], array[1]]).tolist() == [1.5, -2.5]
    assert jax.jit(lambda a: torch.tensor(a) * 2)(array).tolist() == [3.0, -5.0]
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor(jnp.arange(2), requires_grad=True)
    for convert in (torch.as_tensor, torch.tensor, torch.from_jax):
        with pytest.raises(TypeError, match="key_data"):
            convert(jax.random.key(0))
    with pytest.raises(TypeError, match="can't convert"):
        torch.as_tensor(jnp.ones(2, jnp.int4))


def test_tensors_become_arrays(x) -> None:
    for array in (jnp.asarray(x), jnp.array(x), jnp.from_dlpack(x), x.jax()):
        assert isinstance(array, jax.Array) and array.tolist() == X
    assert jax.device_put(x).tolist() == X


def test_what_is_handed_on_requires_grad_as_it_came() -> None:
    for first in (True, False):
        handed = jax.jit(lambda v: {"same": v, "double": v * 2})
        for asks in (first, not first, first):
            found = handed(torch.ones(2, requires_grad=asks))
            assert found["same"].requires_grad is asks and not found["double"].requires_grad


def test_trees_that_were_compared_before_are_alike_after_calls() -> None:
    leaf, plain = torch.ones(3, requires_grad=True), torch.ones(3)
    leaves = jax.tree.structure(leaf)
    assert leaves == jax.tree.structure(plain)
    assert jax.jit(lambda v: v * 2)(leaf) is not None
    assert jnp.sin(plain) is not None
    with pytest.raises(RuntimeError, match=CUT):
        jnp.sin(leaf)
    assert leaves == jax.tree.structure(plain)
    assert jax.tree.map(lambda a, b: a + b, leaf, plain).tolist() == [2.0, 2.0, 2.0]


def test_functions_of_several_tensors_look_at_each(x) -> None:
    leaf = x.clone().requires_grad_()
    for call in (jnp.add, jnp.multiply, lambda a, b: jnp.hstack([a, b]), jnp.convolve):
        assert call(x, x) is not None
        for operands in ((x, leaf), (leaf, x), (leaf, leaf)):
            with pytest.raises(RuntimeError, match=CUT):
                call(*operands)


def test_trees_of_marks_fit_those_of_tracers() -> None:
    """As optax keeps its state of parameters that it leaves out: a tree without leaves in the place
    of each."""
    optax = pytest.importorskip("optax")
    params = dict(torch.nn.Linear(3, 2).named_parameters())
    for transformation in (
        optax.contrib.muon(0.01),
        optax.masked(optax.adam(0.1), {"weight": True, "bias": False}),
    ):
        state, values = transformation.init(params), params

        @jax.jit
        def step(params, state, transformation=transformation):
            grads = jax.tree.map(jnp.ones_like, params)
            updates, state = transformation.update(grads, state, params)
            return optax.apply_updates(params, updates), state

        # which optax counts on
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            for _ in range(2):
                values, state = step(values, state)
        assert all(type(p) is torch.nn.Parameter for p in values.values())
        assert not torch.equal(values["weight"], params["weight"])


@pytest.mark.parametrize(
    ("size", "before"), [(29, jax.jit), (31, lambda f: jax.grad(lambda v: f(v).sum()))]
)
def test_no_gradient_is_dropped_where_another_traced_the_function_first(
    size: int, before: Any
) -> None:
    """Then JAX finds what it traced in one of its tables, and what it compiles of it goes into
    another."""
    assert before(lambda v: jnp.cosh(v) * 1)(torch.ones(size)) is not None
    assert jnp.cosh(torch.ones(size)).shape == (size,)
    with pytest.raises(RuntimeError, match=CUT):
        jnp.cosh(torch.ones(size, requires_grad=True))


def test_operators_tell_of_tracers_that_are_gone():
    kept = []
    jax.jit(lambda x: (kept.append(x), x)[1])(torch.ones(2))
    for use in (
        lambda t: t == 1,
        lambda t: t + 1,
        lambda t: 1 - t,
        lambda t: t @ torch.ones(2),
        lambda t: t != t,
    ):
        with pytest.raises(jax.errors.UnexpectedTracerError):
            use(kept[0])
    assert (torch.ones(2) == object()) is False


def test_arrays_of_jax_are_indices():
    x = torch.arange(6.0).reshape(3, 2)
    at = jnp.array([2, 0])
    assert (
        x[at].tolist() == x[[2, 0]].tolist()
        and x[at, 1].tolist() == [5.0, 1.0]
        and x[jnp.array(1)].tolist() == [2.0, 3.0]
    )
    assert x[jnp.array([True, False, True])].tolist() == x[::2].tolist()
    assert jax.jit(lambda x, i: x[i])(x, at).tolist() == x[[2, 0]].tolist()
    assert jax.jit(lambda x, i: x[i, 1])(x, jnp.array(2)).item() == 5.0
    x[at] = 7.0
    assert x.tolist() == [[7.0, 7.0], [2.0, 3.0], [7.0, 7.0]]


def test_a_write_into_one_leaf_is_none_into_others() -> None:
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))

    def f(a: torch.Tensor, b: torch.Tensor, written: int) -> torch.Tensor:
        y = (b * b).sum()
        with torch.no_grad():
            (a, b)[written].mul_(2)
        (g,) = torch.autograd.grad(y, b)
        return g + a.detach()

    for _ in range(2):
        assert jax.jit(f, static_argnums=2)(a, b, 0).tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        jax.jit(f, static_argnums=2)(a, b, 1)
