"""Which public functions are operators, as routes and declarations say: under which names, in which
parts, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import dispatch
from .. import hooks
from ..bind.cores import COMPOSITES
from ..bind.everything import CORE_METHODS
from ..bind.forms import COMMUTATIVE, OPERATORS, paths_of
from ..ops._declare import OPS, Op

if TYPE_CHECKING:
    from ..facts.kinds import Decorator, Function
    from .overloads import OpOverloadPacket


#: Functions that write a public function with operators, by its path without ``torch.``; they have
#: the public function's parameters. A path without namespace serves the method and
#: ``nn.functional`` too. They may return ``NotImplemented``.
ROUTES: dict[str, Function] = {}
#: The same by the name of the operator that PyTorch takes apart.
DECOMPOSED: dict[str, Callable[..., object]] = {}

#: Operators by other names of theirs: those of public functions, flattened, and of Python's
#: operators.
ALIASES: dict[str, str] = {}
#: Public functions whose operators PyTorch takes apart before they are dispatched, and for which
#: there is no route.
IN_PARTS = {"Tensor.chalf"}
#: Public functions that are no operators: metadata, hooks, gradients, and what is written with
#: other public methods.
NEVER = {"can_cast", "result_type", "Tensor.__eq__", *(f"Tensor.{name}" for name in CORE_METHODS)}
PREFIXES = {"linalg": "linalg_", "special": "special_", "fft": "fft_"}


def path_of(function: Callable[..., object] | str) -> str:
    """The path of a public function; what calls name otherwise, parts of functions and attributes,
    is told as text."""
    return (
        function if isinstance(function, str) else dispatch.NAMES[function].removeprefix("torch.")
    )


def route(*functions: Any, aten: OpOverloadPacket | None = None) -> Decorator:
    """Declares how public functions are written with operators; ``aten`` is the operator that is
    taken apart in the same way."""

    def declare(body: Callable[..., object]) -> Callable[..., object]:
        for function in functions:
            ROUTES[path_of(function)] = body
        if aten is not None:
            DECOMPOSED[aten.__name__] = body
        return body

    return declare


def flat(path: str) -> str:
    """The name that the operator of a public function would have."""
    namespace, _, leaf = path.rpartition(".")
    return PREFIXES.get(namespace, "") + leaf


def load() -> None:
    """Imports the modules that declare routes, and reads the declarations."""
    hooks.operator_routes.get()
    for record in (*OPS.values(), *COMPOSITES):
        if record.dispatched:
            paths = [p for path in paths_of(record) for p in (path, f"{path}_")]
            paths += [f"Tensor.{record.name}_"] if record.inplace else []
            (NEVER if record.dispatched == "never" else IN_PARTS).update(paths)
    for op in OPS.values():
        _read_names(op)


def _read_names(op: Op) -> None:
    packet = op.through or (op.aten or "").partition(".")[0]
    if not packet:
        return
    for path in [*op.aliases, *([op.path] if op.through else [])]:
        ALIASES[flat(path)] = packet
        if path == flat(path):
            ALIASES[f"{path}_"] = f"{packet}_"
    for sign in op.operators:
        plain, inplace, reflected = OPERATORS[sign]
        if sign in ("<<", ">>"):  # operators of their own
            continue
        ALIASES[plain] = packet
        if inplace is not None and op.inplace:
            ALIASES[inplace] = f"{packet}_"
        if sign in COMMUTATIVE and reflected is not None:
            ALIASES[reflected] = packet
