"""Tensors without data that claim to lie on a device: ``FakeTensorMode`` finds shapes, strides,
dtypes and devices of results, and nothing else. Operators run on the meta device, where kernels are
only traced for their shapes; sizes may be symbols (``symbols.py``).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jtorch

from .._src.aten.calling import run
from .._src.aten.overloads import aten
from .._src.aten.state import STATE, Below, Kernel, modes_off
from .._src.aten.state import push as _push
from .._src.aten.state import remove as _remove
from .._src.aten.wrapping import bare, follow, on_meta
from .._src.facts import devices
from .._src.facts.devices import META
from .._src.facts.dtypes import get_default_dtype
from .._src.facts.errors import not_offered
from .._src.facts.size import SYMBOLIC, SymInt
from .._src.facts.size import Size as _Size
from .._src.protocol.recorded import recorder
from .._src.refusals import stand_ins as _refusals
from .._src.tensor.cells import Alias, Storage
from .._src.tensor.shape_env import ShapeEnv, any_symbolic, env_of
from .._src.tensor.symbols import Float, Sym, exact
from ..core import Tensor, contiguous_strides
from ..overrides import TorchFunctionMode
from ..utils._python_dispatch import TorchDispatchMode
from . import _unknown as unknown
from ._constants import Constants, leaves, mapped, may_be_known
from ._wrappers import around_fakes, takes_over

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload
    from .._src.aten.schema import Argument
    from .._src.facts.kinds import Tree, Values


__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeCopyMode", "FakeTensor",
    "FakeTensorConverter", "FakeTensorDeviceMismatchError", "FakeTensorMode",
    "UnsupportedFakeTensorException", "UnsupportedOperatorException", "is_fake",
    "maybe_get_fake_mode", "unset_fake_temporarily",
]  # fmt: skip


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that has no fake counterpart."""


class UnsupportedOperatorException(RuntimeError):
    """An operator whose results cannot be found without data."""

    def __init__(self, func: object) -> None:
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(RuntimeError):
    """The shape of a result depends on data."""

    def __init__(self, func: object) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(RuntimeError):
    """What is asked of a fake tensor depends on data."""

    def __init__(self, func: object) -> None:
        super().__init__(func)
        self.func = func


class FakeTensorDeviceMismatchError(RuntimeError):
    """The operands of an operator claim to lie on devices that do not go together."""


def _wrapped(shape: tuple[object, ...]) -> _Size | None:
    """Sizes as programs see them."""
    return (
        _Size([env_of(n).wrap(n) if type(n) in SYMBOLIC else n for n in shape])
        if any_symbolic(shape)
        else None
    )


class FakeTensor(Tensor):
    """A tensor with metadata and no data.

    Attributes:
        fake_mode: the mode that made it.
        fake_device: where it claims to lie; the device need not exist.
        constant: the tensor that it stands for, where its data is known because the program wrote
            it down.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._subclasses import FakeTensorMode
        >>> with FakeTensorMode():
        ...     torch.ones(2, 3) @ torch.ones(3, 5)
        FakeTensor(..., size=(2, 5))
    """

    fake_mode: FakeTensorMode
    fake_device: devices.device
    constant: Tensor | None
    known_in: Storage  #: the memory of the constant
    real_tensor = None

    def __new__(
        cls,
        fake_mode: FakeTensorMode,
        elem: Tensor | None,
        device: Any,
        constant: Tensor | None = None,
        real_tensor: Tensor | None = None,
        **_unused: object,
    ) -> FakeTensor:
        """A fake tensor like the meta tensor ``elem``, on ``device``."""
        del real_tensor
        aval = elem._aval
        return _made(
            fake_mode,
            aval.shape,
            elem._strides,
            aval.dtype,
            devices.device(device),
            elem.storage_offset(),
            constant,
        )

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """``fake_mode.from_tensor(t)``."""
        return fake_mode.from_tensor(t)

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Tensor:
        kwargs = kwargs or {}
        mode = _mode_among((args, kwargs))
        if mode is None or takes_over(types, FakeTensor):
            return NotImplemented
        with mode:
            return func(*args, **kwargs)

    @property
    def device(self) -> devices.device:
        """Where it claims to lie."""
        return self.__dict__.get("fake_device") or super().device

    @property
    def shape(self) -> Any:
        """The sizes; those that vary are ``SymInt``."""
        found = _wrapped(self._aval.shape)
        return super().shape if found is None else found

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one of them."""
        if dim is None or not -self.ndim <= dim < self.ndim:
            return self.shape if dim is None else super().size(dim)
        return self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Elements to step in memory, for each dimension or one."""
        steps = self._strides or contiguous_strides(self._aval.shape)
        found = _wrapped(steps)
        if found is None:
            return super().stride() if dim is None else super().stride(dim)
        return tuple(found) if dim is None else found[dim]

    def numel(self) -> Any:
        """The number of elements."""
        n = self._aval.size
        return env_of(n).wrap(n) if type(n) in SYMBOLIC else super().numel()

    nelement = numel

    def __len__(self) -> Any:
        return len(range(self.shape[0])) if self.ndim else super().__len__()

    def _settled(self, reason: str) -> bool:
        """Ends the graph in which this tensor is being recorded, which makes a plain tensor with
        data of it."""
        found = recorder()
        if found is not None:
            found.finish(reason)
        return type(self) is not FakeTensor

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if self._settled("repr"):
            return Tensor.__repr__(self, tensor_contents=tensor_contents)
        parts = ["..."]
        if self.device.type != "cpu":
            parts.append(f"device='{self.device}'")
        parts.append(f"size=({', '.join(map(str, self.shape))}{',' if self.ndim == 1 else ''})")
        if self.dtype is not _default_dtype():
            parts.append(f"dtype={self.dtype}")
        if self._node is not None:
            parts.append(f"grad_fn=<{self._node.name()}>")
        elif self._rg:
            parts.append("requires_grad=True")
        text = f"FakeTensor({', '.join(parts)})"
        return f"Parameter({text})" if self.__dict__.get("_is_param") else text

    def data_ptr(self) -> int:
        """0: there is no data."""
        return Tensor.data_ptr(self) if self._settled("data_ptr") else 0

    def tolist(self) -> Any:
        """The known constant's elements; others raise."""
        if self._settled("tolist"):
            return Tensor.tolist(self)
        if self.constant is not None:
            return self.constant.tolist()
        if self.fake_mode.shape_env is not None and self.ndim:
            return [t.tolist() for t in self.unbind()]
        if self.fake_mode.shape_env is not None:
            return self.item()
        raise DataDependentOutputException(aten._local_scalar_dense.default)

    def __copy__(self) -> Any:
        self._settled("copy")
        return Tensor.__copy__(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._settled("deepcopy"):
            return Tensor.__deepcopy__(self, memo)
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = _made(
                self.fake_mode,
                self._aval.shape,
                self._strides,
                self._aval.dtype,
                self.device,
                self.storage_offset(),
                self.constant,
            )
            found._rg = self._rg
            if self.__dict__.get("_is_param"):
                found._is_param = True
        return found

    def __reduce_ex__(self, proto: Any) -> Any:
        if self._settled("pickle"):
            return Tensor.__reduce_ex__(self, proto)
        raise not_offered("pickling a FakeTensor", "it belongs to its mode and has no data")


def _default_dtype() -> object:
    return get_default_dtype()


def _made(
    mode: FakeTensorMode,
    shape: tuple[object, ...],
    strides: tuple[object, ...] | None,
    dtype: Any,
    device: Any,
    offset: Any,
    constant: Any = None,
    storage: object = None,
) -> FakeTensor:
    """A fake tensor, in memory of its own or in a ``storage`` that others have."""
    try:
        place = devices.placement(device)
    except (RuntimeError, AssertionError):  # a device that is not there can be claimed all the same
        place = None
    t = bare(FakeTensor, shape, dtype, place, strides, offset)
    if storage is not None:
        t._al.storage = storage
    t.fake_mode, t.fake_device, t.constant = mode, device, constant
    return t if constant is None else mode.constants.note(t)


def _mode_among(x: tuple[object, ...]) -> FakeTensorMode | None:
    found = None
    for t in leaves(x):
        if isinstance(t, FakeTensor):
            if found is not None and found is not t.fake_mode:
                raise AssertionError("Mixing fake modes NYI")
            found = t.fake_mode
    return found


class FakeTensorConverter:
    """What fake tensor stands for which tensor, as long as both live."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Tensor], FakeTensor]] = {}
        self._memory: weakref.WeakKeyDictionary[Storage, Storage] = weakref.WeakKeyDictionary()

    @property
    def tensor_memo(self) -> dict[int, FakeTensor]:
        """The counterparts, by the ``id`` of what they stand for."""
        return {key: fake for key, (_, fake) in self._known.items()}

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Tensor, **options: Any) -> FakeTensor:
        """``fake_mode.from_tensor(t)``, with its options."""
        return fake_mode.from_tensor(t, **options)

    def get(self, t: Tensor) -> FakeTensor | None:
        """The counterpart of a tensor, if it has one."""
        found = self._known.get(id(t))
        return found[1] if found is not None and found[0]() is t else None

    def put(self, t: Tensor, fake: FakeTensor) -> None:
        """Remembers a counterpart."""
        known, key = self._known, id(t)
        known[key] = weakref.ref(t, lambda _: known.pop(key, None)), fake
        if type(t._al) is Alias:
            self._memory.setdefault(t._al.storage, fake._al.storage)

    def memory(self, t: Tensor) -> Storage | None:
        """What stands for the memory of a tensor, if another that is in it has a counterpart."""
        if type(t._al) is not Alias:
            return None
        found = self._memory.get(t._al.storage)
        if found is None and t._base is not None:
            base = self.get(t._base)
            found = None if base is None else base._al.storage
        return found


class FakeTensorMode(TorchDispatchMode):
    """A block in which tensors have no data, and the counterparts of real ones.

    Args:
        allow_non_fake_inputs: real tensors among the operands are taken for their counterparts,
            instead of an error.
        shape_env: sizes of converted tensors are symbols of this environment, sizes of 0 and 1
            excepted.
        static_shapes: sizes stay numbers all the same.

    Raises:
        DataDependentOutputException: by what needs data (``item``, ``bool``); constants that the
            program wrote down have some.
        DynamicOutputShapeException: by operators whose results' shapes depend on data (``nonzero``,
            ``unique``).
        FakeTensorDeviceMismatchError: for operands on several devices.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._subclasses import FakeTensorMode
        >>> mode = FakeTensorMode()
        >>> x = mode.from_tensor(torch.randn(3, 4))
        >>> x.t() @ x
        FakeTensor(..., size=(4, 4))
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: ShapeEnv | None = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        del allow_fallback_kernels  # kernels are always traced, never run on made-up data
        self.allow_non_fake_inputs, self.shape_env, self.export = (
            allow_non_fake_inputs,
            shape_env,
            export,
        )
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.fake_tensor_converter = FakeTensorConverter()
        self.constants = Constants()
        self._entered: list[bool] = []

    def __enter__(self) -> FakeTensorMode:
        new = not any(m is self for m in STATE.modes)
        self._entered.append(new)
        if new:
            _push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._entered.pop():
            _remove(self)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: programs' own modes come before it."""
        return True

    # ---- converting ------------------------------------------------------------------------------

    def from_tensor(
        self,
        tensor: Tensor,
        *,
        static_shapes: bool | None = None,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> FakeTensor:
        """The counterpart of a tensor: the same object whenever it is asked for. A parameter's is
        one, too.

        ``symbolic_context`` may be a list with a size for each dimension: a number, or a ``SymInt``
        of the mode's environment.

        Raises:
            UnsupportedFakeTensorException: for sparse and nested tensors.
        """
        del source, trace
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        found = self.fake_tensor_converter.get(tensor)
        if found is not None or (found := around_fakes(self, tensor, static_shapes)) is not None:
            return found
        if (
            not isinstance(tensor, Tensor)
            or str(tensor.layout) != "torch.strided"
            or getattr(tensor, "is_nested", False)
        ):
            raise UnsupportedFakeTensorException(
                f"a {type(tensor).__name__} of layout {getattr(tensor, 'layout', None)}"
            )
        static = self.static_shapes if static_shapes is None else static_shapes
        shape: Any = tuple(tensor.shape)
        strides: Any = tensor.stride()
        if symbolic_context is not None:
            sizes = tuple(symbolic_context)
        elif static or self.shape_env is None:
            sizes = shape
        else:
            sizes = tuple([n if n in (0, 1) else self._symbol_for(n) for n in shape])
        if any_symbolic(sizes) or sizes != shape:
            strides = _strides_like(shape, strides, [exact(n) for n in sizes])
        memory = self.fake_tensor_converter.memory(tensor)
        fake = _made(
            self,
            exact(tuple(sizes)),
            strides,
            tensor._aval.dtype,
            tensor.device,
            tensor.storage_offset(),
            storage=memory,
        )
        fake._rg = tensor.requires_grad
        from ..nn import Parameter

        if isinstance(tensor, Parameter):
            fake._is_param = True
        self.fake_tensor_converter.put(tensor, fake)
        if tensor.grad_fn is None and tensor.grad is not None:
            fake._grad = self.from_tensor(tensor.grad, symbolic_context=sizes)
        return fake

    def _symbol_for(self, n: int) -> SymInt:
        """The symbol of a size: one for all sizes that are equal in the example, as PyTorch takes
        them, unless ``fx.experimental._config.use_duck_shape`` is off."""
        assert self.shape_env is not None
        if jtorch.fx.experimental._config.use_duck_shape:
            for name, hint in self.shape_env.hints.items():
                if hint == n:
                    return self.shape_env.symbol(name)
        return self.shape_env.create_symbol(n)

    # ---- operators -------------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if takes_over(types, FakeTensor):
            return NotImplemented
        values = func.complete(args, kwargs or {})
        schema = func._schema
        tensors = [t for t in leaves(values) if isinstance(t, Tensor)]
        answer = self._of_constants(func, values, tensors)
        if answer is None:
            answer = unknown.answered(self, func, values)
        if answer is not None:
            return answer[0]
        device = self._device_of(func, values, tensors)
        stands: dict[int, tuple[Tensor, Tensor]] = {}

        def stand_in(x: object) -> object:
            if isinstance(x, Tensor):
                found = stands.get(id(x))
                if found is None:
                    found = stands[id(x)] = x, self._stand_in(func, x, values)
                return found[1]
            return self._reduced(x.expr) if type(x) is Sym else x

        given = [mapped(stand_in, x) for x in values]
        for i, a in enumerate(schema.arguments):
            if a.name == "device":
                given[i] = devices.device("meta")
            elif (
                a.type.rstrip("?") in ("Scalar", "Tensor")
                and type(given[i]) in SYMBOLIC
                and a.name not in ("start", "end", "step")
            ):
                given[i] = 2  # what a number is decides no shape, but for ranges
            elif type(given[i]) is Float:
                given[i] = given[i].hint if _decides_no_shape(a) else float(given[i])
        try:
            out = self._run(func, given)
        except (DataDependentOutputException, DynamicOutputShapeException):
            raise
        except Exception as error:
            varying = list(_sizes_in(given))
            if not varying:
                raise
            unknown.refuse(self.shape_env, varying, error)
            out = self._with_hints(func, given, stands, env_of(varying[0]), varying, error)
        for original, stand in stands.values():
            if isinstance(original, FakeTensor):
                follow(original, stand)
        written = [values[i] for i in schema.writes]

        def outcome(x: object) -> object:
            if isinstance(x, Tensor):
                for original, stand in stands.values():
                    if x is stand:
                        return original
                base = tensors[0] if schema.is_view and tensors else None
                offset = x.storage_offset() + (base.storage_offset() if base is not None else 0)
                memory = None if base is None else self._fake(func, base, values)._al.storage
                place = device if x._aval.device == META else x.device
                unknown.note_sizes(self.shape_env, x._aval.shape)
                return _made(
                    self, x._aval.shape, x._strides, x._aval.dtype, place, offset, storage=memory
                )
            return env_of(x).wrap(x) if type(x) in SYMBOLIC else x

        result = mapped(outcome, out)
        return written[0] if len(written) == 1 and isinstance(out, Tensor) else result

    def _with_hints(
        self,
        func: object,
        given: list[object],
        stands: dict[int, tuple[Tensor, Tensor]],
        env: ShapeEnv,
        varying: list[object],
        error: Exception,
    ) -> object:
        """What an operator gives that failed, with the example's sizes for as few symbols as will
        do: which becomes guards."""
        names = env.names_in(varying)
        original = dict(stands)
        for chosen in [*[[n] for n in names], names]:
            stands.update(original)
            try:
                out = self._run(
                    func,
                    [
                        mapped(lambda x, chosen=chosen: _hinted(x, stands, env, chosen), x)
                        for x in given
                    ],
                )
            except (DataDependentOutputException, DynamicOutputShapeException):
                raise
            except Exception:
                continue
            said = str(error).splitlines()[0]
            env.specialise(
                f"{func} needs {', '.join(chosen)} to be known ({said})",
                chosen,
                matched="mat1 and mat2" in said,
            )
            return out
        stands.update(original)
        raise error

    def _run(self, func: Any, given: list[object]) -> Tree:
        if func is aten._local_scalar_dense.default:
            raise DataDependentOutputException(func)
        try:
            with Below(), Kernel(), modes_off():
                return run(func, given)
        except TypeError as error:  # a size was counted with
            if "'_DimExpr' object cannot be interpreted as an integer" in str(error):
                raise Unlisted(str(error)) from error
            raise
        except (NotImplementedError, RuntimeError) as error:
            if _wants_data(error):
                raise (
                    DynamicOutputShapeException
                    if _any_shape(func)
                    else DataDependentOutputException
                )(func) from None
            raise

    def _of_constants(
        self, func: object, values: Values, tensors: list[Tensor]
    ) -> tuple[object] | None:
        """The answer where data is known: numbers that the program wrote down, and what is computed
        from them alone."""
        if func in (aten.lift_fresh.default, aten.lift_fresh_copy.default) and not isinstance(
            values[0], FakeTensor
        ):
            real = values[0]
            with Below(), Kernel(), modes_off():
                return (
                    self._constant(real.clone())
                    if may_be_known(real)
                    else self.from_tensor(real, static_shapes=True),
                )
        found = self.constants.answer(func, values, tensors, self._constant)
        if found is None:
            self.constants.written(func, values)
        return found

    def _constant(self, real: Tensor, memory: Storage | None = None) -> FakeTensor:
        return _made(
            self,
            real._aval.shape,
            real._strides,
            real._aval.dtype,
            real.device,
            real.storage_offset(),
            real,
            memory,
        )

    def _stand_in(self, func: object, x: Tensor, values: list[object]) -> Tensor:
        t = self._fake(func, x, values)
        steps = None if t._strides is None else tuple(map(self._reduced, t._strides))
        return on_meta(tuple(map(self._reduced, t._aval.shape)), t._aval.dtype, steps)

    def _reduced(self, n: object) -> Any:
        """A size, without the symbols that were said to equal something else."""
        return (
            n
            if self.shape_env is None or self.shape_env.data is None
            else self.shape_env.data.reduced(n)
        )

    def _fake(self, func: Any, x: Tensor, values: list[object]) -> Tensor:
        if isinstance(x, FakeTensor):
            if x.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return x
        if not self.allow_non_fake_inputs:
            shown = mapped(
                lambda v: (
                    _Shown(v) if isinstance(v, Tensor) and not isinstance(v, FakeTensor) else v
                ),
                func.trimmed(values)[0],
            )
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode "
                f"with 'allow_non_fake_inputs'. Found in {func}({', '.join(map(str, shown))})"
            )
        return self.from_tensor(x, static_shapes=True)

    def _device_of(self, func: OpOverload, values: Values, tensors: list[Tensor]) -> devices.device:
        places = func._schema.places
        asked = values[places["device"]] if "device" in places else None
        if asked is not None:
            found = devices.device(asked)
            return (
                devices.device("cuda", 0) if found.type == "cuda" and found.index is None else found
            )
        if not tensors:
            return (
                devices.current_default()
                if hasattr(devices, "current_default")
                else devices.device("cpu")
            )
        found = None
        for t in tensors:
            if found is None or t.device == found:
                found = t.device
            elif t.device.type == "cpu" and not t.ndim:
                continue
            elif found.type == "cpu" and all(not u.ndim for u in tensors if u.device == found):
                found = t.device
            elif func.overloadpacket in (
                aten.copy_,
                aten._to_copy,
                aten.index_put_,
                aten.index,
                aten._index_put_impl_,
            ):
                continue
            else:
                raise FakeTensorDeviceMismatchError(
                    "Expected all tensors to be on the same device, but found at least two "
                    f"devices, {found} and {t.device}!"
                )
        assert found is not None
        return found


def _decides_no_shape(a: Argument) -> bool:
    """Whether the shape of an operator's result is the same whatever number a parameter is
    given."""
    return (
        a.type.rstrip("?") in ("Scalar", "Tensor", "float")
        and a.name not in ("start", "end", "step")
        and "scales" not in a.name
    )


def _sizes_in(given: list[object]) -> Iterator[object]:
    """The symbolic sizes among an operator's arguments and in its tensors' shapes."""
    for x in leaves(given):
        for n in x._aval.shape if isinstance(x, Tensor) else (x,):
            if type(n) in SYMBOLIC:
                yield n


def _hinted(
    x: Tensor | int, stands: dict[int, tuple[Tensor, Tensor]], env: ShapeEnv, names: list[str]
) -> object:
    """An argument with the example's sizes in place of some symbols."""

    def size(n: object) -> Any:
        return env.with_hints(n, names) if type(n) in SYMBOLIC else n

    if isinstance(x, Tensor):
        if not any_symbolic(x._aval.shape):
            return x
        steps = None if x._strides is None else tuple([size(n) for n in x._strides])
        made = on_meta([size(n) for n in x._aval.shape], x._aval.dtype, steps)
        for key, (original, stand) in stands.items():
            if stand is x:
                stands[key] = original, made
        return made
    return size(x)


class Unlisted(Exception):
    """A function counted with a size that is not known."""


class _Shown:
    """A real tensor in an error message."""

    def __init__(self, t: Tensor) -> None:
        self.text = (
            f"tensor([...], size=({', '.join(map(str, t.shape))}{',' if t.ndim == 1 else ''}))"
        )

    def __repr__(self) -> str:
        return self.text


def _strides_like(
    shape: tuple[int, ...], strides: tuple[int, ...], sizes: Values
) -> tuple[object, ...]:
    """The strides of a dense tensor for other sizes; those of others stay numbers."""
    order = sorted(range(len(shape)), key=lambda i: (strides[i], shape[i]))
    found: list[Any] = [0] * len(shape)
    step = expected = 1
    for i in order:
        if shape[i] != 1 and strides[i] != expected:
            return strides
        found[i] = step
        step, expected = step * sizes[i], expected * shape[i]
    if tuple(strides) == contiguous_strides(tuple(shape)):
        return contiguous_strides(tuple(sizes))
    return tuple(found)


def _wants_data(error: BaseException) -> bool:
    text = str(error)
    return (
        "no data" in text
        or "meta tensor" in text
        or "Meta tensor" in text
        or "Cannot copy out of" in text
    )


def _any_shape(func: Any) -> bool:
    """Whether it is the shape of a result that depends on data, rather than a number."""
    return any(r.type.startswith("Tensor") for r in func._schema.returns)


# ---- asking --------------------------------------------------------------------------------------


def is_fake(x: Any) -> bool:
    """Whether a tensor is fake, or stands for fake ones."""
    if isinstance(x, FakeTensor):
        return True
    flatten = getattr(type(x), "__tensor_flatten__", None)
    if flatten is not None:
        names, _ = x.__tensor_flatten__()
        found = [is_fake(getattr(x, n)) for n in names]
        if any(found) and not all(found):
            raise AssertionError("got mixed fake and real tensors!")
        return bool(found) and all(found)
    return False


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode of a fake tensor; None for others."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


def active_mode() -> FakeTensorMode | None:
    """The innermost fake mode that the thread has entered."""
    return next((m for m in reversed(STATE.modes) if isinstance(m, FakeTensorMode)), None)


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """A block outside of the innermost fake mode."""
    mode = active_mode()
    if mode is None:
        yield None
        return
    place = next(i for i, m in enumerate(STATE.modes) if m is mode)
    del STATE.modes[place]
    try:
        yield mode
    finally:
        STATE.modes.insert(min(place, len(STATE.modes)), mode)


class FakeCopyMode(TorchFunctionMode):
    """A block in which copies of tensors, by ``clone`` or ``copy.deepcopy``, are fake ones of a
    mode.

    Example:
        >>> import copy
        >>> import jtorch as torch
        >>> from jtorch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode
        >>> with FakeCopyMode(FakeTensorMode()):
        ...     copy.deepcopy(torch.nn.Linear(2, 3)).bias
        Parameter(FakeTensor(..., size=(3,), requires_grad=True))
    """

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **kwargs)
        if func is Tensor.__deepcopy__:
            source, memo = args
            if id(source) not in memo:
                memo[id(source)] = self.fake_mode.from_tensor(source, static_shapes=True)
            return memo[id(source)]
        return func(*args, **kwargs)


fake_tensor_tls = threading.local()
fake_tensor_tls.allow_non_fake_inputs_override = None

__getattr__ = _refusals.missing(__name__)
