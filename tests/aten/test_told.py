"""What tensors tell of themselves as operators, and wrappers whose class computes it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import jtorch as torch
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.utils._python_dispatch import TorchDispatchMode

A = torch.ops.aten
LOG: list[str] = []


def _type(**policy: Any) -> Any:
    """A class of wrappers that were made with 7 x 7 numbers, and of which each has the size,
    strides ... of what it wraps."""

    class Computed(torch.Tensor):
        elem: torch.Tensor

        @staticmethod
        def __new__(cls, elem: torch.Tensor) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, (7, 7), dtype=elem.dtype, requires_grad=elem.requires_grad, **policy
            )

        def __init__(self, elem: torch.Tensor) -> None:
            self.elem = elem

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            LOG.append(str(func))
            bare = [x.elem if isinstance(x, Computed) else x for x in args]
            found = func(
                *bare,
                **{k: x.elem if isinstance(x, Computed) else x for k, x in (kwargs or {}).items()},
            )
            return Computed(found) if isinstance(found, torch.Tensor) else found

    return Computed


def _asked(f: Any, t: Any) -> tuple[Any, list[str]]:
    LOG.clear()
    found = f(t)
    return found, [name.removesuffix(".default") for name in LOG]


@pytest.mark.parametrize(
    ("f", "with_sizes", "with_strides"),
    [
        (lambda t: t.shape, ((3, 2), ["aten.sym_size"]), ((7, 7), [])),
        (lambda t: t.dim(), (2, ["aten.dim"]), (2, [])),
        (lambda t: t.numel(), (6, ["aten.sym_numel"]), (49, [])),
        (lambda t: t.stride(), ((1, 3), ["aten.sym_stride"]), ((1, 3), ["aten.sym_stride"])),
        (lambda t: t.stride(1), (3, ["aten.sym_stride"]), (3, ["aten.sym_stride"])),
        (lambda t: t.storage_offset(), (0, ["aten.sym_storage_offset"]), (0, [])),
        (
            lambda t: t.is_contiguous(),
            (False, ["aten.is_contiguous"]),
            (False, ["aten.is_contiguous"]),
        ),
        (
            lambda t: t.is_contiguous(memory_format=torch.channels_last),
            (False, ["aten.is_contiguous.memory_format"]),
            (False, ["aten.is_contiguous.memory_format"]),
        ),
        (
            lambda t: (t + 1).elem.shape,
            ((3, 2), ["aten.add.Tensor"]),
            ((3, 2), ["aten.add.Tensor"]),
        ),
        (lambda t: t.device.type, ("cpu", []), ("cpu", [])),
        (lambda t: t.layout, (torch.strided, []), (torch.strided, [])),
    ],
)
def test_sizes_and_strides_are_asked_for(f: Any, with_sizes: Any, with_strides: Any) -> None:
    for policy, expected in (("sizes", with_sizes), ("strides", with_strides)):
        assert (
            _asked(f, _type(dispatch_sizes_strides_policy=policy)(torch.ones(2, 3).t())) == expected
        )


def test_device_and_layout_are_asked_for() -> None:
    class Elsewhere(torch.Tensor):
        @staticmethod
        def __new__(cls) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, (2,), dispatch_device=True, dispatch_layout=True
            )

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return {
                torch.ops.prim.device.default: torch.device("meta"),
                torch.ops.prim.layout.default: torch.sparse_csr,
            }[func]

    t = Elsewhere()
    assert t.device == torch.device("meta") and t.is_meta
    assert t.layout is torch.sparse_csr


def test_gradients_have_the_computed_sizes() -> None:
    t = _type(dispatch_sizes_strides_policy="sizes")(torch.ones(2, 3).requires_grad_())
    (t * 2).sum().backward()
    assert t.grad.elem.tolist() == [[2.0] * 3] * 2


def test_none_stands_for_what_the_tensor_was_made_with() -> None:
    class Silent(torch.Tensor):
        @staticmethod
        def __new__(cls) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, (2, 3), dispatch_sizes_strides_policy="sizes", dispatch_device=True
            )

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return None

    for t in (Silent(), copy.copy(Silent())):
        assert (t.shape, t.stride(), t.dim(), t.numel(), t.is_contiguous(), t.device.type) == (
            (2, 3),
            (3, 1),
            2,
            6,
            True,
            "cpu",
        )


def test_who_does_not_answer_is_named() -> None:
    class Mute(torch.Tensor):
        @staticmethod
        def __new__(cls) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, (2,), dispatch_sizes_strides_policy="sizes"
            )

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.ops.aten.dim'; all"):
        Mute().dim()
    with pytest.raises(
        ValueError, match="Unknown sizes_strides_policy: x; expected 'strides' or 'sizes'"
    ):
        torch.Tensor._make_wrapper_subclass(Mute, (2,), dispatch_sizes_strides_policy="x")
    with pytest.raises(NotImplementedError, match="_make_subclass with computed metadata"):
        torch.Tensor._make_subclass(Mute, torch.ones(2), dispatch_sizes_strides_policy="sizes")


def test_plain_tensors_answer() -> None:
    x = torch.arange(12.0).view(3, 4).t()
    told = (
        A.sym_size.default(x), A.size.int(x, 1), A.dim.default(x), A.numel.default(x),
        A.stride.default(x), A.sym_stride.int(x, 0), A.storage_offset.default(x[1:]),
        A.is_contiguous.default(x), A.is_non_overlapping_and_dense.default(x),
        A.is_non_overlapping_and_dense.default(x[::2]), torch.ops.prim.device.default(x),
    )  # fmt: skip
    assert told == ([4, 3], 3, 2, 12, [1, 4], 1, 1, False, True, False, torch.device("cpu"))
    images = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    like = A.is_strides_like_format.default
    assert [like(images, f) for f in (torch.channels_last, torch.channels_last_3d)] == [True, False]
    assert not like(images.contiguous(), torch.channels_last) and not like(x, torch.channels_last)


def test_handlers_may_be_methods_of_tensors() -> None:
    class Own(torch.Tensor):
        @staticmethod
        def __new__(cls, name: str) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, (2,))

        def __init__(self, name: str) -> None:
            self.own = name

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:  # type: ignore[override]
            return torch.tensor([len(self.own)])

    assert (Own("abc") + 1).tolist() == [3]


def test_storages_of_wrappers_have_no_memory() -> None:
    storage = _type()(torch.ones(2)).untyped_storage()
    assert storage.nbytes() == 7 * 7 * 4
    with pytest.raises(RuntimeError, match="access the data pointer on an invalid python storage"):
        storage.data_ptr()
    for name, args in (("resize_", (0,)), ("fill_", (0,)), ("copy_", (storage,))):
        with pytest.raises(
            RuntimeError, match=rf"Attempted to call {name}\(\) on an invalid python storage"
        ):
            getattr(storage, name)(*args)
    with pytest.raises(RuntimeError, match="its data is not allocated yet"):
        storage.tolist()


def test_modes_of_compilers_can_be_left_out() -> None:
    from jtorch.utils._python_dispatch import is_in_torch_dispatch_mode as inside

    class Ours(TorchDispatchMode):
        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

    with Ours():
        assert inside() and not inside(include_infra_modes=False)
        with TorchDispatchMode():
            assert inside(include_infra_modes=False)


def test_sizes_that_a_class_computes_may_be_symbols() -> None:
    class Sized(torch.Tensor):
        elem: torch.Tensor

        @staticmethod
        def __new__(cls, elem: torch.Tensor) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, (7, 7), dispatch_sizes_strides_policy="sizes"
            )

        def __init__(self, elem: torch.Tensor) -> None:
            self.elem = elem

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            (t, *_) = args
            if func == A.sym_size.default:
                return t.elem.shape
            if func == A.sym_numel.default:
                return t.elem.numel()
            return t.elem.dim() if func == A.dim.default else NotImplemented

    def told(x: torch.Tensor) -> Any:
        w = Sized(x)
        return w.size(), w.size(0) * 2, w.numel()

    graph = make_fx(told, tracing_mode="symbolic")(torch.ones(3, 4))
    assert graph(torch.ones(5, 6)) == ((5, 6), 10, 30)
