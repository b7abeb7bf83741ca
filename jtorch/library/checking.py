"""``opcheck``: whether what is registered for a user operator fits together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from .._src.aten.overloads import OpOverload, OpOverloadPacket
from .._src.engine import execution
from .._src.tensor.shape_env import ShapeEnv
from . import registry
from .registry import UserPacket

if TYPE_CHECKING:
    from .._src.facts.kinds import Keywords, Tree


__all__ = ["OpCheckError", "opcheck"]

_UTILS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """Raised by ``opcheck``: something that is registered for an operator is wrong."""


def _map(fn: Callable[[Tensor], object], x: object) -> Tree:
    if isinstance(x, Tensor):
        return fn(x)
    if isinstance(x, (list, tuple)):
        return type(x)(_map(fn, i) for i in x)
    if isinstance(x, dict):
        return {k: _map(fn, v) for k, v in x.items()}
    return x


def _tensors(x: tuple[object, ...] | Tensor) -> list[Tensor]:
    found: list[Tensor] = []
    _map(found.append, x)
    return found


def _copies(args: tuple[object, ...], kwargs: object) -> tuple[Any, Any]:
    def copy(t: Tensor) -> Tensor:
        return t.detach().clone().requires_grad_(t.requires_grad)

    return _map(copy, args), _map(copy, kwargs)


def _test_schema(
    op: OpOverload | registry.UserOverload, args: tuple[Tensor | float, ...], kwargs: Keywords
) -> None:
    """Arguments change if and only if the schema says so; the kernel checks itself that results are
    no arguments."""
    args, kwargs = _copies(args, kwargs)
    before, _ = _copies((args, kwargs), {})
    with torch.no_grad():
        op(*args, **kwargs)
    values = op.complete(args, kwargs)
    written = {id(t) for i in op._schema.writes for t in _tensors(values[i])}
    for now, was in zip(_tensors((args, kwargs)), _tensors(before), strict=True):
        if id(now) not in written and not torch.equal(now.detach(), was.detach()):
            raise OpCheckError(
                f"{op}: an argument was mutated that the schema {op._schema} does not declare to be"
            )


def _test_autograd_registration(
    op: OpOverload | registry.UserOverload, args: tuple[Tensor | float, ...], kwargs: Keywords
) -> None:
    """With arguments that require grad, results do, by a derivative that is registered."""
    args, kwargs = _copies(args, kwargs)
    if op._schema.is_mutable or not any(t.requires_grad for t in _tensors((args, kwargs))):
        return
    user = getattr(op, "user", None)  # (PyTorch's own operators have their derivatives)
    if user is not None and not (user.rule or user.jax or user.composite or user.autograd_key):
        raise OpCheckError(
            f"{op}: an argument requires grad, but no autograd formula was registered. Please use "
            "register_autograd to add one."
        )
    out = op(*args, **kwargs)
    if (
        user is not None
        and not any(t.requires_grad for t in _tensors(out))
        and any(t.is_floating_point() for t in _tensors(out))
    ):
        raise OpCheckError(f"{op}: an argument requires grad, but no result does")


def _test_faketensor(
    op: OpOverload | registry.UserOverload, args: tuple[Tensor | float, ...], kwargs: Keywords
) -> None:
    """Without data, results have the same shapes, dtypes, strides and devices; sizes that data
    decide may be any."""
    args, kwargs = _copies(args, kwargs)
    mode = torch._subclasses.FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)
    fake_args, fake_kwargs = _map(lambda t: mode.from_tensor(t.detach()), (args, kwargs))
    with torch.no_grad():
        with mode:
            fake = _tensors(op(*fake_args, **fake_kwargs))
        real = _tensors(op(*args, **kwargs))
    if len(real) != len(fake):
        raise OpCheckError(f"{op}: the fake impl gives {len(fake)} tensors, the kernel {len(real)}")
    for i, (r, f) in enumerate(zip(real, fake, strict=True)):
        for what in ("shape", "dtype", "device"):
            a, b = getattr(r, what), getattr(f, what)
            if what == "shape" and _decided_by_data(b) and len(a) == len(b):
                a, b = (
                    [n for n, m in zip(sizes, b, strict=True) if type(m) is int] for sizes in (a, b)
                )
            if a != b:
                raise OpCheckError(f"{op}: result {i} has {what} {a}, but the fake impl gives {b}")
        if not _decided_by_data(f.shape) and r.stride() != f.stride():
            raise OpCheckError(
                f"{op}: result {i} has strides {r.stride()}, but the fake impl gives {f.stride()}"
            )


def _decided_by_data(sizes: torch.Size) -> bool:
    return any(type(n) is not int for n in sizes)


def _test_aot_dispatch_dynamic(
    op: OpOverload | registry.UserOverload,
    args: tuple[Tensor | float, ...],
    kwargs: Keywords,
    atol: float | None = None,
    rtol: float | None = None,
) -> None:
    """Recorded and run at once, results and gradients are the same."""
    if op._schema.is_mutable:
        return
    found = []
    for mode in ("immediate", "deferred"):
        own, named = _copies(args, kwargs)
        with execution(mode):
            out = _tensors(op(*own, **named))
            roots = [t for t in out if t.requires_grad]
            leaves = [t for t in _tensors((own, named)) if t.requires_grad]
            grads = ()
            if roots and leaves:
                total = sum((t.abs().sum() for t in roots), torch.zeros(()))
                grads = torch.autograd.grad(total, leaves, allow_unused=True)
            found.append(
                [t.detach() for t in itertools.chain(out, [g for g in grads if g is not None])]
            )
    torch.testing.assert_close(*found, atol=atol, rtol=rtol, equal_nan=True)


def opcheck(
    op: object,
    args: tuple[object, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _UTILS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Runs an operator on sample arguments to see whether what is registered for it is right; gives
    ``"SUCCESS"`` or the exception by test.

    It compares the schema with what the kernel changes, the results of ``register_fake`` with real
    ones, and recorded with immediate runs, and asks for a derivative. Gradients themselves are for
    ``gradcheck``.

    Raises:
        OpCheckError: if a test fails, with ``raise_exception``.
    """
    overload = getattr(op, "_opoverload", op)
    if isinstance(op, UserPacket):
        overload = registry.found(op)
    if isinstance(op, OpOverloadPacket) and not isinstance(op, UserPacket):
        raise RuntimeError(
            "opcheck can only test operators without overloads. Got the following overloads for "
            f"{op}: {[n.replace('default', '') for n in op.overloads()]}"
        )
    if not isinstance(overload, OpOverload):
        what = (
            "op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
        raise ValueError(f"opcheck(op, ...): {what}")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if unknown := [n for n in names if n not in _UTILS]:
        raise ValueError(f"Expected test_utils to be subset of {_UTILS} but got {unknown}")
    results = {}
    for name in names:
        options = {"atol": atol, "rtol": rtol} if name == "test_aot_dispatch_dynamic" else {}
        try:
            globals()[f"_{name}"](overload, args, kwargs or {}, **options)
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
        else:
            results[name] = "SUCCESS"
    return results
