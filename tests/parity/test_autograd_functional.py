"""``autograd.functional``: what it says of functions and arguments, and tensors of classes with
``__torch_dispatch__``."""

import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity

NAMES = ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"]
SCALAR = ("vhp", "hvp", "hessian")
FUNCTIONS = {
    "detached": lambda t, x: x.detach(),
    "independent": lambda t, x: t.ones(2, requires_grad=True),
    "linear": lambda t, x: 3 * x,
    "number": lambda t, x: 1,
    "with a number": lambda t, x: (x, 1),
    "two results": lambda t, x: (x, x * x),
    "cubic": lambda t, x: x * x * x,
}


def _outcome(call):
    try:
        found = call()
    except Exception as error:
        return type(error), str(error)
    return torch.utils._pytree.tree_map(lambda t: t.tolist(), found)


@pytest.mark.parametrize("options", [{}, {"strict": True}, {"strict": True, "create_graph": True}])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_functions(name, function, options):
    def run(t):
        def f(x):
            found = FUNCTIONS[function](t, x)
            return found.sum() if name in SCALAR and isinstance(found, t.Tensor) else found

        x = t.tensor([1.0, 2.0])
        v = (
            ()
            if name in ("jacobian", "hessian")
            else ((x, x),)
            if function == "two results" and name == "vjp"
            else (x,)
        )
        return _outcome(lambda: getattr(t.autograd.functional, name)(f, x, *v, **options))

    assert run(jtorch) == run(torch)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
@pytest.mark.parametrize("strict", [False, True])
def test_all_rows_at_once(name, function, strict):
    if (name, function, strict) == ("hessian", "detached", True):
        pytest.skip("which of two errors comes first")

    def run(t):
        def f(x):
            found = FUNCTIONS[function](t, x)
            return found.sum() if name in SCALAR and isinstance(found, t.Tensor) else found

        return _outcome(
            lambda: getattr(t.autograd.functional, name)(
                f, t.tensor([1.0, 2.0]), strict=strict, vectorize=True
            )
        )

    assert run(jtorch) == run(torch)


def _wrapper(t):
    class Wrapper(t.Tensor):
        __torch_function__ = t._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            made = t.Tensor._make_wrapper_subclass(
                cls, inner.size(), dtype=inner.dtype, requires_grad=requires_grad
            )
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            tree_map = t.utils._pytree.tree_map
            args, kwargs = tree_map(
                lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {})
            )
            return tree_map(
                lambda x: cls(x) if isinstance(x, t.Tensor) else x, func(*args, **kwargs)
            )

    return Wrapper


@pytest.mark.parametrize(
    "call",
    [
        lambda F, f, x, v: F.vjp(f, x, v),
        lambda F, f, x, v: F.jvp(f, x, v),
        lambda F, f, x, v: F.hvp(lambda x: f(x).sum(), x, v),
        lambda F, f, x, v: F.jacobian(f, x),
        lambda F, f, x, v: F.jacobian(f, x, vectorize=True),
        lambda F, f, x, v: F.hessian(lambda x: f(x).sum(), x, vectorize=True),
        lambda F, f, x, v: F._construct_standard_basis_for((x, v), (2, 2)),
    ],
)
def test_wrappers(call):
    def run(t):
        made = _wrapper(t)
        found = call(
            t.autograd.functional,
            lambda x: x * x * x,
            made(t.tensor([1.0, 2.0])),
            made(t.tensor([3.0, 4.0])),
        )
        leaves = t.utils._pytree.tree_leaves(found)
        assert all(type(x) is made for x in leaves)
        return [x.inner.tolist() for x in leaves]

    assert run(jtorch) == run(torch)


def test_gradients_of_wrappers_can_be_checked():
    made = _wrapper(jtorch)
    x = made(jtorch.tensor([1.0, 2.0], dtype=jtorch.float64), requires_grad=True)
    assert jtorch.autograd.gradcheck(
        lambda x: jtorch.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True), (x,)
    )
    jtorch.testing.assert_close(x * 2, made(jtorch.tensor([2.0, 4.0], dtype=jtorch.float64)))
    with pytest.raises(AssertionError, match="not close"):
        jtorch.testing.assert_close(x, made(jtorch.tensor([1.0, 3.0], dtype=jtorch.float64)))


def test_data_of_wrappers_has_a_version_of_its_own():
    def run(t):
        x = _wrapper(t)(t.zeros(2))
        d = x.data
        d.add_(1)
        return x._version, d._version, x.detach()._version, x.inner.tolist()

    assert run(jtorch) == run(torch)


@pytest.mark.parametrize(
    "options",
    [{}, {"create_graph": True}, {"vectorize": True}, {"vectorize": True, "create_graph": True}],
)
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_subclasses_reach_the_function(name, options):
    """The function is given tensors of the callers' classes, whichever way the rows are found."""

    def run(t):
        class Marked(t.Tensor):
            def cubed(self):
                return self.as_subclass(t.Tensor) ** 3

        def f(x, w):
            found = (x.cubed() * w).as_subclass(t.Tensor) if isinstance(x, Marked) else x * 0
            return found.sum() if name == "hessian" else (found, t.ones(2))

        x = t.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Marked).requires_grad_()
        found = getattr(t.autograd.functional, name)(f, (x, t.tensor([2.0, 5.0])), **options)
        leaves = [g.as_subclass(t.Tensor) for g in t.utils._pytree.tree_leaves(found)]
        return leaves + (
            list(t.autograd.grad(leaves[0].sum(), x)) if "create_graph" in options else []
        )

    assert _outcome(lambda: run(jtorch)) == _outcome(lambda: run(torch))
