"""Tensors as text, character for character as torch prints them, and the options of printing."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...autograd.dual import tangent_of
from ...core import Tensor, detached, from_value, wide
from ...dispatch import DisableTorchFunction
from ..borders.pytree import Held
from ..engine import Lifted, array_of, execution
from ..facts import dtypes

if TYPE_CHECKING:
    from ..facts.kinds import Named


@dataclasses.dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()
_PROFILES: dict[str, dict[str, object]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed; what is None stays, except ``sci_mode``, which None makes
    automatic.

    Args:
        precision: digits after the point.
        threshold: number of elements above which only the edges are shown.
        edgeitems: how many items an edge has.
        linewidth: characters after which a line is broken.
        profile: ``"default"``, ``"short"`` or ``"full"``, applied before the others.
        sci_mode: scientific notation always or never.

    Example:
        >>> import jtorch as torch
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([1.23456])
        tensor([1.23])
        >>> torch.set_printoptions(profile="default")
        >>> torch.tensor([1.23456])
        tensor([1.2346])
    """
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen = {
        **_PROFILES.get(profile or "", {}),
        **{k: v for k, v in given.items() if v is not None},
    }
    for name, value in chosen.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> Named:
    """The options in force, as keywords of ``set_printoptions``."""
    return dataclasses.asdict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """A block with other options, those of ``set_printoptions``."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# ------------------------------------------------------------------------------------------ numbers


class _Column:
    """How the numbers of one tensor (or of its real or imaginary parts) are written: one notation
    and width for all."""

    def __init__(self, shown: np.ndarray) -> None:
        self.floating = shown.dtype.kind == "f"
        self.whole = True
        self.scientific = False
        texts: Iterator[str] | list[str]
        if self.floating:
            with np.errstate(all="ignore"):  # signalling NaNs, quotients that overflow
                counted = shown[np.isfinite(shown) & (shown != 0)].astype(np.float64)
                self._choose(counted)
            texts = [self._bare(x) for x in counted.tolist()]
        else:
            texts = [str(x) for x in shown.ravel().tolist()]
        self.width = max(map(len, texts), default=1)

    def _choose(self, counted: np.ndarray) -> None:
        if not counted.size:
            return
        self.whole = bool((counted == np.ceil(counted)).all())
        magnitudes = np.abs(counted)
        low, high = magnitudes.min(), magnitudes.max()
        automatic = bool(high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4)
        self.scientific = automatic if _options.sci_mode is None else _options.sci_mode

    def _bare(self, x: float) -> str:
        if self.scientific:
            return f"{x:.{_options.precision}e}"
        if self.whole:
            return f"{x:.0f}" + ("." if math.isfinite(x) else "")
        return f"{x:.{_options.precision}f}"

    def text(self, x: float) -> str:
        """One number, padded to the common width."""
        return (self._bare(x) if self.floating else str(x)).rjust(self.width)


class _Complex:
    """Two columns: real and imaginary parts."""

    def __init__(self, shown: np.ndarray) -> None:
        self.real, self.imag = _Column(shown.real), _Column(shown.imag)
        self.width = self.real.width + self.imag.width + 1

    def text(self, x: complex) -> str:
        imag = self.imag.text(x.imag).lstrip() + "j"
        return self.real.text(x.real) + (imag if imag[0] in "+-" else "+" + imag)


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that a summary shows: they alone decide on notation and width."""
    edge = _options.edgeitems
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * edge:
            ends = [*range(edge), *range(array.shape[axis] - edge, array.shape[axis])]
            # With no edge items torch shows no number at all, but measures all of a vector.
            if edge or array.ndim > 1:
                # ``take`` would copy what is repeated
                array = array[(slice(None),) * axis + (ends,)]
    return array


def _block(array: np.ndarray, indent: int, summarize: bool, column: _Column | _Complex) -> str:
    edge = _options.edgeitems
    if array.ndim == 0:
        return column.text(array.item())
    shortened = summarize and len(array) > 2 * edge
    parts = [array[:edge], array[len(array) - edge :]] if shortened else [array]
    if array.ndim == 1:
        cells = [[column.text(x) for x in part.tolist()] for part in parts]
        items = [*cells[0], " ..." if edge else "...", *cells[1]] if shortened else cells[0]
        per_line = max(1, math.floor((_options.linewidth - indent) / (column.width + 2)))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [[_block(x, indent + 1, summarize, column) for x in part] for part in parts]
    blocks = [*rows[0], "...", *rows[1]] if shortened else rows[0]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(blocks) + "]"


def numbers(array: np.ndarray, indent: int = 0) -> str:
    """The elements of an array in brackets, as torch prints them ``indent`` characters from the
    left."""
    if array.size == 0:
        return "[]"
    # bfloat16 and the float8 types of ml_dtypes: float32 holds all their values
    if array.dtype.kind not in "biufc":
        with np.errstate(invalid="ignore"):
            array = array.astype(np.float32)
    summarize = array.size > _options.threshold
    shown = _edges(array) if summarize else array
    column = _Complex(shown) if array.dtype.kind == "c" else _Column(shown)
    return _block(array, indent, summarize, column)


# ------------------------------------------------------------------------------------------ tensors


def add_suffixes(text: str, suffixes: Sequence[str], indent: int, newline: bool = False) -> str:
    """``text`` with ``, suffix`` for each one and the closing parenthesis; a line that would be too
    long is broken."""
    parts = [text]
    width = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if newline or width + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            width, newline = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            width += len(suffix) + 2
    return "".join(parts) + ")"


def describe(
    array: np.ndarray | None,
    shape: Sequence[int],
    dtype: dtypes.dtype,
    *,
    name: str = "tensor",
    device: str | None = None,
    grad_fn: str | None = None,
    requires_grad: bool = False,
    contents: str | None = None,
    tangent: str | None = None,
) -> str:
    """The text of a tensor of these properties. Without ``array`` there are no elements to show, as
    on the meta device.

    Args:
        device: shown if not None.
        grad_fn: the name of the function that made it.
        contents: replaces the elements.
        tangent: the text of its forward derivative.
    """
    indent = len(name) + 1
    suffixes = [] if device is None else [f"device='{device}'"]
    default = dtypes.get_default_dtype()
    usual = (default, dtypes.default_complex(), dtypes.int64, dtypes.bool_)
    size = f"size={tuple(shape)}"
    if array is None:
        suffixes.append(size)
        usual = (default,)
        body = "..."
    elif array.size == 0:
        # Without elements nothing tells the dtype, and only one dimension is told by the brackets.
        suffixes += [size] if len(shape) != 1 else []
        usual = (default,)
        body = "[]"
    else:
        suffixes += [] if _options.edgeitems else [size]
        body = numbers(array, indent) if contents is None else ""
    if dtype not in usual:
        suffixes.append(f"dtype={dtype}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return add_suffixes(f"{name}({body if contents is None else contents}", suffixes, indent)


def _is_plain(cls: type) -> bool:
    return cls is Tensor or (
        cls.__name__ == "Parameter" and cls.__module__.startswith(("jtorch.nn", "torch.nn"))
    )


def _tangent(t: Tensor) -> str | None:
    v = t._read()
    if not isinstance(v, Lifted):
        return None
    found = tangent_of(v)
    return None if found is None else tensor_repr(found)


def _grad_fn_name(t: Tensor) -> str | None:
    try:
        node = t.grad_fn
    except RuntimeError:  # a view whose history can no longer be told
        return "Invalid"
    if node is None:
        return None
    name = getattr(node, "name", None)
    return str(name()) if callable(name) else type(node).__name__


def _repeated_once(t: Tensor) -> Tensor:
    """The tensor, or a view with one of the elements that it repeats, if they are more than its
    memory has."""
    al = t._al
    if al is None or not wide(al):
        return t
    return detached(t)[tuple([slice(0, 1) if s == 0 else slice(None) for s in al.strides])]


def tensor_repr(t: Tensor, *, tensor_contents: str | None = None) -> str:
    """What ``repr`` of a tensor is: its elements, and what cannot be told from them. Asks no
    handler and no mode."""
    if type(t._al) is Held:
        return f"{'tensor' if _is_plain(type(t)) else type(t).__name__}(<{t._al.leaf!r}>)"
    v: Any = t._v if t._al is None else t._al.value
    if isinstance(v, Lifted) and hasattr(v, "physical"):  # one example of a vmap stands for all
        inner = tensor_repr(from_value(v.physical)).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={v.depth}, bdim=0, value=\n    {inner}\n)"
    # What a view repeats beyond its memory is never made, which takes that reading it is put off.
    once = execution("deferred") if t._al is not None and wide(t._al) else contextlib.nullcontext()
    with DisableTorchFunction(), once:
        cls, place, dtype, shape = type(t), t.device, t.dtype, tuple(t.shape)
        plain = _is_plain(cls)
        array: np.ndarray | None = None
        if place.type != "meta":
            # Not t.jax(): looking at a tensor must not keep its buffer from being reused.
            data = array_of(_repeated_once(t)._read())
            if isinstance(data, jax.core.Tracer):
                tensor_contents = tensor_contents or repr(data)
                array = np.broadcast_to(np.zeros((), dtype.np), shape)
            else:
                array = np.broadcast_to(np.asarray(data), shape)
        text = describe(
            array,
            shape,
            dtype,
            name="tensor" if plain else cls.__name__,
            device=None if place.type == "cpu" else str(place),
            grad_fn=_grad_fn_name(t),
            requires_grad=t.requires_grad,
            contents=tensor_contents,
            tangent=_tangent(t),
        )
        return text if plain or not getattr(t, "_is_param", False) else f"Parameter({text})"
