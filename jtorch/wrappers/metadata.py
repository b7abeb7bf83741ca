"""``MetadataTensor``: a tensor that carries a dictionary through every function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch.overrides import is_tensor_like, is_tensor_method_or_property
from jtorch.utils.data._utils.collate import default_collate_fn_map

from . import coverage, trees
from .tensor_like import TensorLike

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Row


Tensor: Any = torch.Tensor
Metadata = dict[Any, Any]
Policy = str | Callable[[Any, list[Metadata]], Mapping[Any, Any]]


class MetadataError(ValueError):
    """Operands whose metadata must agree do not."""


class MetadataTensor(TensorLike):
    """Data with metadata: a function runs on the data, and each tensor of its result carries the
    operands' metadata.

    Args:
        data: a tensor, anything that ``torch.as_tensor`` takes, or another tensor-like object, such
            as a nested or a unit tensor.
        metadata: facts about the data; the dictionary is copied. None: that of ``data``, if it has
            some.
        policy: what a result carries if several operands have metadata:
            ``"first"``: that of the first operand (default);
            ``"merge"``: all entries, of the earlier operand where two have the same key;
            ``"agree"``: the common metadata, and a MetadataError if they differ;
            a function ``policy(func, dictionaries) -> dictionary``.
            The first operand's policy decides.
        options: ``dtype`` and the like, for ``torch.as_tensor``.

    What is given as ``out=`` gets the metadata of the operands, and is returned itself; so is what
    an in-place method changes. Functions that return no tensor (``shape``, ``item``, ``tolist``)
    answer for the data.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.wrappers import MetadataTensor
        >>> m = MetadataTensor([[1, 2], [3, 4]], {"unit": "km"})
        >>> torch.add(torch.tensor([[1, 2], [1, 2]]), m)
        Metadata:
        {'unit': 'km'}
        <BLANKLINE>
        data:
        tensor([[2, 4],
                [4, 6]])
        >>> (m.sum(0) * 2).metadata
        {'unit': 'km'}
    """

    __slots__ = ("_data", "metadata", "policy", "_grad", "__weakref__")

    metadata: Metadata
    policy: Policy

    def __init__(
        self,
        data: Any,
        metadata: Mapping[Any, Any] | None = None,
        *,
        policy: Policy | None = None,
        **options: Any,
    ) -> None:
        if isinstance(data, MetadataTensor):
            metadata = data.metadata if metadata is None else metadata
            policy = data.policy if policy is None else policy
            data = data._data
        if not is_tensor_like(data) or isinstance(data, type) or options:
            data = torch.as_tensor(data, **options)
        self._data = data
        self.metadata = dict(metadata or {})
        self.policy = _checked("first" if policy is None else policy)
        self._grad = None

    @property
    def tensor(self) -> Any:
        """The data, without metadata."""
        return self._data

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs ``func`` on the data and gives its tensors the metadata. Every other type may take
        part: it is met in that call."""
        if not kwargs:
            # The common case, in one pass: operands by position, none of them in a list.
            inner, first = [], None
            for x in args:
                if isinstance(x, MetadataTensor):
                    if first is None:
                        first = x
                    elif x is not first and (first.policy != "first" or type(x) is not type(first)):
                        break
                    inner.append(x._data)
                elif type(x) in _OPEN:
                    break
                else:
                    inner.append(x)
            else:
                if (
                    first is not None
                    and func not in _SPECIAL
                    and (type(inner[0]) is Tensor or not _of_tensor(func))
                ):
                    result = func(*inner)
                    if type(result) is Tensor and result is not first._data:
                        made = object.__new__(type(first))
                        made._data, made.metadata, made.policy, made._grad = (
                            result,
                            dict(first.metadata),
                            first.policy,
                            None,
                        )
                        return made
                    return (
                        _wrapped(result, first, first.metadata, _owners(args))
                        if type(result) not in _FACTS
                        else result
                    )
        return _handle(func, args, kwargs or {})

    def with_metadata(self, **entries: Any) -> MetadataTensor:
        """The same data with more, or changed, entries."""
        return _joined(self, self._data, {**self.metadata, **entries})

    def __getattr__(self, name: str) -> Any:
        """Methods and properties of Tensor; and those that the data have besides, such as
        ``offsets`` of a nested tensor."""
        if name.startswith("_") or hasattr(Tensor, name) or not hasattr(self._data, name):
            return super().__getattr__(name)
        found = getattr(self._data, name)
        if not callable(found):
            return _wrapped(found, self, self.metadata, {})

        def method(*args: Any, **kwargs: object) -> Any:
            return _wrapped(found(*_unwrapped(args), **_unwrapped(kwargs)), self, self.metadata, {})

        return method

    def __repr__(self) -> str:
        return f"Metadata:\n{self.metadata!r}\n\ndata:\n{self._data!r}"

    def __reduce_ex__(self, protocol: object) -> Any:
        return _rebuild, (type(self), self._data, self.metadata, self.policy)

    def __copy__(self) -> MetadataTensor:
        return _joined(self, self._data, self.metadata)


_OPEN = (list, tuple, dict)
_FACTS = (int, float, bool, str, type(None), torch.Size, torch.dtype, torch.device)


def _checked(policy: Policy) -> Policy:
    if not callable(policy) and policy not in ("first", "merge", "agree"):
        raise ValueError(f"policy must be 'first', 'merge', 'agree' or a function, not {policy!r}")
    return policy


def _joined(like: MetadataTensor, data: object, metadata: Mapping[Any, Any]) -> MetadataTensor:
    made = object.__new__(type(like))
    made._data, made.metadata, made.policy, made._grad = data, dict(metadata), like.policy, None
    return made


def _rebuild(
    cls: type[MetadataTensor], data: object, metadata: Metadata, policy: Policy
) -> MetadataTensor:
    return cls(data, metadata, policy=policy)


# ---- a call in general ---------------------------------------------------------------------------


def _operands(x: Any, found: list[MetadataTensor]) -> None:
    """Appends each MetadataTensor in ``x``, which may be nested lists, tuples and dictionaries."""
    if isinstance(x, MetadataTensor):
        found.append(x)
    elif type(x) in (list, tuple):
        for item in x:
            _operands(item, found)
    elif isinstance(x, dict):
        for item in x.values():
            _operands(item, found)


def _unwrapped(x: Any) -> Any:
    if isinstance(x, MetadataTensor):
        return x._data
    if type(x) in (list, tuple):
        return type(x)([_unwrapped(item) for item in x])
    if type(x) is dict:
        return {k: _unwrapped(item) for k, item in x.items()}
    return x


def _owners(args: Iterable[Any]) -> dict[int, MetadataTensor]:
    """Which object holds each piece of data, by its identity: what a function returns as it got it
    stays the caller's object."""
    found: list[MetadataTensor] = []
    for x in args:
        _operands(x, found)
    return {id(m._data): m for m in reversed(found)}


def _combined(func: object, operands: Sequence[MetadataTensor]) -> Metadata:
    """The metadata of a result."""
    first = operands[0]
    policy = first.policy
    if policy == "first":
        return first.metadata
    if policy == "merge":
        merged: Metadata = {}
        for m in operands:
            merged = {**merged, **{k: v for k, v in m.metadata.items() if k not in merged}}
        return merged
    if policy == "agree":
        for m in operands[1:]:
            if m.metadata != first.metadata:
                raise MetadataError(
                    f"{_name(func)}: operands have different metadata, {first.metadata!r} and "
                    f"{m.metadata!r}"
                )
        return first.metadata
    assert callable(policy)
    return dict(policy(func, [m.metadata for m in operands]))


def _name(func: Any) -> str:
    return torch.overrides.resolve_name(func) or func.__name__


def _wrapped(
    result: object,
    like: MetadataTensor,
    metadata: Mapping[object, object],
    owners: Mapping[int, MetadataTensor],
) -> object:
    """``result`` with each tensor in it carrying metadata."""
    if isinstance(result, _FACTS):
        return result
    owner = owners.get(id(result))
    if owner is not None:
        owner.metadata = dict(metadata)
        return owner
    if isinstance(result, MetadataTensor):
        return result
    if is_tensor_like(result) and not isinstance(result, type):
        return _joined(like, result, metadata)
    if isinstance(result, (list, tuple)):
        items = [_wrapped(item, like, metadata, owners) for item in result]
        # the types of torch's named results take a sequence
        return getattr(type(result), "_make", type(result))(items)
    if type(result) is dict:
        return {k: _wrapped(item, like, metadata, owners) for k, item in result.items()}
    return result


def _call(func: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
    """``func`` on data; a method of Tensor on data that are none of their own kind is looked up on
    them."""
    if (
        args
        and not isinstance(args[0], torch.Tensor)
        and is_tensor_like(args[0])
        and _of_tensor(func)
    ):
        if func.__name__ == "__get__":
            return getattr(args[0], func.__self__.__name__)
        if func.__name__ == "__set__":
            return setattr(args[0], func.__self__.__name__, args[1])
        return getattr(args[0], _method_name(func))(*args[1:], **kwargs)
    return func(*args, **kwargs)


def _of_tensor(func: Callable[..., object]) -> bool:
    return func.__name__ in ("__get__", "__set__", "__delete__") or is_tensor_method_or_property(
        func
    )


def _method_name(func: object) -> str:
    return _name(func).rsplit(".", 1)[-1]


def _handle(func: object, args: tuple[object, ...], kwargs: dict[str, float | str | None]) -> Any:
    special = _SPECIAL.get(func)
    if special is not None:
        return special(func, *args, **kwargs)
    found: list[MetadataTensor] = []
    _operands(args, found)
    for name, x in kwargs.items():
        if name != "out":  # what is written to has nothing to say about the result
            _operands(x, found)
    if not found:
        _operands(kwargs.get("out"), found)
    if not found:
        return NotImplemented
    metadata = _combined(func, found)
    result = _call(func, _unwrapped(args), _unwrapped(kwargs))
    return _wrapped(result, found[0], metadata, _owners((*args, *kwargs.values())))


# ---- functions with a meaning of their own -------------------------------------------------------


def _grad(func: object, self: MetadataTensor) -> MetadataTensor | None:
    """The gradient, with the metadata of its tensor; the same object as long as the gradient is the
    same."""
    grad = _call(func, (self._data,), {})
    if grad is None:
        return None
    if self._grad is None or self._grad._data is not grad:
        self._grad = _joined(self, grad, self.metadata)
    return self._grad


def _set_item(func: object, self: object, index: object, value: MetadataTensor | int) -> None:
    if isinstance(self, MetadataTensor):
        found: list[MetadataTensor] = [self]
        _operands(value, found)
        self.metadata = dict(_combined(func, found))
    _call(func, (_unwrapped(self), _unwrapped(index), _unwrapped(value)), {})


def _autograd_grad(
    func: Function,
    outputs: object,
    inputs: tuple[torch.Tensor | MetadataTensor, ...],
    *args: object,
    **kwargs: object,
) -> object:
    """One gradient for each input, with the metadata of the input."""
    found = func(_unwrapped(outputs), _unwrapped(inputs), *_unwrapped(args), **_unwrapped(kwargs))
    return tuple(
        [
            _joined(x, g, x.metadata) if isinstance(x, MetadataTensor) and g is not None else g
            for x, g in zip(inputs, found, strict=True)
        ]
    )


def _register_hook(func: object, self: MetadataTensor, hook: Callable[[Any], Any]) -> object:
    """Hooks see the gradient with the metadata of the tensor."""

    def on_data(grad: torch.Tensor) -> Any:
        return _unwrapped(hook(_joined(self, grad, self.metadata)))

    return _call(func, (self._data, on_data), {})


_SPECIAL: dict[object, Callable[..., object]] = {
    Tensor.grad.__get__: _grad,
    Tensor.__setitem__: _set_item,
    Tensor.register_hook: _register_hook,
    torch.autograd.grad: _autograd_grad,
}

#: Functions that hold no tensor in their result: the data answer.
DELEGATING = """dim ndimension size numel nelement element_size storage_offset data_ptr
    is_contiguous is_floating_point is_complex is_signed is_nonzero is_same_size is_conj is_neg
    is_inference get_device item tolist numpy equal allclose shape dtype device layout ndim itemsize
    nbytes is_leaf grad_fn output_nr requires_grad retains_grad is_cuda is_cpu is_meta is_sparse
    is_nested is_quantized backward __len__ __bool__ __int__ __index__ __float__ __complex__
    __contains__ __array__ __repr__ __format__ retain_grad""".split()


def __getattr__(name: str) -> Any:
    """``COVERAGE``: made when first asked for, since all namespaces must be there. Nothing is
    refused: the data decide."""
    if name == "COVERAGE":
        in_place = {f for f in coverage.overridable_functions() if _writes(f)}
        return coverage.cover({*_SPECIAL, *in_place}, coverage.named(DELEGATING), {})
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def _writes(func: Callable[..., object]) -> bool:
    """Whether a function changes its first operand, which is then the object that is returned."""
    name = func.__name__
    in_place = name.startswith("__i") and name not in ("__index__", "__int__", "__invert__")
    return in_place or (name.endswith("_") and not name.endswith("__"))


# ---- other parts of the namespace ----------------------------------------------------------------


def _collate(batch: Sequence[MetadataTensor], *, collate_fn_map: object = None) -> MetadataTensor:  # noqa: ARG001
    """Stacks samples in a DataLoader; their metadata are combined by the first one's policy."""
    return torch.stack(list(batch))  # type: ignore[arg-type,return-value]


def _split(m: MetadataTensor) -> tuple[Any, Any]:
    return m._data, (m.metadata, m.policy, type(m))


def _join(data: torch.Tensor, rest: Row) -> MetadataTensor:
    metadata, policy, cls = rest
    made = object.__new__(cls)
    made._data, made.metadata, made.policy, made._grad = data, dict(metadata), policy, None
    return made


default_collate_fn_map[MetadataTensor] = _collate
torch.serialization.add_safe_globals([MetadataTensor, _rebuild])
trees.register(MetadataTensor, _split, _join)
