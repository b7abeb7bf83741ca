"""Fills the hooks of lower floors (``hooks.py``). Each part is imported when it is first asked for;
no other module imports upward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ...autograd import engine as autograd_engine
from ...autograd.accumulate import end_of
from .. import hooks
from ..engine.record import gathered, read
from ..protocol import overridable
from ..tensor import untyped_storage as storages
from ..tensor import view_steps as steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ...core import Tensor
    from ..facts.kinds import Function


# What is loaded anyway.
hooks.overridable.fill(lambda: overridable)
hooks.end_of.fill(lambda: end_of)
hooks.call_of_node.fill(lambda: autograd_engine.call_of_node)
hooks.internals.fill(lambda: _C)
hooks.memory_steps.fill(lambda: steps.memory_steps)
hooks.retain.fill(lambda: autograd_engine.retain)
hooks.read.fill(lambda: read)
hooks.gathered.fill(lambda: gathered)


# ---- calls and their errors ----------------------------------------------------------------------


def _argument_errors() -> ModuleType:
    from ..bind import argument_errors

    return argument_errors


hooks.judged.fill(lambda: _argument_errors().judged)
hooks.refused.fill(lambda: _argument_errors().refused)
hooks.explain.fill(lambda: _argument_errors().explain)


@hooks.rearranged.fill
def _rearranged() -> object:
    from ..bind.deprecated_overloads import rearranged

    return rearranged


@hooks.schemas.fill
def _schemas() -> object:
    from ..aten import schema

    return schema


@hooks.late_operators.fill
def _late_operators() -> Callable[[str], None]:
    def enter(namespace: str) -> None:
        if namespace in ("c10d", "c10d_functional", "_c10d_functional"):
            from ...distributed import _operators as _operators
        elif namespace == "prim":
            hooks.operator_kernels.get()
        elif namespace == "quantized":
            hooks.quantised.get()
        elif namespace == "profiler":
            from ...library import _profiler_operators as _profiler_operators

    return enter


# ---- gradients -----------------------------------------------------------------------------------


@hooks.walking.fill
def _walking() -> ModuleType:
    from ..aten import walking

    return walking


def _func() -> ModuleType:
    from ... import func

    return func


hooks.vmap.fill(lambda: _func().vmap)
hooks.writer.fill(lambda: _func().capturing.writer)
hooks.shared_by_examples.fill(lambda: _func().capturing.shared_by_examples)


@hooks.function_class.fill
def _function_class() -> type:
    from ...autograd.function import Function

    return Function


@hooks.set_apart.fill
def _set_apart() -> Callable[..., object]:
    from ...autograd.pairs import set_apart

    return set_apart


@hooks.own_rule.fill
def _own_rule() -> Callable[..., object]:
    from ...func.levels import own_rule

    return own_rule


@hooks.refuse_gradients.fill
def _refuse_gradients() -> object:
    from ...autograd.refusing import refuse_gradients

    return refuse_gradients


@hooks.removable_handle.fill
def _removable_handle() -> object:
    from ...utils.hooks import RemovableHandle

    return RemovableHandle


@hooks.saved.fill
def _saved() -> object:
    from ...autograd import saved

    return saved


@hooks.profiler_modes.fill
def _profiler_modes() -> object:
    from ...autograd import _profiler_modes as modes

    return modes


# ---- memory and files ----------------------------------------------------------------------------


@hooks.storage_class.fill
def _storage_class() -> object:
    from ..tensor import legacy_storage as legacy_storages
    from ..tensor import typed_storage as typed_storages

    def find(name: str) -> dict[str, type] | type:
        if name == "UntypedStorage":
            return storages.UntypedStorage
        return (
            typed_storages.TypedStorage
            if name == "TypedStorage"
            else getattr(legacy_storages, name)
        )

    return find


@hooks.serialization.fill
def _serialization() -> object:
    from ... import serialization

    return serialization


@hooks.rebuilding.fill
def _rebuilding() -> object:
    from ... import _utils

    return _utils


def _wrapping() -> ModuleType:
    from ..aten import wrapping

    return wrapping


hooks.copied_wrapper.fill(lambda: _wrapping().copied)
hooks.make_wrapper_subclass.fill(lambda: _wrapping().make_wrapper_subclass)


# ---- other layouts -------------------------------------------------------------------------------


@hooks.sparse.fill
def _sparse() -> object:
    from ... import sparse
    from . import sparse_parts  # noqa: F401  (they are read as the package's)

    return sparse


@hooks.empty_in_layout.fill
def _empty_in_layout() -> object:
    return hooks.sparse.get()._from_parts.empty


@hooks.sparse_gradients.fill
def _sparse_gradients() -> object:
    from ...sparse import _gradients

    return _gradients


def _opaque() -> ModuleType:
    from ..tensor import opaque

    return opaque


hooks.opaque_zeros.fill(lambda: _opaque().zeros)
hooks.to_mkldnn.fill(lambda: _opaque().to_mkldnn)


@hooks.quantised.fill
def _quantised() -> ModuleType:
    from .. import quantised

    return quantised


# ---- operators -----------------------------------------------------------------------------------


@hooks.lowering.fill
def _lowering() -> object:
    from ..aten import lowering

    return lowering


@hooks.operator_kernels.fill
def _operator_kernels() -> tuple[object, ...]:
    from . import operator_kernels

    return operator_kernels.LOADED


@hooks.functional_tracing.fill
def _functional_tracing() -> object:
    from ...fx.experimental._functional import functional

    return functional


@hooks.operator_derivatives.fill
def _operator_derivatives() -> object:
    from ..aten import formulas

    return formulas


@hooks.operator_routes.fill
def _operator_routes() -> tuple[object, ...]:
    from . import operator_routes

    return operator_routes.LOADED


@hooks.operator_recording.fill
def _operator_recording() -> object:
    from ..aten import recording

    return recording


@hooks.operator_calls.fill
def _operator_calls() -> object:
    from ..aten import calling

    return calling


@hooks.seen_making.fill
def _seen_making() -> Callable[..., Tensor]:
    from ..aten.routes_factories import seen_making

    return seen_making


@hooks.operator_tags.fill
def _operator_tags() -> Callable[..., object]:
    from ..aten.tags import tags_of

    return tags_of


# ---- modules, switches, devices ------------------------------------------------------------------


@hooks.nn.fill
def _nn() -> object:
    from ... import nn

    return nn


@hooks.functional_call.fill
def _functional_call() -> Callable[..., object]:
    from ...nn.utils import stateless

    return stateless._functional_call


@hooks.autocast.fill
def _autocast() -> object:
    from ...amp import autocast_mode

    return autocast_mode


@hooks.dynamo.fill
def _dynamo() -> object:
    from ... import _dynamo
    from ..._dynamo import pieces  # noqa: F401  (read as the package's)

    return _dynamo


@hooks.captured.fill
def _captured() -> Function:
    from ..._higher_order_ops.capturing import captured

    return captured


@hooks.backends.fill
def _backends() -> object:
    from ... import backends

    return backends


@hooks.stream_class.fill
def _stream_class() -> object:
    from ..borders.streams import Stream

    return Stream


@hooks.local_parameters.fill
def _local_parameters() -> object:
    from ...distributed.tensor.parallel.ddp import _pre_dp_module_transform

    return _pre_dp_module_transform


@hooks.same_parameters.fill
def _same_parameters() -> object:
    from ...distributed.utils import _verify_param_shape_across_processes

    return _verify_param_shape_across_processes
