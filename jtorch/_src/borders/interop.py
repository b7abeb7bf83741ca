"""Borders with JAX, DLPack and Python: functions of ``torch`` that are no ops and that only modes
may see."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ...core import Tensor, detached, lazy_bits, requiring, share_host, wrap
from ...dispatch import DisableTorchFunction as DisableTorchFunction
from ...dispatch import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ...dispatch import name_of
from ..bind.arguments import number
from ..bind.everything import PUBLIC
from ..bind.factories import check_dtype, check_options
from ..engine import default_device, flush
from ..facts import devices, dtypes
from ..facts.devices import device as device_class
from ..facts.devices import of_placement
from ..facts.errors import must_be_tensor, type_name
from ..facts.layouts import layout, memory_format
from ..facts.size import Size
from ..facts.warned_once import outside, warn_once
from ..protocol.overridable import TensorProperty, torch_function_dispatch
from ..tensor.methods import spread

if TYPE_CHECKING:
    from ..facts.kinds import Row


__all__ = [
    "compiled_with_cxx11_abi", "from_dlpack", "from_jax", "shard", "is_storage", "is_tensor",
    "result_type", "can_cast", "promote_types", "synchronize", "to_dlpack",
    "get_float32_matmul_precision", "set_float32_matmul_precision", "typename",
    "set_flush_denormal", "get_device_module", "set_default_tensor_type", "is_anomaly_enabled",
    "is_anomaly_check_nan_enabled", "set_anomaly_enabled", "has_lapack", "has_mkl", "has_openmp",
    "has_spectral", "from_file", "AcceleratorError", "DisableTorchFunction",
    "DisableTorchFunctionSubclass", "detach_", "fill_", "index_put_",
]  # fmt: skip


class AcceleratorError(RuntimeError):
    """An error that an accelerator reports."""

    __module__ = "jtorch"


def detach_(input: Tensor) -> Tensor:
    """Takes the tensor out of the graph, in place: ``input.detach_()``.

    Example:
        >>> import jtorch as torch
        >>> x = torch.ones(2, requires_grad=True) * 2
        >>> torch.detach_(x).requires_grad
        False
    """
    return input.detach_()


def fill_(input: Tensor, value: object) -> Tensor:
    """Writes ``value``, a number or 0-dim tensor, into every element: ``input.fill_(value)``.

    Example:
        >>> import jtorch as torch
        >>> torch.fill_(torch.zeros(2), 3)
        tensor([3., 3.])
    """
    return input.fill_(value)


def index_put_(input: Tensor, indices: object, values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes ``values`` at positions, in place: ``input.index_put_(indices, values, accumulate)``.

    Example:
        >>> import jtorch as torch
        >>> torch.index_put_(torch.zeros(3), (torch.tensor([2]),), torch.tensor(5.0))
        tensor([0., 0., 5.])
    """
    return input.index_put_(indices, values, accumulate)


def from_jax(x: jax.Array) -> Tensor:
    """A tensor on a ``jax.Array``, without a copy; the array stays valid and unchanged.

    Example:
        >>> import jtorch as torch
        >>> import jax.numpy as jnp
        >>> torch.from_jax(jnp.arange(3))
        tensor([0, 1, 2])
    """
    if not isinstance(x, jax.Array):
        raise TypeError(f"from_jax(): expected jax.Array, got {type(x).__name__}")
    dtypes.from_np(x.dtype)
    return wrap(x)


def shard(x: Any, mesh: object, spec: object = None) -> Any:
    """Spreads a tensor, or a module's parameters and buffers, over the devices of a
    ``jax.sharding.Mesh``. Only in jtorch.

    Operations then run on all of these devices, and XLA decides how results are cut and what is
    sent between them (GSPMD). What is combined with such tensors and lies on one of the devices is
    copied to all of them. ``to("cpu:0")`` (``"cuda:0"``) gathers a tensor on one device;
    ``to("cpu")`` leaves it where it is. ``numpy()`` gives a copy; what ``save`` writes is whole.

    Args:
        x: a tensor, or a module, whose tensors are changed in place and keep being shared by those
            who have them.
        mesh: axes with names. Those that ``spec`` uses should be of type ``Auto``.
        spec: a ``jax.sharding.PartitionSpec``: for each dimension, the axis of the mesh along which
            it is cut, or None; None for a copy on every device. For a module it may be a function
            of a name and a tensor that gives one.

    Returns:
        The tensor, with its history: gradients pass as they are; or the module.

    Raises:
        TypeError: if ``x`` is neither, or ``mesh`` is no mesh.
        ValueError: if a dimension cannot be cut as ``spec`` says.

    Example:
        >>> import jax
        >>> import jtorch as torch
        >>> mesh = jax.make_mesh((1,), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
        >>> x = torch.shard(torch.ones(4, 2), mesh, jax.sharding.PartitionSpec("batch"))
        >>> model = torch.shard(torch.nn.Linear(2, 3), mesh)
        >>> model(x).shape
        torch.Size([4, 3])
    """
    if not isinstance(mesh, jax.sharding.Mesh):
        raise TypeError(
            f"shard(): argument 'mesh' must be jax.sharding.Mesh, not {type(mesh).__name__}"
        )
    if hasattr(x, "named_parameters"):
        made = [(t, _spread(t.detach(), mesh, spec(name, t) if callable(spec) else spec))
                for name, t in (*x.named_parameters(), *x.named_buffers())]  # fmt: skip
        for t, new in made:
            t.data = new
        return x
    if not isinstance(x, Tensor):
        raise TypeError(f"shard(): argument 'x' must be Tensor or Module, not {type(x).__name__}")
    return _spread(x, mesh, spec)


def _spread(t: Tensor, mesh: Any, spec: object) -> Tensor:
    if spec is not None and not isinstance(spec, jax.sharding.PartitionSpec):
        raise TypeError(
            "shard(): argument 'spec' must be jax.sharding.PartitionSpec, not "
            f"{type(spec).__name__}"
        )
    try:
        place = jax.sharding.NamedSharding(mesh, spec or jax.sharding.PartitionSpec())
        # which refuses what cannot be cut; ``device_put`` of JAX 0.12 prints its line besides
        place.shard_shape(tuple(t.shape))
        return spread(t, place)
    except (ValueError, TypeError) as error:  # JAX's words say which dimension, in its first line
        raise ValueError(f"shard(): {str(error).splitlines()[0]}") from None


_INVALID = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
    "once, so you might have already constructed a tensor from it once."
)


def from_dlpack(ext_tensor: Any, *, device: object = None, copy: bool | None = None) -> Tensor:
    """A tensor of any object that speaks DLPack, or of a capsule. NumPy's memory is shared; other
    memory where the platform allows.

    Raises:
        RuntimeError: for anything else.

    Example:
        >>> import jtorch as torch
        >>> import numpy as np
        >>> torch.from_dlpack(np.array([1, 2]))
        tensor([1, 2])
    """
    if isinstance(ext_tensor, Tensor):
        if lazy_bits(ext_tensor)[0]:
            raise BufferError("Can't export tensors with the conjugate bit set")
        with DisableTorchFunctionSubclass():
            made = ext_tensor.detach()
        return (
            made if device is None and not copy else made.to(device or made.device, copy=bool(copy))
        )
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    elif not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(_INVALID)
    if isinstance(ext_tensor, np.ndarray) and ext_tensor.flags.writeable and not copy:
        made = PUBLIC["from_numpy"](ext_tensor)
    elif (
        array := None if copy or isinstance(ext_tensor, jax.Array) else _host_memory(ext_tensor)
    ) is not None:
        made = share_host(array)
    else:
        try:
            made = wrap(jnp.from_dlpack(ext_tensor, copy=copy))
        except jax.errors.JaxRuntimeError as error:
            if "dltensor" not in str(error):
                raise
            raise RuntimeError(_INVALID) from None
    return made if device is None else made.to(device)


def _host_memory(source: Any) -> np.ndarray | None:
    """The memory of an object that speaks DLPack, as an array that may be written into; None where
    it is no such."""
    try:
        array = np.from_dlpack(source)
    # another device or a dtype that NumPy has not
    except (BufferError, RuntimeError, TypeError, ValueError, NotImplementedError):
        return None
    if array.flags.writeable:
        return array
    # A capsule of the old kind does not say that its memory must not be written into, which NumPy
    # takes for a no, and others for a yes.
    return np.asarray(_Writable(array)) if type(source) is _Capsule else None


class _Writable:
    """The memory of an array, as its owner may see it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


class _Capsule:
    """A capsule that a tensor on the CPU was packed in, as the object that the protocol speaks with
    today."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: object) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor as a DLPack capsule.

    Example:
        >>> import jtorch as torch
        >>> torch.from_dlpack(torch.to_dlpack(torch.tensor([1, 2])))
        tensor([1, 2])
    """
    if not isinstance(tensor, Tensor):
        raise must_be_tensor("_to_dlpack", "data", 1, tensor)
    return detached(tensor).__dlpack__()


def is_tensor(obj: object) -> bool:
    """Whether ``obj`` is a tensor.

    Args:
        obj: any object.

    Example:
        >>> import jtorch as torch
        >>> torch.is_tensor(torch.zeros(1)), torch.is_tensor([0.0])
        (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Whether ``obj`` is a storage.

    Example:
        >>> import jtorch as torch
        >>> torch.is_storage(torch.zeros(1).untyped_storage())
        True
    """
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def _numbers_and_tensors(
    tensor1: object = None, tensor2: Tensor | float | None = None, *, tensor: object = None,
    other: object = None,
    scalar: object = None, scalar1: object = None, scalar2: object = None,
) -> Row:  # fmt: skip
    return (tensor1, tensor2, tensor, other, scalar, scalar1, scalar2)


@torch_function_dispatch(_numbers_and_tensors, public="torch.result_type")
def result_type(
    tensor1: Any = None, tensor2: Any = None, *, tensor: Any = None, other: Any = None,
    scalar: Any = None, scalar1: Any = None, scalar2: Any = None,
) -> dtypes.dtype:  # fmt: skip
    """The dtype that an arithmetic operation on two tensors or numbers would give.

    Example:
        >>> import jtorch as torch
        >>> torch.result_type(torch.tensor([1]), 2.5)
        torch.float32
    """
    given = [
        x for x in (tensor1, tensor2, tensor, other, scalar, scalar1, scalar2) if x is not None
    ]
    if len(given) != 2:
        raise TypeError(f"result_type() takes 2 tensors or numbers, but {len(given)} were given")
    operands = []
    for x in given:
        if isinstance(x, Tensor):
            operands.append((x.dtype, dtypes.DIMENSIONED if x.dim() else dtypes.ZERO_DIM))
        else:
            operands.append((dtypes.of_number(number("result_type", "other", x)), dtypes.NUMBER))
    return dtypes.result_type_of(tuple(operands))


@torch_function_dispatch(lambda from_, to: (from_, to), public="torch.can_cast")
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether torch allows the conversion as the result of an operation.

    Example:
        >>> import jtorch as torch
        >>> torch.can_cast(torch.float32, torch.int64), torch.can_cast(torch.int64, torch.float32)
        (False, True)
    """
    found = [dtypes.meant(x) for x in (from_, to)]
    for place, (name, x, given) in enumerate(
        zip(("from_", "to"), found, (from_, to), strict=True), 1
    ):
        if not isinstance(x, dtypes.dtype):
            raise TypeError(
                f"can_cast(): argument '{name}' (position {place}) must be torch.dtype, not "
                f"{type_name(given)}"
            )
    return dtypes.can_cast(*found)


@torch_function_dispatch(lambda type1, type2: (type1, type2), public="torch.promote_types")
def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    """The smallest type that both can be converted to.

    Raises:
        RuntimeError: for types that have no common one: 8 bit floating point kinds with others,
            unsigned 16 to 64 bit with signed ones.

    Example:
        >>> import jtorch as torch
        >>> torch.promote_types(torch.int64, torch.float16)
        torch.float16
    """
    type1, type2 = dtypes.meant(type1), dtypes.meant(type2)
    for place, (name, given) in enumerate((("type1", type1), ("type2", type2)), 1):
        if not isinstance(given, dtypes.dtype):
            raise TypeError(
                f"promote_types(): argument '{name}' (position {place}) must be torch.dtype, not "
                f"{type(given).__name__}"
            )
    return dtypes.promote_types(type1, type2)


#: Classes that ``torch`` names, and that lie in modules of their own here.
_PUBLIC = (dtypes.dtype, device_class, layout, memory_format, Size)


def typename(obj: Any, /) -> str:
    """The name of an object's type, as torch spells it.

    Example:
        >>> import jtorch as torch
        >>> torch.typename(torch.zeros(1)), torch.typename(3)
        ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    if not isinstance(obj, type) and hasattr(obj, "__qualname__"):
        return _name_of_function(obj)
    cls = obj if isinstance(obj, type) else type(obj)
    if cls in _PUBLIC:
        return f"torch.{cls.__qualname__}"
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", None) else f"{module}.{cls.__qualname__}"


def _name_of_function(function: Callable[..., object]) -> str:
    """A function's module and name; for those that PyTorch has in C++ the classes and modules
    there."""
    path = name_of(function).removeprefix("torch.")
    space, _, name = path.rpartition(".")
    caller = getattr(function, "__globals__", {}).get("_caller")
    if isinstance(function, TensorProperty) or space == "Tensor":
        return f"TensorBase.{function.__name__}"
    if getattr(caller, "func", None) is not function or not caller.native:
        module = getattr(function, "__module__", None)
        return (
            function.__qualname__
            if module in ("builtins", None)
            else f"{module}.{function.__qualname__}"
        )
    if not space:
        return f"torch._VariableFunctionsClass.{name}"
    return (
        f"torch._C._nn.{name}" if space == "nn.functional" else f"torch._C._{space}.{space}_{name}"
    )


def synchronize() -> None:
    """Runs what is pending in this thread and waits until the devices have computed all arrays that
    there are.

    To measure how long something takes, call it before the clock is read each time, and keep the
    results until then: what nothing refers to any more is not computed.

    Example:
        >>> import jtorch as torch
        >>> x = torch.ones(2) + 1
        >>> torch.synchronize()
    """
    flush()
    if jax.default_backend() != "cpu" or jax.config.read("jax_cpu_enable_async_dispatch"):
        jax.block_until_ready(jax.live_arrays())
    jax.effects_barrier()


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: ``torch.cpu``, ``torch.cuda``, ...

    Raises:
        RuntimeError: if there is none.

    Example:
        >>> import jtorch as torch
        >>> torch.get_device_module("cpu").__name__.rpartition(".")[2]
        'cpu'
    """
    import importlib

    found = device if isinstance(device, device_class) else device_class(device or _best_device())
    try:
        return importlib.import_module(f"{__name__.partition('.')[0]}.{found.type}")
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{found.type}' does not have a corresponding module registered as "
            f"'torch.{found.type}'."
        ) from None


def _best_device() -> str:
    return of_placement(default_device()).type


def set_default_tensor_type(t: object, /) -> None:
    """Sets the default dtype to that of a tensor type, given as its class or its name; deprecated.

    Raises:
        TypeError: if the type is no floating-point one.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.set_default_tensor_type(torch.DoubleTensor)
        ...     print(torch.get_default_dtype())
        ...     torch.set_default_tensor_type(torch.FloatTensor)
        torch.float64
    """
    if not isinstance(t, (str, type)):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    name = t if isinstance(t, str) else t.__name__
    module, _, last = name.rpartition(".")
    if (module or getattr(t, "__module__", "")) == "torch.cuda" and not devices.jax_devices("cuda"):
        raise TypeError(
            f"type torch.cuda.{last} not available. Torch not compiled with CUDA enabled."
        )
    if isinstance(t, str) and module not in ("torch", "torch.cuda"):
        import importlib

        importlib.import_module(module or name)
    found = next((d for d in dtypes.BY_NAME.values() if d.legacy == last), None)
    if found is None:
        raise TypeError(f"invalid type object: {name}")
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    dtypes.set_default_dtype(found)


def _anomalies() -> Any:
    """What looks for anomalies, loaded when it is first asked for."""
    from ...autograd import anomaly_mode

    return anomaly_mode


def is_anomaly_enabled() -> bool:
    """Whether ``backward`` looks for anomalies.

    Example:
        >>> import jtorch as torch
        >>> torch.is_anomaly_enabled()
        False
    """
    return _anomalies().is_anomaly_enabled()


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomalies include NaN.

    Example:
        >>> import jtorch as torch
        >>> torch.is_anomaly_check_nan_enabled()
        True
    """
    return _anomalies()._state["nan"]


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turns the look for anomalies in ``backward`` on or off.

    Example:
        >>> import jtorch as torch
        >>> torch.set_anomaly_enabled(True)
        >>> torch.is_anomaly_enabled()
        True
        >>> torch.set_anomaly_enabled(False)
    """
    _anomalies()._set(enabled, check_nan)


#: What PyTorch was built with; here, what its place is taken by.
has_lapack = True  # LAPACK itself, through SciPy and jaxlib
has_mkl = False
has_openmp = False
has_spectral = True


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ``size`` elements on the memory of a file; with ``shared`` what is written into
    it is written into the file, which grows to the size if need be.

    Raises:
        RuntimeError: if the file cannot be opened or is too small.

    Example:
        >>> import jtorch as torch
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "data")
        ...     _ = path.write_bytes(bytes([1, 2, 3]))
        ...     print(torch.from_file(str(path), size=3, dtype=torch.uint8))
        tensor([1, 2, 3], dtype=torch.uint8)
    """
    import os

    import numpy as np

    check_options("from_file", layout, pin_memory)
    kind = check_dtype("from_file", dtype) or dtypes.get_default_dtype()
    wanted = size * kind.np.itemsize
    if shared and (not os.path.exists(filename) or os.path.getsize(filename) < wanted):
        with open(filename, "ab") as file:
            file.truncate(wanted)
    if not os.path.exists(filename):
        raise RuntimeError(
            f"unable to open file <{filename}> in read-only mode: No such file or directory (2)"
        )
    if os.path.getsize(filename) < wanted:
        raise RuntimeError(
            f"file <{filename}> size <{os.path.getsize(filename)}> is smaller than the required "
            f"mapping size <{wanted}>"
        )
    memory = (
        np.memmap(filename, kind.np, "r+" if shared else "c", shape=(size,))
        if size
        else np.empty(0, kind.np)
    )
    made = share_host(np.asarray(memory))
    if device is not None:
        made = made.to(device)
    return requiring(made) if requires_grad else made


_precisions = {"highest": "float32", "high": "tensorfloat32", "medium": "bfloat16"}


def set_float32_matmul_precision(precision: str) -> None:
    """``highest``, ``high`` or ``medium``: how exactly accelerators multiply float32 matrices.

    Example:
        >>> import jtorch as torch
        >>> torch.set_float32_matmul_precision("high")
        >>> torch.get_float32_matmul_precision()
        'high'
        >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the "
            "currentsetFloat32MatmulPrecision call has no effect.",
            stacklevel=outside(),
        )
        return
    _precisions["now"] = precision
    jax.config.update(
        "jax_default_matmul_precision", None if precision == "highest" else _precisions[precision]
    )


def get_float32_matmul_precision() -> str:
    """What was last set.

    Example:
        >>> import jtorch as torch
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    return _precisions.get("now", "highest")


def set_flush_denormal(mode: bool) -> bool:
    """Not supported by XLA: tells so by returning False, as torch does on processors without it."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True, as of all recent builds."""
    return True
