"""Names that PyTorch defines in ``torch._C`` and publishes in ``torch``, where this package has
them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Those that nothing else in this folder has.
NAMES = frozenset(
    """
    AcceleratorError AliasDb AnyType ArgumentSpec AwaitType BenchmarkConfig
    BenchmarkExecutionStats BoolType BufferDict CallStack Capsule ClassType Code
    CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder
    DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType EnumType ErrorReport
    Event ExcludeDispatchKeyGuard ExecutionPlan FloatType Future FutureType Generator Gradient
    GraphExecutorState IODescriptor InferredType IntType InterfaceType ListType LiteScriptModule
    LockingLogger ModuleDict NoneType NoopLogger NumberType OperatorInfo OptionalType
    ParameterDict PyObjectType RRefType ScriptClass ScriptClassFunction ScriptDict
    ScriptDictIterator ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator
    ScriptMethod ScriptModule ScriptModuleSerializer ScriptObjectProperty
    SerializationStorageContext Size StaticModule StorageBase Stream StreamObjType StringType
    SymBoolType SymIntType Tag TensorType ThroughputBenchmark TracingState TupleType Type
    UnionType Use autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
    default_generator device dtype finfo fork get_autocast_cpu_dtype get_autocast_dtype
    get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype get_default_dtype
    get_num_interop_threads get_num_threads has_lapack has_mkl has_openmp has_spectral iinfo
    import_ir_module import_ir_module_from_buffer init_num_threads is_anomaly_check_nan_enabled
    is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
    is_autocast_ipu_enabled is_autocast_xla_enabled is_inference_mode_enabled layout
    memory_format merge_type_from_type_comment parse_ir parse_schema parse_type_comment qscheme
    set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
    set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
    set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
    set_autocast_xla_enabled set_flush_denormal set_num_interop_threads set_num_threads
    unify_type_list wait
    """.split()
)


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return getattr(sys.modules[__name__.partition(".")[0]], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def bound(
    home: ModuleType, prefix: str, module: str
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module that has the functions of a public one with
    ``prefix`` before their names."""

    def __getattr__(name: str) -> Any:
        found = getattr(home, name.removeprefix(prefix), None)
        if not name.startswith(prefix) or not callable(found) or isinstance(found, type):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return found

    def __dir__() -> list[str]:
        return [prefix + name for name in home.__all__ if not isinstance(getattr(home, name), type)]

    return __getattr__, __dir__
