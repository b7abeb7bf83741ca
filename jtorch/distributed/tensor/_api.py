"""``DTensor``, a tensor whose parts lie in several processes, and how plain tensors and modules
become distributed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import nn
from jtorch.autograd.grad_mode import MODE

from ..device_mesh import DeviceMesh, current_mesh, known_mesh
from ..objects import all_gather_object

# four of them state their rules
from . import _dispatch, _rules, _rules_math, _rules_nn, _rules_shape, _shortcuts  # noqa: F401
from ._dtensor_spec import DTensorSpec, TensorMeta, one_of
from ._redistribute import Redistribute, redistribute_local_tensor
from ._utils import (
    assert_no_mixed_partial_types,
    compute_global_tensor_info,
    compute_local_shape,
    contiguous_strides,
    normalize_to_torch_size,
)
from .placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _is_shard_like,
    _StridedShard,
    normalized,
)

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named, Values
    from ...autograd.function_node import FunctionCtx


__all__ = [
    "DTensor",
    "distribute_tensor",
    "distribute_module",
    "ones",
    "empty",
    "full",
    "rand",
    "randn",
    "zeros",
]


def _for_gradients(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Where a gradient lies if nobody says it: as its tensor, but whole where that is partial."""
    return tuple([Replicate() if p.is_partial() else p for p in placements])


class _ToLocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: DTensor, grad_placements: Any) -> torch.Tensor:
        ctx.spec, ctx.grad_placements = input._spec, grad_placements
        ctx.set_materialize_grads(False)
        # an object of its own, which history is written on
        return input._local_tensor.view_as(input._local_tensor)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> tuple[DTensor, None] | tuple[None, None]:
        if grad is None:
            return None, None
        spec = ctx.spec
        placements = (
            _for_gradients(spec.placements) if ctx.grad_placements is None else ctx.grad_placements
        )
        _, stride = compute_global_tensor_info(grad, spec.mesh, spec.placements)
        return DTensor.from_local(
            grad, spec.mesh, placements, run_check=False, shape=spec.shape, stride=tuple(stride)
        ), None


class _FromLocal(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        input: torch.Tensor,
        mesh: DeviceMesh,
        placements: Any,
        run_check: bool,
        shape: Iterable[object],
        stride: Any,
        grad_placements: object,
    ) -> DTensor:
        ctx.placements, ctx.mesh, ctx.grad_placements = placements, mesh, grad_placements
        ctx.set_materialize_grads(False)
        requires_grad, told = input.requires_grad, shape is not None
        if shape is not None and stride is not None:
            shape, stride = torch.Size(shape), tuple(stride)
        elif shape is None and stride is None:
            sizes, steps = compute_global_tensor_info(input, mesh, placements)
            shape, stride = torch.Size(sizes), tuple(steps)
        else:
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}.",
                "Please pass both shape and stride at the same time.",
            )
        if mesh.get_coordinate() is None:
            input = input.new_empty(0)
        elif run_check:
            _check_alike(input, not told)
            for i, p in enumerate(placements):
                if p.is_replicate():
                    input = _from_first(input.detach(), mesh, i, 0)
        spec = DTensorSpec(mesh, placements, TensorMeta(shape, stride, input.dtype))
        return DTensor(input.view_as(input), spec, requires_grad=requires_grad)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: DTensor) -> Any:
        none = (None,) * 6
        if grad is None:
            return None, *none
        placements = (
            _for_gradients(ctx.placements) if ctx.grad_placements is None else ctx.grad_placements
        )
        if grad.placements != placements:
            if torch.is_grad_enabled():
                grad = grad.redistribute(ctx.mesh, placements)
            else:
                target = DTensorSpec(ctx.mesh, placements, grad._spec.tensor_meta)
                return redistribute_local_tensor(grad._local_tensor, grad._spec, target), *none
        return grad.to_local(), *none


def _check_alike(tensor: torch.Tensor, shapes: bool) -> None:
    """Refuses tensors that differ between processes in more than their elements."""
    mine: dict[str, Any] = {"dtype": tensor.dtype, "requires_grad": tensor.requires_grad}
    if shapes:
        mine.update(shape=tuple(tensor.shape), stride=tuple(tensor.stride()))
    every = [None] * torch.distributed.get_world_size()
    all_gather_object(every, mine)
    if any(other != mine for other in every):
        raise ValueError("Inconsistent tensor metadata (including shape and stride) across ranks.")


def _from_first(
    tensor: torch.Tensor, mesh: DeviceMesh, mesh_dim: int, source: int | None
) -> torch.Tensor:
    """The tensor of the process that is number ``source`` along a dimension of the mesh."""
    if source is None or mesh.size(mesh_dim) == 1:
        return tensor
    made = tensor.contiguous().clone()
    torch.distributed.broadcast(made, group=mesh.get_group(mesh_dim), group_src=source)
    return made


class DTensor(torch.Tensor):
    """A tensor that lies on a mesh of processes, each of which holds its part (``_local_tensor``).

    It has shape, strides and dtype of the whole, and functions of the whole are called on it: each
    process computes with its part, and what must be exchanged is. Make one with
    ``DTensor.from_local``, ``distribute_tensor`` or a factory of ``torch.distributed.tensor``.

    Attributes:
        device_mesh: the mesh.
        placements: how it lies along each dimension of the mesh: ``Shard(dim)``, ``Replicate()`` or
            ``Partial(reduce_op)``.
    """

    _local_tensor: torch.Tensor
    _spec: DTensorSpec
    #: For a view that was taken of gathered parts, the tensor it belongs to, and how it was taken.
    _behind: object
    _op_dispatcher = _dispatch.DISPATCHER

    def __new__(
        cls, local_tensor: torch.Tensor, spec: DTensorSpec, *, requires_grad: bool
    ) -> DTensor:
        """A tensor of the parts ``local_tensor``; ``spec.tensor_meta`` tells the whole. Without
        history."""
        meta = spec._meta()
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            meta.shape,
            strides=meta.stride,
            dtype=local_tensor.dtype,
            device=local_tensor.device,
            requires_grad=requires_grad,
        )
        made._local_tensor, made._spec = local_tensor, one_of(spec)
        # a view of an ordinary tensor is one as well
        if MODE.inference and not local_tensor._inference:
            made._al.counter.n = 0
        return made

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
            f"placements={self._spec.placements})"
        )

    def __tensor_flatten__(self) -> Any:
        """The tensors inside, and what else makes this one."""
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: Any, flatten_spec: Any, outer_size: Any, outer_stride: Any
    ) -> DTensor:
        """The tensor of what ``__tensor_flatten__`` gave."""
        local = inner_tensors["_local_tensor"]
        spec, requires_grad = flatten_spec
        meta = TensorMeta(torch.Size(outer_size), tuple(outer_stride), spec._meta().dtype)
        return DTensor(
            local, DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=requires_grad
        )

    def __coerce_tangent_metadata__(self) -> DTensor:
        if not any(p.is_partial() for p in self.placements):
            return self
        return self.redistribute(
            device_mesh=self.device_mesh, placements=_for_gradients(self.placements)
        )

    def __coerce_same_metadata_as_tangent__(
        self, flatten_spec: Any, expected_type: Any = None
    ) -> Any:
        if expected_type is not None:
            return None
        return self.redistribute(
            device_mesh=self.device_mesh, placements=flatten_spec[0].placements
        )

    def __reduce_ex__(self, proto: Any) -> Any:
        placements = tuple([(type(p).__name__, tuple(vars(p).values())) for p in self.placements])
        mesh, meta = self.device_mesh, self._spec._meta()
        grid = (mesh.device_type, mesh.mesh.tolist(), mesh.mesh_dim_names)
        parameter = bool(getattr(self, "_is_param", False))
        return _rebuilt, (
            self._local_tensor.detach(),
            grid,
            placements,
            tuple(meta.shape),
            tuple(meta.stride),
            self.requires_grad,
            parameter,
        )

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._op_dispatcher.dispatch(func, args, kwargs or {})

    @staticmethod
    def from_local(
        local_tensor: torch.Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: torch.Size | None = None,
        stride: tuple[int, ...] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """The tensor whose part in this process is ``local_tensor``. Differentiable.

        Args:
            device_mesh: the mesh; by default the one whose block was entered.
            placements: one for each dimension of the mesh; by default all ``Replicate``.
            run_check: compares dtypes and shapes among the processes, and takes what is replicated
                from the first.
            shape: the shape of the whole, if the parts are not all of one size; with ``stride``.
            grad_placements: the placements of the gradient in the backward pass.

        Raises:
            RuntimeError: for a DTensor, or one of ``shape`` and ``stride`` without the other.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(
                f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} "
                "value."
            )
        mesh = device_mesh or current_mesh()
        if mesh.device_type != local_tensor.device.type and not local_tensor.is_meta:
            local_tensor = local_tensor.to(mesh.device_type)
        given = normalized(placements or [Replicate()] * mesh.ndim, local_tensor.ndim)
        assert_no_mixed_partial_types(given)
        grads = None if grad_placements is None else tuple(grad_placements)
        return _FromLocal.apply(local_tensor, mesh, given, run_check, shape, stride, grads)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> torch.Tensor:
        """This process's part. Differentiable: ``grad_placements`` says how the gradients of the
        parts make that of the whole."""
        if torch.is_grad_enabled():
            local = _ToLocal.apply(
                self, None if grad_placements is None else tuple(grad_placements)
            )
        else:
            local = self._local_tensor
        if getattr(self, "_is_param", False) and not getattr(local, "_is_param", False):
            local = local.view_as(local) if local is self._local_tensor else local
            local._is_param = True
        return local

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: torch.dtype | None = None,
        backward_dtype: torch.dtype | None = None,
    ) -> DTensor:
        """The same tensor under other placements. Differentiable.

        Args:
            forward_dtype: the dtype of the result, in which the processes exchange.
            backward_dtype: the dtype in which they exchange gradients.

        Raises:
            RuntimeError: without placements, or if ``Partial`` is asked for.
            NotImplementedError: for another mesh.
        """
        del async_op  # collectives are done when they return
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        for now, p in zip(
            self.placements, placements, strict=device_mesh in (None, self.device_mesh)
        ):
            if p.is_partial() and now != p:
                raise RuntimeError(
                    f"Can not redistribute from {now} to {p}, redistributing to Partial is for "
                    "internal use only!"
                )
        goal = normalized(placements, self.ndim)
        dtype = self._local_tensor.dtype
        forward = forward_dtype or dtype
        return Redistribute.apply(
            self, device_mesh or self.device_mesh, goal, forward, forward, backward_dtype or dtype
        )

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> torch.Tensor:
        """The whole, as a plain tensor in every process. Differentiable: ``grad_placements`` as for
        ``to_local``."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return _ToLocal.apply(whole, None if grad_placements is None else tuple(grad_placements))

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh of processes."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def _parts_for_updates(
        params: list[object], grads: Values, *buffers: list[object]
    ) -> tuple[list[object], ...] | None:
        """Each process's parts of parameters, gradients and buffers; None if some do not lie as
        their parameter, or it is in summands.

        Gradients are brought to where their parameters lie.
        """
        found: list[list[Any]] = [[], [], *[[] for _ in buffers]]
        for i, p in enumerate(params):
            row = [b[i] for b in buffers]
            if not isinstance(p, DTensor):
                if any(isinstance(t, DTensor) for t in (grads[i], *row)):
                    return None
            elif (
                p.device_mesh.get_coordinate() is None
                or any(q.is_partial() for q in p.placements)
                or not isinstance(grads[i], DTensor)
                or grads[i].device_mesh != p.device_mesh
                or any(
                    t is not None and (not isinstance(t, DTensor) or t._spec != p._spec)
                    for t in row
                )
            ):
                return None
            for kept, t in zip(found, (p, grads[i], *row), strict=True):
                kept.append(t)
        with torch.no_grad():
            for i, (p, g) in enumerate(zip(*found[:2], strict=True)):
                if isinstance(p, DTensor) and g.placements != p.placements:
                    target = DTensorSpec(p.device_mesh, p.placements, g._spec.tensor_meta)
                    found[1][i] = redistribute_local_tensor(g._local_tensor, g._spec, target)
        return tuple(
            [[t._local_tensor if isinstance(t, DTensor) else t for t in ts] for ts in found]
        )

    def _raise_if_contains_partial_placements(self) -> None:
        if any(p.is_partial() for p in self.placements):
            raise ValueError(
                "Any checkpointing related operations are not supported for DTensor with partial "
                "placements!"
            )


_dispatch.DISPATCHER.cls = DTensor
_shortcuts.install(DTensor)
_KINDS = {
    "Shard": Shard,
    "Replicate": Replicate,
    "Partial": Partial,
    "_StridedShard": lambda d, f: _StridedShard(d, split_factor=f),
}


def _rebuilt(
    local: torch.Tensor,
    grid: Any,
    placements: Any,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    parameter: bool,
) -> DTensor:
    """Makes a DTensor again when one is unpickled, on a mesh that is there, or on one that all
    processes make then."""
    mesh = known_mesh(*grid)
    kinds: Named = _KINDS
    goal = tuple([kinds[name](*values) for name, values in placements])
    meta = TensorMeta(torch.Size(shape), tuple(stride), local.dtype)
    made = DTensor(local, DTensorSpec(mesh, goal, meta), requires_grad=requires_grad)
    return nn.Parameter(made, requires_grad) if parameter else made  # type: ignore[return-value]


torch.serialization.add_safe_globals([_rebuilt])


def distribute_tensor(
    tensor: torch.Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Spreads a leaf over a mesh.

    Args:
        tensor: the whole. All processes give one of the same shape; the elements are those of the
            first along each dimension of the mesh.
        placements: one for each dimension of the mesh; by default all ``Replicate``.
        src_data_rank: whose elements count; None for each process's own.

    Raises:
        RuntimeError: for a tensor with history, and for what is no placement.
        AssertionError: for a dimension that the tensor has not.
        ValueError: if the number of placements is wrong, or for a DTensor with others.
    """
    mesh = device_mesh or current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor!"
        )
    if mesh.device_type != tensor.device.type and not tensor.is_meta:
        tensor = tensor.to(mesh.device_type)
    given: list[Any] = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(given) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(given)}, and device_mesh.ndim: {mesh.ndim}."
        )
    for i, p in enumerate(given):
        if not (_is_shard_like(p) or isinstance(p, (Replicate, Partial))):
            raise RuntimeError(
                f"Trying to distribute tensor with unsupported placements {p} on device mesh "
                f"dimension {i}!"
            )
        if _is_shard_like(p) and p.dim >= tensor.ndim:
            raise AssertionError(f"Sharding dim {p.dim} greater than tensor ndim {tensor.ndim}")
    assert_no_mixed_partial_types(given)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different "
                f"device mesh {mesh}."
            )
        if tensor.placements != tuple(given):
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
                f"placements {given}. do you want to call `redistribute` instead?"
            )
        return tensor
    goal = normalized(given, tensor.ndim)
    local = tensor.detach()
    if mesh.get_coordinate() is None:
        local = local.new_empty(0)
    elif not local.is_meta:
        for i in range(mesh.ndim):
            local = _from_first(local, mesh, i, src_data_rank)
    meta = TensorMeta(tensor.size(), tuple(tensor.stride()), tensor.dtype)
    if any(not p.is_replicate() for p in goal):
        whole = DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta)
        local = redistribute_local_tensor(local, whole, DTensorSpec(mesh, goal, meta))
    local = local.detach().requires_grad_(tensor.requires_grad)
    return DTensor(local, DTensorSpec(mesh, goal, meta), requires_grad=tensor.requires_grad)


def distribute_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, nn.Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[nn.Module, Any, DeviceMesh], None] | None = None,
    output_fn: Callable[[nn.Module, Any, DeviceMesh], None] | None = None,
) -> nn.Module:
    """Makes the parameters and buffers of a module distributed tensors.

    Args:
        partition_fn: called with the name of each submodule, the submodule and the mesh, to
            distribute its parameters. What it leaves is replicated.
        input_fn: called with the module, its inputs and the mesh before ``forward``.
        output_fn: called with the module, its outputs and the mesh after it.

    Raises:
        RuntimeError: if the module has been distributed before.
    """
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been "
            "called on this module!"
        )
    mesh = device_mesh or current_mesh()
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, p in list(part._parameters.items()):
            if p is not None and not isinstance(p, DTensor):
                part.register_parameter(
                    key,
                    nn.Parameter(distribute_tensor(p.data, mesh), requires_grad=p.requires_grad),
                )
        for key, b in list(part._buffers.items()):
            if b is not None and not isinstance(b, DTensor):
                part._buffers[key] = distribute_tensor(b, mesh)
    if input_fn is not None:
        _takes_three("input_fn", input_fn)
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        _takes_three("output_fn", output_fn)
        module.register_forward_hook(lambda m, _, outputs: output_fn(m, outputs, mesh))
    module._distribute_module_applied = True
    return module


def _takes_three(name: str, f: Any) -> None:
    count = len(inspect.signature(f).parameters)
    if count != 3:
        raise ValueError(f"{name} should take in 3 arguments, but got {count} arguments!")


# ---- factories -----------------------------------------------------------------------------------


def _made(
    make: Callable[..., torch.Tensor],
    size: object,
    device_mesh: DeviceMesh | None,
    placements: Any,
    layout: object,
    requires_grad: bool,
    **options: object,
) -> DTensor:
    mesh = device_mesh or current_mesh()
    shape = normalize_to_torch_size(size)
    given = tuple(placements or [Replicate()] * mesh.ndim)
    if mesh.ndim != len(given):
        raise AssertionError("mesh dimension does not match the length of placements")
    if layout is not torch.strided:
        raise AssertionError("layout value not supported!")
    goal = normalized(given, len(shape))
    local = make(compute_local_shape(shape, mesh, goal), device=mesh.device_type, **options)
    meta = TensorMeta(shape, contiguous_strides(shape), local.dtype)
    return DTensor(
        local.requires_grad_(requires_grad),
        DTensorSpec(mesh, goal, meta),
        requires_grad=requires_grad,
    )


def zeros(
    *size: Any,
    requires_grad: bool = False,
    dtype: object = None,
    layout: object = torch.strided,
    device_mesh: DeviceMesh | None = None,
    placements: object = None,
) -> DTensor:
    """A distributed tensor of zeros."""
    return _made(torch.zeros, size, device_mesh, placements, layout, requires_grad, dtype=dtype)


def ones(
    *size: Any,
    dtype: object = None,
    layout: object = torch.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: object = None,
) -> DTensor:
    """A distributed tensor of ones."""
    return _made(torch.ones, size, device_mesh, placements, layout, requires_grad, dtype=dtype)


def empty(
    *size: Any,
    dtype: object = None,
    layout: object = torch.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: object = None,
) -> DTensor:
    """A distributed tensor whose elements are not set."""
    return _made(torch.empty, size, device_mesh, placements, layout, requires_grad, dtype=dtype)


def full(
    size: object,
    fill_value: object,
    *,
    dtype: object = None,
    layout: object = torch.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: object = None,
) -> DTensor:
    """A distributed tensor of one number."""
    return _made(
        torch.full,
        size,
        device_mesh,
        placements,
        layout,
        requires_grad,
        fill_value=fill_value,
        dtype=dtype,
    )


def rand(
    *size: Any,
    requires_grad: bool = False,
    dtype: object = None,
    layout: object = torch.strided,
    device_mesh: DeviceMesh | None = None,
    placements: object = None,
) -> DTensor:
    """A distributed tensor of random numbers from 0 to 1. Each process draws its part from its own
    generator."""
    return _made(torch.rand, size, device_mesh, placements, layout, requires_grad, dtype=dtype)


def randn(
    *size: Any,
    requires_grad: bool = False,
    dtype: object = None,
    layout: object = torch.strided,
    device_mesh: DeviceMesh | None = None,
    placements: object = None,
) -> DTensor:
    """A distributed tensor of normally distributed random numbers. Each process draws its part from
    its own generator."""
    return _made(torch.randn, size, device_mesh, placements, layout, requires_grad, dtype=dtype)
