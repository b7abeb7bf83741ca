"""Runs samples of PyTorch's OpInfo database through both libraries: finding our callable,
converting arguments, comparing results."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils

import jtorch

# For each set of samples PyTorch looks through the whole stack, lines of code included, for a test
# of its own that it could tell of them.
common_utils.__dict__["extract_test_fn"] = lambda: None

_NAMESPACES = (
    "",
    "Tensor",
    "nn.functional",
    "linalg",
    "fft",
    "special",
    "signal.windows",
    "masked",
    "sparse",
    "_C._nn",
    "_C._special",
)

# ---- our callable --------------------------------------------------------------------------------


def resolve(root: Any, path: str) -> Any:
    """The attribute of a library at a dotted path."""
    for part in path.split("."):
        root = getattr(root, part)
    return root


@functools.cache
def _paths() -> dict[Any, str]:
    """PyTorch's public callables -> their paths without ``torch.``."""
    found: dict[Any, str] = {}
    for prefix in _NAMESPACES:
        namespace = resolve(torch, prefix) if prefix else torch
        for name in dir(namespace):
            value = getattr(namespace, name, None)
            if callable(value) and not isinstance(value, type):
                try:
                    found.setdefault(value, f"{prefix}.{name}".lstrip("."))
                except TypeError:  # not hashable
                    pass
    return found


class _Rebound(dict[str, Any]):
    """The globals of a helper of the database, with our library in PyTorch's place, in other
    helpers that it calls too."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name == "torch":
            return jtorch
        if name == "F":
            return jtorch.nn.functional
        if (
            isinstance(value, types.FunctionType)
            and value.__module__.startswith("torch.testing")
            and not hasattr(value, "__wrapped__")
        ):
            return counterpart(value)
        return value


def counterpart(function: Any) -> Callable[..., Any]:
    """What our library has for a callable of the database.

    Raises:
        AttributeError: if it has nothing.
    """
    path = _paths().get(function)
    if path is not None:
        return resolve(jtorch, path.replace("_C._nn", "nn.functional"))
    if isinstance(function, functools.partial):
        return functools.partial(counterpart(function.func), *function.args, **function.keywords)
    if isinstance(function, types.FunctionType):
        space = _Rebound(function.__globals__)
        made = types.FunctionType(
            function.__code__, space, function.__name__, function.__defaults__, _cells(function)
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made
    name = getattr(function, "__name__", "")
    if hasattr(jtorch.Tensor, name):
        return getattr(jtorch.Tensor, name)
    if (
        type(function).__name__ == "builtin_function_or_method"
        and getattr(function, "__module__", "") == "_operator"
    ):
        return function
    raise AttributeError(f"nothing for {function!r}")


def _cells(function: types.FunctionType) -> tuple[types.CellType, ...] | None:
    """A helper's closure; functions of PyTorch in it become ours."""
    if function.__closure__ is None:
        return None
    made = []
    for cell in function.__closure__:
        value = cell.cell_contents
        made.append(
            types.CellType(
                counterpart(value) if callable(value) and not isinstance(value, type) else value
            )
        )
    return tuple(made)


# ---- values to and fro ---------------------------------------------------------------------------

_BITS = {torch.bfloat16: torch.int16}


def _array(t: torch.Tensor) -> np.ndarray:
    t = t.detach().resolve_conj().resolve_neg()
    return t.view(_BITS[t.dtype]).numpy() if t.dtype in _BITS else t.numpy()


def _strided(t: torch.Tensor) -> Any:
    """Our tensor of the same values, shape, strides and dtype."""
    if t.dtype in _BITS:
        made = jtorch.tensor(_array(t.contiguous())).view(jtorch.bfloat16)
    else:
        made = jtorch.tensor(_array(t.contiguous()))
    dense = sorted(range(t.dim()), key=lambda d: -t.stride(d))
    if not t.is_contiguous() and t.numel() and t.permute(dense).is_contiguous():
        made = made.permute(dense).contiguous().permute(tuple(int(i) for i in np.argsort(dense)))
    return made


def ours(value: Any) -> Any:
    """A sample's argument for our library."""
    if isinstance(value, torch.Tensor):
        return _strided(value)
    if isinstance(value, torch.dtype):
        return getattr(jtorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return jtorch.device(str(value))
    if isinstance(value, (torch.memory_format, torch.layout)):
        return getattr(jtorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.Size):
        return jtorch.Size(value)
    if isinstance(value, dict):
        return {k: ours(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([ours(v) for v in value])
    if isinstance(value, torch.nn.Module):  # a module without parameters
        return getattr(jtorch.nn, type(value).__name__)()
    if callable(value) and not isinstance(value, type):
        return counterpart(value)
    return value


def theirs(value: Any) -> Any:
    """One of our results for PyTorch's comparisons."""
    if isinstance(value, jtorch.Tensor):
        if value.dtype is jtorch.bfloat16:
            return torch.from_numpy(
                np.array(value.detach().contiguous().view(jtorch.int16).numpy())
            ).view(torch.bfloat16)
        return torch.from_numpy(np.array(value.detach().resolve_conj().resolve_neg().numpy()))
    if isinstance(value, jtorch.dtype):
        return getattr(torch, str(value).removeprefix("torch."))
    if isinstance(value, (list, tuple)):
        return [theirs(v) for v in value]
    return value


# ---- comparing -----------------------------------------------------------------------------------

_RTOL = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-5, torch.complex64: 2e-5}


def compare(found: Any, expected: Any, shapes_only: bool, where: str = "") -> None:
    """Asserts that a result of ours is PyTorch's: structure, dtypes, shapes and, up to rounding,
    values."""
    if isinstance(expected, (list, tuple)) and not isinstance(expected, torch.Size):
        assert isinstance(found, (list, tuple)), (
            f"{where}: expected {type(expected).__name__}, got {type(found).__name__}"
        )
        assert isinstance(found, list) == isinstance(expected, list), (
            f"{where}: a {type(found).__name__} for a {type(expected).__name__}"
        )
        assert len(found) == len(expected), f"{where}: {len(found)} items, not {len(expected)}"
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            compare(a, b, shapes_only, f"{where}[{i}]")
        return
    if isinstance(expected, torch.Size):
        assert tuple(found) == tuple(expected), f"{where}: {found} is not {expected}"
        return
    if not isinstance(expected, torch.Tensor):
        assert theirs(found) == expected or (found != found and expected != expected), (
            f"{where}: {found!r} is not {expected!r}"
        )
        return
    assert isinstance(found, jtorch.Tensor), (
        f"{where}: expected a tensor, got {type(found).__name__}"
    )
    assert str(found.dtype) == str(expected.dtype), (
        f"{where}: dtype {found.dtype}, not {expected.dtype}"
    )
    assert tuple(found.shape) == tuple(expected.shape), (
        f"{where}: shape {tuple(found.shape)}, not {tuple(expected.shape)}"
    )
    if shapes_only or expected.is_sparse:
        return
    mine, expected = theirs(found), expected.detach().resolve_conj().resolve_neg()
    if not expected.dtype.is_floating_point and not expected.dtype.is_complex:
        assert torch.equal(mine, expected), f"{where}: {mine} is not {expected}"
        return
    finite = expected[torch.isfinite(expected)]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    rtol = _RTOL.get(expected.dtype, 1e-9)
    torch.testing.assert_close(
        mine,
        expected,
        rtol=rtol,
        atol=rtol * max(largest, 1.0),
        equal_nan=True,
        msg=lambda m: f"{where}: {m}",
    )


def _has_layouts(value: Any) -> bool:
    """Whether there is a tensor of another layout than strided, or one that looks at a part of its
    memory, which conversion loses."""
    if isinstance(value, torch.Tensor):
        return value.layout is not torch.strided or (
            value._is_view() and value.untyped_storage().nbytes() > value.nbytes
        )
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, (list, tuple)) and any(_has_layouts(v) for v in value)


def check(op: Any, function: Any, sample: Any, shapes_only: bool) -> bool:
    """Runs one sample through both; returns whether PyTorch could run it."""
    if _has_layouts((sample.input, sample.args, sample.kwargs)):
        return False
    mine = counterpart(function)
    given = [ours(x) for x in (sample.input, sample.args, sample.kwargs)]
    torch.manual_seed(0)
    try:
        expected = function(sample.input, *sample.args, **sample.kwargs)
    except Exception:  # such as a layout that only other devices have
        return False
    jtorch.manual_seed(0)
    compare(mine(given[0], *given[1], **given[2]), expected, shapes_only, op.full_name)
    return True


def first_samples(op: Any, dtype: torch.dtype, count: int) -> Sequence[Any]:
    """The first samples of an operator, and the last one that there is within reach."""
    made = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        made.append(sample)
        if len(made) == 8:
            break
    return (made[: count - 1] or made[:0]) + made[-1:] if len(made) > count else made
