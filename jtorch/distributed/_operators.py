"""PyTorch's operators of collectives: ``torch.ops.c10d_functional``, ``_c10d_functional`` and the
names of ``c10d``.

A group is given by its name, and collectives are done when their operator returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from . import _done_collectives as funcol
from . import _functional_collectives as handles
from .group import _resolve_process_group

if TYPE_CHECKING:
    from .._src.engine.sized import Sized


_SCHEMAS = {
    "all_reduce": "(Tensor input, str reduce_op, str group_name) -> Tensor",
    "all_reduce_coalesced": "(Tensor[] inputs, str reduce_op, str group_name) -> Tensor[]",
    "all_gather_into_tensor": "(Tensor input, int group_size, str group_name) -> Tensor",
    "all_gather_into_tensor_coalesced": (
        "(Tensor[] inputs, int group_size, str group_name) -> Tensor[]"
    ),
    "reduce_scatter_tensor": (
        "(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor"
    ),
    "reduce_scatter_tensor_coalesced": (
        "(Tensor[] inputs, str reduce_op, int group_size, str group_name) -> Tensor[]"
    ),
    "all_to_all_single": (
        "(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, str "
        "group_name) -> Tensor"
    ),
    "broadcast": "(Tensor input, int src, str group_name) -> Tensor",
    "wait_tensor": "(Tensor tensor) -> Tensor",
}
#: Those that write, of ``_c10d_functional`` alone.
_WRITING = {
    "all_reduce_": "(Tensor(a!) input, str reduce_op, str group_name) -> Tensor(a!)",
    "all_reduce_coalesced_": "(Tensor(a!)[] inputs, str reduce_op, str group_name) -> Tensor(a!)[]",
    "broadcast_": "(Tensor(a!) input, int src, str group_name) -> Tensor(a!)",
    "all_gather_into_tensor_out": (
        "(Tensor input, int group_size, str group_name, *, Tensor(a!) out) -> Tensor(a!)"
    ),
    "reduce_scatter_tensor_out": (
        "(Tensor input, str reduce_op, int group_size, str group_name, *, Tensor(a!) out) -> "
        "Tensor(a!)"
    ),
}
#: Those of ``_c10d_functional_autograd``, which gradients go through.
_DERIVED = ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")
#: Operators that PyTorch's own functions call on lists of tensors; here they have a name, by which
#: they are counted.
_NAMED = (
    "allreduce_", "allreduce_coalesced_", "reduce_", "broadcast_", "allgather_", "_allgather_base_",
    "allgather_coalesced_", "gather_", "scatter_", "reduce_scatter_", "_reduce_scatter_base_",
    "alltoall_", "alltoall_base_",
)  # fmt: skip


def _group(name: str) -> Any:
    return _resolve_process_group(name)


def all_reduce(input: torch.Tensor, reduce_op: str, group_name: str) -> torch.Tensor:
    return funcol.all_reduce(input, reduce_op, _group(group_name))


def all_reduce_coalesced(inputs: object, reduce_op: str, group_name: str) -> Any:
    return funcol.all_reduce_coalesced(inputs, reduce_op, _group(group_name))


def all_gather_into_tensor(input: torch.Tensor, group_size: int, group_name: str) -> torch.Tensor:
    del group_size
    return funcol.all_gather_tensor(input, 0, _group(group_name))


def all_gather_into_tensor_coalesced(inputs: object, group_size: int, group_name: str) -> Any:
    del group_size
    return funcol.all_gather_into_tensor_coalesced(inputs, _group(group_name))


def reduce_scatter_tensor(
    input: torch.Tensor, reduce_op: str, group_size: int, group_name: str
) -> torch.Tensor:
    del group_size
    return funcol.reduce_scatter_tensor(input, reduce_op, 0, _group(group_name))


def reduce_scatter_tensor_coalesced(
    inputs: Sized, reduce_op: str, group_size: int, group_name: str
) -> Any:
    del group_size
    return funcol.reduce_scatter_tensor_coalesced(
        inputs, reduce_op, [0] * len(inputs), _group(group_name)
    )


def all_to_all_single(
    input: torch.Tensor, output_split_sizes: object, input_split_sizes: object, group_name: str
) -> torch.Tensor:
    return funcol.all_to_all_single(
        input, output_split_sizes, input_split_sizes, _group(group_name)
    )


def broadcast(input: torch.Tensor, src: int, group_name: str) -> torch.Tensor:
    return funcol.broadcast(input, src, _group(group_name))


def all_reduce_(input: torch.Tensor, reduce_op: str, group_name: str) -> object:
    return funcol.into(input, all_reduce(input, reduce_op, group_name))


def all_reduce_coalesced_(inputs: Any, reduce_op: str, group_name: str) -> object:
    return [all_reduce_(t, reduce_op, group_name) for t in inputs]


def broadcast_(input: torch.Tensor, src: int, group_name: str) -> object:
    return funcol.into(input, broadcast(input, src, group_name))


def all_gather_into_tensor_out(
    input: torch.Tensor, group_size: int, group_name: str, *, out: torch.Tensor
) -> object:
    return funcol.into(out, all_gather_into_tensor(input, group_size, group_name))


def reduce_scatter_tensor_out(
    input: torch.Tensor, reduce_op: str, group_size: int, group_name: str, *, out: torch.Tensor
) -> object:
    return funcol.into(out, reduce_scatter_tensor(input, reduce_op, group_size, group_name))


def wait_tensor(tensor: torch.Tensor) -> object:
    return handles.wait_tensor(tensor)


# Gradients: what goes back through each, from the operator's arguments and the gradient of what it
# gave.


def _summed(name: str, backward: Callable[..., object]) -> object:
    def checked(given: Any, grad: object) -> Any:
        funcol._only_sums(name, given[1])
        return backward(given, grad)

    return checked


def _each(backward: Callable[..., object]) -> Any:
    return lambda given, grads: [backward(given, grad) for grad in grads]


def _scattered(given: Any, grad: Any) -> object:
    return reduce_scatter_tensor(grad, "sum", given[1], given[-1])


def _gathered(given: Any, grad: torch.Tensor) -> torch.Tensor:
    return all_gather_into_tensor(grad, given[2], given[-1])


def _reduced(given: Any, grad: torch.Tensor) -> torch.Tensor:
    return all_reduce(grad, "sum", given[-1])


_BACKWARD = {
    "all_reduce": _summed("all_reduce", _reduced),
    "all_reduce_coalesced": _summed("all_reduce_coalesced", _each(_reduced)),
    "all_gather_into_tensor": _scattered,
    "all_gather_into_tensor_coalesced": _each(_scattered),
    "reduce_scatter_tensor": _summed("reduce_scatter_tensor", _gathered),
    "reduce_scatter_tensor_coalesced": _summed("reduce_scatter_tensor_coalesced", _each(_gathered)),
    "all_to_all_single": lambda given, grad: all_to_all_single(grad, given[2], given[1], given[-1]),
    "broadcast": lambda _, grad: grad,
}


def _derive(name: str, library: Any) -> None:
    backward = _BACKWARD[name]

    def keep(ctx: Any, inputs: Any, output: object) -> None:
        del output
        ctx.given = (None, *inputs[1:])  # not the tensors

    def back(ctx: Any, grad: object) -> Any:
        return backward(ctx.given, grad), *[None] * (len(ctx.given) - 1)

    torch.library.register_autograd(
        f"_c10d_functional::{name}", back, setup_context=keep, lib=library
    )


def _wrap_tensor_autograd(input: torch.Tensor) -> object:
    return input.clone()  # what PyTorch wraps until it is waited for is there at once


def _refused(name: str) -> Any:
    def body(*args: object, **kwargs: object) -> Any:
        raise NotImplementedError(
            f"torch.ops.c10d.{name} is not offered by jtorch: call the function of "
            "torch.distributed"
        )

    return body


def _define() -> None:
    for namespace in ("c10d_functional", "_c10d_functional"):
        library = torch.library.Library(namespace, "FRAGMENT")
        _KEPT.append(library)
        for name, signature in _SCHEMAS.items():
            library.define(f"{name}{signature}")
            # what it is given is what it gives, which only a composition may do
            library.impl(
                name,
                globals()[name],
                "CompositeImplicitAutograd"
                if name == "wait_tensor"
                else "CompositeExplicitAutograd",
            )
    for name in _BACKWARD:
        _derive(name, library)
    for name, signature in _WRITING.items():
        library.define(f"{name}{signature}")
        library.impl(name, globals()[name], "CompositeExplicitAutograd")
    library.define("_wrap_tensor_autograd(Tensor input) -> Tensor")
    library.impl("_wrap_tensor_autograd", _wrap_tensor_autograd, "CompositeImplicitAutograd")
    library = torch.library.Library("_c10d_functional_autograd", "FRAGMENT")
    _KEPT.append(library)
    for name in _DERIVED:
        library.define(f"{name}{_SCHEMAS[name]}")
        library.impl(name, globals()[name], "CompositeImplicitAutograd")
    library = torch.library.Library("c10d", "FRAGMENT")
    _KEPT.append(library)
    for name in _NAMED:
        library.define(f"{name}(Tensor[] tensors) -> Tensor[]")
        library.impl(name, _refused(name), "CompositeExplicitAutograd")


_KEPT: list[object] = []
_define()
