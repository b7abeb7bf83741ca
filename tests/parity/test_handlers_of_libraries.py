"""What libraries find in handlers and around them, compared with PyTorch: names of functions,
lists, switches, subclasses of subclasses."""

import inspect

import pytest
import torch as oracle
import torch.ao.nn.quantizable
import torch.nn.quantized

import jtorch

pytestmark = pytest.mark.parity


def both(program):
    """What a program gives with PyTorch and with this package: results, or types and words of
    errors."""

    def run(torch):
        try:
            return program(torch)
        except Exception as e:
            return type(e).__name__, str(e)

    return run(oracle), run(jtorch)


def test_functions_of_namespaces_carry_them_in_their_names():
    for space in ("linalg", "fft", "special"):
        for name in dir(getattr(oracle, space)):
            theirs, ours = (
                getattr(getattr(oracle, space), name),
                getattr(getattr(jtorch, space), name, None),
            )
            if inspect.isbuiltin(theirs) and ours is not None:
                assert ours.__name__ == theirs.__name__, name


def test_overrides_list_getters_of_properties_alone_and_initialisers():
    def properties(torch):
        found = [
            f
            for f in torch.overrides.get_testing_overrides()
            if f.__name__.startswith("__") and hasattr(f, "__self__")
        ]
        return {f.__name__ for f in found}, sorted(
            f.__self__.__qualname__ for f in found if hasattr(f.__self__, "__qualname__")
        )

    def initialisers(torch):
        listed = torch.overrides.get_testing_overrides()
        return {
            f.__name__: str(inspect.signature(d)).replace(" ", "")
            for f, d in listed.items()
            if f in vars(torch.nn.init).values()
        }

    (theirs, known), (ours, named) = both(properties)
    # one with grad
    assert ours == theirs == {"__get__"} and set(named) >= set(known) - {"TensorBase._grad"}
    theirs, ours = both(initialisers)
    assert sorted(ours) == sorted(theirs)


def test_the_protocol_is_on_again_while_a_switch_lives():
    def program(torch):
        class A(torch.Tensor):
            pass

        x, seen = A(torch.ones(3)), []
        with torch._C.DisableTorchFunction():
            seen.append(type(torch.sum(x)).__name__)
            switch = torch._C._EnableTorchFunction()
            seen.append(type(torch.sum(x)).__name__)
            del switch
            seen.append(type(torch.sum(x)).__name__)
            with torch._C._EnableTorchFunction():
                seen.append(type(torch.sum(x)).__name__)
            seen.append(type(torch.sum(x)).__name__)
        return seen

    theirs, ours = both(program)
    assert ours == theirs == ["Tensor", "A", "Tensor", "A", "Tensor"]


def test_handlers_of_operators_are_off_while_a_switch_lives():
    def program(torch):
        from importlib import import_module

        mode_utils = import_module(f"{torch.__name__}.utils._mode_utils")
        Mode = import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode
        seen = []

        class Show(Mode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        x = torch.ones(2)
        with Show() as show:
            x + x
            with mode_utils.no_dispatch():
                x * x
            x - x
        return (
            seen,
            mode_utils.all_same_mode([show, show]),
            mode_utils.all_same_mode([show, Show()]),
        )

    theirs, ours = both(program)
    assert ours == theirs


def test_tensor_of_a_tensor_is_a_view_of_it_and_passes_gradients():
    def program(torch):
        class A(torch.Tensor):
            pass

        seen = []
        for kind in (A, torch.Tensor):
            for needs in (False, True):
                x = torch.ones(2, requires_grad=needs)
                y = kind(x)
                seen += [
                    type(y) is kind,
                    y._is_view(),
                    y._base is x,
                    y.requires_grad,
                    type(y.grad_fn).__name__,
                    y is x,
                ]
                if needs:
                    (y * 3).sum().backward()
                    seen.append(x.grad.tolist())
                else:
                    y.add_(1)
                    seen += [x.tolist(), x._version]
        z = torch.ones(2).as_subclass(A)
        return [*seen, z._is_view(), kind(torch.ones(2, dtype=torch.int64)).dtype is torch.int64]

    theirs, ours = both(program)
    assert ours == theirs
    theirs, ours = both(lambda torch: torch.Tensor(torch.ones(2), device="cpu"))
    assert ours == theirs


def test_what_a_handler_made_is_not_made_an_instance_of_another_class():
    def program(torch):
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                made = torch.Tensor._make_wrapper_subclass(cls, inner.size())
                made.inner = inner
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                out = func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))
                return cls(out) if isinstance(out, torch.Tensor) else out

        class Other(torch.Tensor):
            pass

        seen = []
        for make in (
            lambda w: torch.Tensor._make_subclass(Other, w),
            lambda w: w.as_subclass(Other),
            Other,
            lambda w: type(torch.Tensor(w)).__name__,
        ):  # fmt: skip
            try:
                seen.append(make(Wrapper(torch.ones(2))))
            except RuntimeError as e:
                seen.append(str(e))
        like = torch._C._dispatch_isTensorSubclassLike
        return [
            *seen,
            like(Wrapper(torch.ones(2))),
            like(Other(torch.ones(2))),
            like(torch.ones(2, device="meta")),
            like(torch.ones(0)),
        ]

    theirs, ours = both(program)
    assert ours == theirs


def test_libraries_refuse_kernels_that_are_none_and_keys_that_are_not_theirs():
    def program(torch):
        with torch.library._scoped_library("aten", "IMPL", "CPU") as lib:
            try:
                lib.impl("sum", 3)
            except TypeError as e:
                first = str(e)
            try:
                lib.impl("sum", abs, "Conjugate")
            except RuntimeError as e:
                return first, str(e).partition("  (Error occurred")[0]

    theirs, ours = both(program)
    assert ours == theirs


def test_older_forms_of_define_and_impl():
    def program(torch):
        with torch.library._scoped_library("old_forms", "DEF") as lib:

            @torch.library.define(lib, "twice(Tensor x) -> Tensor")
            def twice(x):
                return x * 2

            lib.define("thrice(Tensor x) -> Tensor")

            @torch.library.impl(lib, "thrice", "CPU")
            def thrice(x):
                return x * 3

            x = torch.ones(2)
            return torch.ops.old_forms.twice(x).tolist(), torch.ops.old_forms.thrice(x).tolist()

    theirs, ours = both(program)
    assert ours == theirs == ([2.0, 2.0], [3.0, 3.0])


def test_observed_operations_and_cells_compute_with_floats():
    def operations(torch):
        f = torch.nn.quantized.FloatFunctional()
        x, y = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 1.0]])
        seen = []
        f.activation_post_process.register_forward_hook(
            lambda module, given, out: seen.append(out.tolist())
        )
        found = [
            f.add(x, y),
            f.add_scalar(x, 2),
            f.mul(x, y),
            f.mul_scalar(x, 3),
            f.cat([x, y]),
            f.add_relu(x, y),
            f.matmul(x, y.t()),
        ]
        try:
            f(x)
        except RuntimeError as e:
            return (
                [r.tolist() for r in found],
                seen,
                str(e),
                repr(f),
                repr(torch.nn.quantized.Dropout(0.5)),
            )

    def cell(torch):
        seen = []
        for split in (False, True):
            made = torch.ao.nn.quantizable.LSTMCell(2, 3, split_gates=split)
            for i, p in enumerate(made.parameters()):
                p.data.fill_(0.1 * (i + 1))
            h, c = made(torch.ones(4, 2))
            h, c = made(torch.ones(4, 2), (h, c))
            seen += [*made.state_dict(), h.tolist(), c.tolist(), made._get_name()]
        return seen

    theirs, ours = both(operations)
    assert ours == theirs
    theirs, ours = both(cell)
    numbers = [i for i, t in enumerate(theirs) if isinstance(t, list)]
    assert len(numbers) == 4 and all(
        oracle.allclose(oracle.tensor(ours[i]), oracle.tensor(theirs[i])) for i in numbers
    )
    assert [t for t in ours if isinstance(t, str)] == [t for t in theirs if isinstance(t, str)]


def test_modules_of_quantised_layers_have_their_names():
    for path in (
        "nn.quantized",
        "nn.qat",
        "nn.quantizable",
        "ao.nn.quantized",
        "ao.nn.qat",
        "ao.nn.quantizable",
    ):
        ours, theirs = jtorch, oracle
        for part in f"{path}.modules".split("."):
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        assert sorted(ours.__all__) == sorted(theirs.__all__)
        assert all(isinstance(getattr(ours, name), type) for name in ours.__all__)
