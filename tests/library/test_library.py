"""``torch.library``: operators with kernels on tensors and on JAX arrays, and everything that can
be registered for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch import library
from jtorch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode
from jtorch.library import custom_op, jax_op, opcheck
from jtorch.utils._python_dispatch import TorchDispatchMode


@pytest.fixture
def scale() -> Iterator[Any]:
    @custom_op("tests::scale", mutates_args=())
    def scale(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
        return x * k

    yield scale
    library.registry.forget(scale._opoverload)
    library.custom._defined.pop("tests::scale")


def complete(scale: Any) -> None:
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k = inputs[1]

    scale.register_autograd(lambda ctx, g: (g * ctx.k, None), setup_context=setup)
    scale.register_fake(lambda x, k=2.0: torch.empty_like(x))


def test_schema_and_names(scale: Any) -> None:
    assert str(scale._opoverload._schema) == "tests::scale(Tensor x, float k=2.0) -> Tensor"
    assert torch.ops.tests.scale(torch.ones(2), 3.0).tolist() == [3.0, 3.0]
    assert torch.ops.tests.scale.default is scale._opoverload
    assert library.lookup("tests", "scale") is torch.ops.tests.scale
    with pytest.raises(
        RuntimeError,
        match="Expected a value of type 'Tensor' for argument 'x' but instead found type 'str'",
    ):
        scale("a")
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        scale()


def test_without_registrations(scale: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = scale(x)
    assert type(y.grad_fn).__name__ == "GeneratedBackwardFor_tests_scale_defaultBackward"
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="no fake impl registered"):
        scale(torch.ones(2, device="meta"))
    assert torch.func.vmap(scale)(torch.ones(2, 3)).tolist() == [[2.0] * 3] * 2


def test_with_registrations(scale: Any) -> None:
    complete(scale)
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    scale(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert torch.autograd.gradcheck(lambda a: scale(a, 3.0), x)
    assert torch.autograd.gradgradcheck(lambda a: scale(a * a, 3.0), x)
    assert scale(torch.ones(2, 5, device="meta")).shape == (2, 5)
    seen: list[Any] = []

    @scale.register_vmap
    def _(info: Any, in_dims: Any, x: Any, k: float = 2.0) -> Any:
        seen.append((info.batch_size, in_dims))
        return scale(x, k), in_dims[0]

    assert torch.func.vmap(scale, in_dims=1)(torch.ones(2, 3)).shape == (3, 2)
    assert seen == [(3, (0, None))]
    assert set(opcheck(scale, (x,)).values()) == {"SUCCESS"}


def test_kernels_by_device_and_jax(scale: Any) -> None:
    scale.register_kernel("cpu")(lambda x, k=2.0: x * k * 10)
    assert scale(torch.ones(1)).item() == 20.0
    with scale.set_kernel_enabled("cpu", False):
        assert scale(torch.ones(1)).item() == 2.0


def test_mutation_and_aliases() -> None:
    @custom_op("tests::bump", mutates_args={"x"})
    def bump(x: torch.Tensor) -> None:
        x.add_(1)

    assert str(bump._opoverload._schema) == "tests::bump(Tensor(a0!) x) -> ()"
    x = torch.zeros(2)
    bump(x)
    assert (x.tolist(), x._version) == ([1.0, 1.0], 2)
    with pytest.raises(RuntimeError, match="non-functional operator"):
        bump.register_autograd(lambda ctx, g: g)

    @custom_op("tests::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(x)

    @custom_op("tests::sly", mutates_args=())
    def sly(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 1

    with pytest.raises(RuntimeError, match="does not declare to be mutated"):
        sly(x)


def test_lists_and_several_results() -> None:
    @custom_op("tests::spread", mutates_args=())
    def spread(xs: list[torch.Tensor], n: int) -> list[torch.Tensor]:
        return [x * n for x in xs]

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.n = inputs[1]

    spread.register_autograd(
        lambda ctx, grads: ([g * ctx.n for g in grads], None), setup_context=setup
    )
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    found = spread([a, b], 3)
    assert isinstance(found, list)
    (found[0].sum() + 2 * found[1].sum()).backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([3.0] * 2, [6.0] * 3)


def test_a_kernel_on_arrays() -> None:
    @jax_op("tests::cube")
    def cube(x: jax.Array, n: int = 3) -> jax.Array:
        return x**n

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(cube, x, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(cube, x)
    assert torch.func.vmap(cube)(torch.ones(2, 3)).shape == (2, 3)
    assert cube(torch.ones(4, device="meta"), 2).shape == (4,)
    assert set(opcheck(cube, (x,)).values()) == {"SUCCESS"}
    assert jax.jit(lambda a: cube(torch.from_jax(a)).jax())(jax.numpy.ones(2)).tolist() == [
        1.0,
        1.0,
    ]


def test_a_pallas_kernel() -> None:
    from jax.experimental import pallas

    def body(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * 2 + 1

    @jax_op("tests::affine")
    def affine(x: jax.Array) -> jax.Array:
        return pallas.pallas_call(
            body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True
        )(x)

    affine.register_autograd(lambda ctx, g: g * 2)
    x = torch.ones(3, requires_grad=True)
    y = affine(x)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([3.0] * 3, [2.0] * 3)
    assert torch.func.vmap(affine)(torch.ones(2, 3)).tolist() == [[3.0] * 3] * 2


def test_overrides_and_modes(scale: Any) -> None:
    complete(scale)

    class Duck:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func

    assert scale(Duck()) is torch.ops.tests.scale.default
    seen: list[Any] = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Log():
        scale(x, 4.0).sum().backward()
    assert seen[0] == "tests.scale.default"
    assert x.grad.tolist() == [4.0, 4.0]


def test_libraries() -> None:
    with library._scoped_library("tests_lib", "DEF") as lib:
        assert lib.define("foo(Tensor x, int n=2) -> Tensor") == "foo"
        with pytest.raises(
            NotImplementedError,
            match="Could not run 'tests_lib::foo' with arguments from the 'CPU' backend",
        ):
            torch.ops.tests_lib.foo(torch.ones(2))
        lib.impl("foo", lambda x, n: x * n, "CPU")
        lib.impl("foo", lambda x, n: torch.empty_like(x), "Meta")
        assert torch.ops.tests_lib.foo(torch.ones(2), 5).tolist() == [5.0, 5.0]
        assert torch.ops.tests_lib.foo(torch.ones(2, device="meta")).shape == (2,)
        with pytest.raises(RuntimeError, match="same name and overload name multiple times"):
            lib.define("foo(Tensor x, int n=2) -> Tensor")
        with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
            library.Library("tests_lib", "DEF")
    assert not hasattr(torch.ops.tests_lib, "foo")
    with pytest.raises(ValueError, match="reserved namespace"):
        library.Library("aten", "DEF")


def test_define_and_implement_by_name() -> None:
    library.define("tests_by_name::bar", "(Tensor x, int n=2) -> Tensor")

    @library.impl("tests_by_name::bar", "default")
    def bar(x: Any, n: int = 2) -> Any:
        return x * n

    library.register_autograd("tests_by_name::bar", lambda ctx, g: (g * 2, None))
    x = torch.ones(2, requires_grad=True)
    torch.ops.tests_by_name.bar(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="operator tests_by_name::nope does not exist"):
        library.register_fake("tests_by_name::nope", lambda x: x)


def test_opcheck_finds_mistakes(scale: Any) -> None:
    scale.register_fake(lambda x, k=2.0: torch.empty(1))
    with pytest.raises(library.OpCheckError, match="test_faketensor failed with"):
        opcheck(scale, (torch.ones(2),))
    found = opcheck(
        scale,
        (torch.ones(2, requires_grad=True),),
        raise_exception=False,
        test_utils="test_autograd_registration",
    )
    assert "no autograd formula" in str(found["test_autograd_registration"])


@pytest.mark.parametrize(
    ("source", "schema"),
    [
        ("x: torch.Tensor, *, flag: bool = True", "(Tensor x, *, bool flag=True) -> Tensor"),
        ("x: torch.Tensor | None, ys: list[torch.Tensor]", "(Tensor? x, Tensor[] ys) -> Tensor"),
        (
            "x: torch.Tensor, n: int | None = None, s: str = 'a'",
            '(Tensor x, SymInt? n=None, str s="a") -> Tensor',
        ),
        ("x: torch.Tensor, k: int | float | bool = 2", "(Tensor x, Scalar k=2) -> Tensor"),
        (
            "x: torch.Tensor, d: torch.dtype = torch.float32",
            "(Tensor x, ScalarType d=float32) -> Tensor",
        ),
    ],
)
def test_schemas(source: str, schema: str) -> None:
    scope: dict[str, Any] = {"torch": torch}
    exec(f"def f({source}) -> torch.Tensor: ...", scope)
    assert library.infer_schema(scope["f"], mutates_args=()) == schema


def test_tags_are_those_that_were_given() -> None:
    with library._scoped_library("tagged", "DEF") as lib:
        lib.define("one(Tensor x) -> Tensor", tags=torch.Tag.pointwise)
        lib.define("none(Tensor x) -> Tensor")
        assert (
            torch.ops.tagged.one.default.tags == [torch.Tag.pointwise]
            and torch.ops.tagged.none.default.tags == []
        )
    made = custom_op(
        "tagged::custom",
        lambda x: x.clone(),
        mutates_args=(),
        schema="(Tensor x) -> Tensor",
        tags=[torch.Tag.core],
    )
    assert made._opoverload.tags == [torch.Tag.pt2_compliant_tag, torch.Tag.core]


def test_operators_with_triton_kernels_run_where_none_is_called() -> None:
    @library.triton_op("tests::tri", mutates_args=())
    def tri(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
        return library.wrap_triton(len)(x) if k < 0 else x * k

    tri.register_autograd(
        lambda ctx, g: (g * ctx.k, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]),
    )
    x = torch.ones(2, requires_grad=True)
    torch.ops.tests.tri(x, 3.0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(NotImplementedError, match=r"jax.experimental.pallas"):
        tri(x, -1.0)
    tri.register_kernel("cpu")(lambda x, k=2.0: x - k)
    assert tri(x.detach()).tolist() == [-1.0, -1.0]


def test_lists_among_several_results_have_a_history():
    def split(x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        return x * 2, [x.clone(), x + 1]

    x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []

    def backward(ctx, grad, grads):
        seen.append((grad.tolist(), [g.tolist() for g in grads]))
        return grad * 2 + grads[0] + grads[1]

    plain = torch.library.custom_op("lists_of_results::plain", split, mutates_args=())
    whole, parts = plain(x)
    assert isinstance(parts, list) and [t.requires_grad for t in (whole, *parts)] == [
        True,
        True,
        True,
    ]
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        parts[0].sum().backward()
    op = torch.library.custom_op("lists_of_results::split", split, mutates_args=())
    op.register_autograd(backward)
    whole, parts = op(x)
    (whole.sum() + 3 * parts[1].sum()).backward()
    assert seen == [([1.0, 1.0], [[0.0, 0.0], [3.0, 3.0]])] and x.grad.tolist() == [5.0, 5.0]
    with pytest.raises(
        RuntimeError, match="Batching rule not implemented for lists_of_results::split"
    ):
        torch.vmap(op)(x.detach())


def test_what_only_writes_needs_no_fake():
    def increase(x: torch.Tensor) -> None:
        x.add_(1)

    op = torch.library.custom_op("only_writes::increase", increase, mutates_args=("x",))
    assert op(torch.empty(2, device="meta")) is None
    assert torch.library.opcheck(op, (torch.ones(2),))["test_faketensor"] == "SUCCESS"


@pytest.mark.parametrize(
    "key", ["default", "cpu", "CPU", "CompositeExplicitAutograd", None, ("default", "cuda")]
)
def test_kernels_of_defined_operators_by_any_key(key: Any) -> None:
    name = f"keys_{abs(hash(key))}"
    torch.library.define(f"mylib::{name}", "(Tensor x) -> Tensor")
    torch.library.register_kernel(f"mylib::{name}", key)(lambda x: x * 3)
    x = torch.ones(2, requires_grad=True)
    getattr(torch.ops.mylib, name)(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 3]


def test_kernels_may_come_before_the_operator() -> None:
    torch.library.register_kernel("mylib::comes_later", "default")(lambda x: x + 5)
    torch.library.define("mylib::comes_later", "(Tensor x) -> Tensor")
    assert torch.ops.mylib.comes_later(torch.ones(1)).tolist() == [6]


def test_autograd_sees_into_kernels_that_write() -> None:
    torch.library.define("mylib::doubled_", "(Tensor(a!) x) -> ()")
    torch.library.impl("mylib::doubled_", "cpu")(lambda x: (x.mul_(2), None)[1])
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    torch.ops.mylib.doubled_(y)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]


def test_results_without_a_known_gradient_say_so() -> None:
    torch.library.define("mylib::by_numpy", "(Tensor x) -> Tensor")
    torch.library.impl("mylib::by_numpy", "cpu")(lambda x: torch.from_numpy(x.detach().numpy() * 2))
    x = torch.ones(2, requires_grad=True)
    out = torch.ops.mylib.by_numpy(x)
    assert out.tolist() == [2, 2] and out.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        out.sum().backward()
    torch.library.define("mylib::part", "(Tensor x) -> Tensor")
    torch.library.impl("mylib::part", "cpu")(lambda x: x[:1])
    assert torch.ops.mylib.part(torch.arange(3.0)).tolist() == [0]


def test_unknown_types_of_devices_are_refused() -> None:
    @torch.library.custom_op("mylib::for_some", mutates_args=())
    def for_some(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        for_some.register_kernel("default")(lambda x: x)


def test_schemas_may_be_spaced_as_one_likes():
    lib = library.Library("tests_spaced", "FRAGMENT")
    lib.define("scaled( Tensor w ,int x = 2, *,\n int y  =3, int z, str s='a, b' )->Tensor")
    lib.impl("scaled", lambda w, x=2, *, y=3, z, s="": w * x * y * z * len(s), "CPU")
    scaled, w = torch.ops.tests_spaced.scaled, torch.ones(2)
    assert (
        scaled(w, z=7).tolist() == [168.0] * 2
        and scaled(w, x=1, y=1, z=7, s="c").tolist() == [7.0] * 2
    )
    assert (
        str(scaled.default._schema)
        == "tests_spaced::scaled(Tensor w, int x=2, *, int y=3, int z, str s='a, b') -> Tensor"
    )
    with pytest.raises(
        RuntimeError, match=r"takes 2 positional argument\(s\) but 3 was/were given"
    ):
        scaled(w, 2, 3)


def test_rules_for_vmap_of_kernels_that_autograd_looks_into():
    lib, seen = library.Library("tests_mapped", "FRAGMENT"), []
    lib.define("times(Tensor x, int n, *, float y) -> Tensor")
    lib.impl("times", lambda x, n, *, y: x * n * y, "CPU")

    def rule(info: Any, in_dims: Any, x: Any, n: int, *, y: float) -> Any:
        seen.append(in_dims)
        return x * n * y, in_dims[0]

    library.register_vmap("tests_mapped::times", rule, lib=lib)
    x = torch.ones(3, requires_grad=True)
    out = torch.vmap(lambda x: torch.ops.tests_mapped.times(x, 2, y=0.5))(x)
    assert seen == [(0, None)] and out.tolist() == [1.0] * 3
    torch.ops.tests_mapped.times(x, 2, y=0.5).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0] * 3


def test_nothing_is_saved_where_nobody_derives():
    @custom_op("tests_quiet::scaled", mutates_args=())
    def scaled(x: torch.Tensor, k: float) -> torch.Tensor:
        return torch.from_numpy(x.numpy(force=True) * k)

    saved: list[Any] = []
    scaled.register_autograd(
        lambda ctx, g: (g * 2, None),
        setup_context=lambda ctx, inputs, output: saved.append(inputs[1]),
    )
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert scaled(x, 2.0).tolist() == [2.0, 2.0]
    with torch.inference_mode():
        scaled(x, 3.0)
    scaled(x.detach(), 4.0)
    assert saved == []
    scaled(x, 2.0).sum().backward()
    assert saved == [2.0] and x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_operators_without_tensors_have_a_kernel_for_the_device_that_is_asked_for():
    @custom_op("tests_made::ones", mutates_args=(), device_types="cpu")
    def ones(device: torch.device) -> torch.Tensor:
        return torch.ones(2)

    assert ones("cpu").tolist() == ones(device=torch.device("cpu")).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="ones does not have a kernel registered for cuda"):
        ones("cuda")
    with pytest.raises(ValueError, match=r"required to have a `device: torch\.device` argument"):
        custom_op(
            "tests_made::nowhere",
            lambda: torch.ones(2),
            mutates_args=(),
            device_types="cpu",
            schema="() -> Tensor",
        )


def test_tensors_given_by_name_alone_are_refused() -> None:
    def named(x: torch.Tensor, *, y: int, z: torch.Tensor | None) -> torch.Tensor:
        return x

    for define in (torch.library.custom_op, torch.library.triton_op):
        with pytest.raises(
            NotImplementedError,
            match=r"custom_op with kwarg-only Tensor args\. Please .* Got: named1\(Tensor x, \*",
        ):
            define("named_tensors::named1", named, mutates_args=())
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        torch.library.custom_op(
            "named_tensors::named2",
            lambda x, *, y: x,
            mutates_args=(),
            schema="(Tensor x,*,Tensor[] y)->Tensor",
        )
    with torch.library._scoped_library("named_tensors", "FRAGMENT") as lib:
        lib.define("named3(Tensor x, *, Tensor y) -> Tensor")
        with pytest.raises(
            NotImplementedError,
            match=r"register_autograd with kwarg-only Tensor args\. In the original",
        ):
            torch.library.register_autograd("named_tensors::named3", lambda ctx, g: (g, None))
        with pytest.raises(NotImplementedError, match="register_vmap with kwarg-only Tensor args"):
            torch.library.register_vmap("named_tensors::named3", lambda info, dims, x, *, y: (x, 0))


def test_devices_that_are_left_out_arrive_as_devices():
    seen = []

    @torch.library.custom_op("tests_devices::placed", mutates_args=())
    def placed(x: torch.Tensor, device: torch.device = torch.device("cpu:0")) -> torch.Tensor:
        seen.append(device)
        return x.clone()

    placed(torch.ones(1))
    assert seen == [torch.device("cpu:0")]
    with pytest.raises(
        ValueError, match=r"opcheck\(op, \.\.\.\): op must be instance of torch\._ops\.OpOverload"
    ):
        torch.library.opcheck(lambda x: x, (1,))


@pytest.mark.parametrize(
    ("schema", "gave", "fits"),
    [
        ("(Tensor a, int x=2, *, int y=3) -> Tensor", 1, True),
        ("(Tensor a, int x=2) -> Tensor", 3, True),
        ("(Tensor a, Tensor? b=None) -> Tensor", 1, True),
        ("(Tensor a, int x) -> Tensor", 1, False),
    ],
)  # fmt: skip
def test_gradients_of_arguments_that_are_left_out(schema, gave, fits):
    with torch.library._scoped_library("tests_left_out", "FRAGMENT") as lib:
        lib.define(f"twice{schema}")
        lib.impl("twice", lambda a, *more, **named: a * 2, "CPU")
        torch.library.register_autograd(
            "tests_left_out::twice", lambda ctx, g: (g * 2, *[None] * (gave - 1)), lib=lib
        )
        a = torch.ones(2, requires_grad=True)
        out = torch.ops.tests_left_out.twice(a, *[] if fits else [5])
        if fits:
            assert torch.autograd.grad(out.sum(), a)[0].tolist() == [2.0, 2.0]
        else:
            with pytest.raises(RuntimeError, match="incorrect number of gradients"):
                out.sum().backward()


def test_sizes_of_results_may_depend_on_data() -> None:
    @custom_op("sizes::places", mutates_args=())
    def places(x: torch.Tensor) -> torch.Tensor:
        return torch.argwhere(x)

    assert torch.library.get_ctx() is None

    @places.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        assert x.device.type == "cpu"  # as the tensor claims, though it has no data
        return x.new_empty(torch.library.get_ctx().new_dynamic_size(), x.dim(), dtype=torch.int64)

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.mul(places(x), 2)

    program = torch.export.export(Module(), (torch.tensor([0.0, 1.0, 2.0]),))
    for x in (torch.ones(3), torch.zeros(3)):
        assert torch.equal(program.module()(x), torch.argwhere(x) * 2)
    assert "sym_size" in str(program.graph)
    assert set(opcheck(places, (torch.ones(2, 3),)).values()) == {"SUCCESS"}
    with FakeTensorMode() as mode, pytest.raises(DynamicOutputShapeException):
        places(mode.from_tensor(torch.ones(3)))


def test_sizes_that_depend_on_data_cannot_be_asked_for_on_meta() -> None:
    @custom_op("sizes::of_meta", mutates_args=())
    def of_meta(x: torch.Tensor) -> torch.Tensor:
        return torch.argwhere(x)

    @of_meta.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(torch.library.get_ctx().new_dynamic_size(), x.dim(), dtype=torch.int64)

    with pytest.raises(RuntimeError, match=r"sizes::of_meta \(.*\): You're trying to run this op"):
        of_meta(torch.ones(3, device="meta"))
    assert torch.library.get_ctx() is None


def test_opcheck_takes_operators_of_pytorch() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    a = torch.ops.aten
    for op, args in (
        (a.nonzero.default, (x,)),
        (a.mm.default, (x, x.t())),
        (a.add_.Tensor, (torch.ones(2), torch.ones(2))),
    ):
        assert set(opcheck(op, args).values()) == {"SUCCESS"}
    with pytest.raises(RuntimeError, match="can only test operators without overloads"):
        opcheck(a.sin, (x,))


def test_operators_of_pytorch_get_other_kernels() -> None:
    x, w = torch.ones(1, 2), torch.ones(2, 2, requires_grad=True)
    library = torch.library.Library("aten", "IMPL")
    zero = torch.zeros(1)
    library.impl("mm", lambda a, b: torch.ops.aten.addmm(zero, a, b) * 2, "CPU")
    library.impl(torch.ops.aten.sin.default, lambda x: x.cos() + 5, "CPU")
    library.impl("aten::cos", lambda x: x.new_empty(9), "Meta")
    y = x @ w
    y.sum().backward()
    # as in PyTorch: the backward pass too
    assert y.tolist() == [[4, 4]] and w.grad is not None and w.grad.tolist() == [[2, 2], [2, 2]]
    assert torch.nn.functional.linear(x, w.detach()).tolist() == [[4, 4]]
    assert torch.sin(zero).tolist() == [6] == torch.vmap(torch.sin)(zero).tolist() and torch.cos(
        zero.to("meta")
    ).shape == (9,)
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(zero.sin().tolist()))
    thread.start()
    thread.join()
    again = torch.library.Library("aten", "IMPL", "CPU")
    again.impl("sin", lambda x: x + 1)
    assert seen == [[6]] and torch.sin(zero).tolist() == [1]
    del again
    assert torch.sin(zero).tolist() == [6]
    library._destroy()
    assert torch.sin(zero).tolist() == [0] and (x @ w).tolist() == [[2, 2]]
    for name, key in (("linear", "CPU"), ("sin", "AutogradCPU")):
        with pytest.raises(
            NotImplementedError, match=r"of an operator of PyTorch's|written with other operators"
        ):
            torch.library.Library("aten", "IMPL").impl(name, lambda *a: a[0], key)
    with pytest.raises(RuntimeError, match="Could not find schema for aten::nosuch"):
        torch.library.Library("aten", "IMPL").impl("nosuch", lambda x: x, "CPU")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("f(Tensor x -> Tensor", ("expected ) but found 'arrow' here:\nf(Tensor x -> Tensor\n"
         "           ~~ <--- HERE\n")),
        ("f(Tensor x)", "expected arrow but found 'eof' here:\nf(Tensor x)"),
        ("f", "Tried to parse a function schema but only the operator name was given"),
        ("f(Tensor x) -> ", "expected ident but found 'eof' here:\nf(Tensor x) -> "),
        ("f(Tensor) -> Tensor", ("expected ident but found ')' here:\nf(Tensor) -> Tensor\n"
         "        ~ <--- HERE\n")),
        ("f(Tensor x,) -> Tensor", ("expected ident but found ')' here:\nf(Tensor x,) -> Tensor\n"
         "           ~ <--- HERE\n")),
        ("f(Tensor x) -> Tensor y z", ("expected eof but found 'ident' here:\n"
         "f(Tensor x) -> Tensor y z\n                        ~ <--- HERE\n")),
        ("(Tensor x) -> Tensor", ("expected ident but found '(' here:\n(Tensor x) -> Tensor\n"
         "~ <--- HERE\n")),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused_where_it_ends_to_be_one(schema: str, words: str) -> None:
    lib = library.Library("tests_malformed", "FRAGMENT")
    with pytest.raises(RuntimeError) as error:
        lib.define(schema)
    assert str(error.value) == words
    assert not hasattr(torch.ops.tests_malformed, "f")


@pytest.mark.parametrize(
    "schema",
    [
        "a.b(Tensor(a!) x, Tensor[]? y=None, *, int[2] n=[1, -2], float f=1e-5) -> Tensor(a!)",
        "b(Tensor(a|b) x, str s='a, (b', bool[3] m, ScalarType? d=None) -> (Tensor y, Tensor(a) z)",
        "c() -> ()", "d(Tensor(a -> *) x, Dict(str, Tensor) t, float g=inf) -> Tensor(a)[]",
        "e(Tensor x, float a=-1.5, float b=.5, Device d='cpu', int m=Mean)->Tensor",
    ],
)  # fmt: skip
def test_forms_of_schemas(schema: str) -> None:
    from jtorch.library.texts import check_form

    check_form(schema)
    with pytest.raises(RuntimeError, match="expected eof but found"):
        check_form(f"{schema} )")


def test_kernels_for_devices_that_there_are_not() -> None:
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        library.impl("tests_nowhere::f", "somethingsomething")
    library.impl("tests_nowhere::f", ("cpu", "CompositeImplicitAutograd", "default"))


def test_what_stands_for_numbers_in_calls_of_operators() -> None:
    seen: list[tuple[object, ...]] = []
    library = torch.library.Library("numbers_given", "DEF")
    library.define("f(Tensor x, float a=0., int b=0, bool c=False, int[] d=[], int? e=None) -> ()")
    library.impl("f", lambda x, *rest: seen.append(rest), "CompositeExplicitAutograd")
    library.define("h(Tensor x, float a) -> Tensor")
    library.define("h.T(Tensor x, Tensor a) -> Tensor")
    library.impl("h", lambda x, a: x + a, "CompositeExplicitAutograd")
    library.impl("h.T", lambda x, a: x - a, "CompositeExplicitAutograd")
    x, f = torch.zeros(1), torch.ops.numbers_given.f
    f(x, np.float32(0.5), np.int64(2), np.True_, [np.int64(3)], np.int32(4))
    f(x, True, True, 1, [True])
    f(x, torch.tensor(0.5), torch.tensor([2]), torch.tensor(True))
    f(x, np.int64(2), np.float32(1.5))
    assert [(*map(repr, made[:3]), *made[3:]) for made in seen] == [
        ("0.5", "2", "True", [3], 4),
        ("1.0", "1", "True", [1], None),
        ("0.5", "2", "True", [], None),
        ("2.0", "1", "False", [], None),
    ]
    for wrong in (("a",), (1j,), (torch.ones(2),), (0.5, 1.0), (0.5, 1, True, [0.5])):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            f(x, *wrong)
    assert torch.ops.numbers_given.h(x, np.float32(0.5)).tolist() == [0.5]
    assert torch.ops.numbers_given.h(x, torch.tensor(0.5)).tolist() == [-0.5]
