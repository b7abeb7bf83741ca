"""The named tuples that functions with several results return."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._src.facts.kinds import Named


_made: dict[str, type] = {}
#: Classes that are offered before a call has made one.
_FIELDS = {
    "linalg_lstsq": "solution residuals rank singular_values", "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
}  # fmt: skip
#: Functions whose results have a class of their own where they are written into ``out=``.
_WRITTEN = frozenset(
    """aminmax cummax cummin frexp geqrf histogram kthvalue linalg_cholesky_ex linalg_eig
    linalg_eigh linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_lstsq linalg_lu
    linalg_lu_factor linalg_lu_factor_ex linalg_qr linalg_slogdet linalg_solve_ex linalg_svd
    lu_unpack max median min mode nanmedian qr slogdet sort svd topk triangular_solve""".split()
)


class _Result(tuple[Any, ...]):
    """A tuple whose items also have names; built from one sequence, as torch's are."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = 0
    n_unnamed_fields = 0

    def __repr__(self) -> str:
        items = ",\n".join(
            f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)
        )
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    @classmethod
    def _written(cls, items: Iterable[object]) -> Any:
        """The tuple that a call with ``out=`` gives."""
        name = cls.__name__
        return (make(f"{name}_out", cls._fields) if name in _WRITTEN else cls)(items)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self).__name__, tuple(self)))


def _rebuild(name: str, items: tuple[object, ...]) -> object:
    return __getattr__(name)(items)


def make(name: str, fields: tuple[str, ...]) -> Callable[[Iterable[Any]], Any]:
    """The class of a function's result, such as ``torch.return_types.max``."""
    found = _made.get(name)
    if found is None:
        space: Named = {
            "__slots__": (),
            "_fields": fields,
            "n_fields": len(fields),
            "n_sequence_fields": len(fields),
            "__module__": "torch.return_types",
        }
        for i, field in enumerate(fields):
            space[field] = property(lambda self, i=i: tuple.__getitem__(self, i))
        found = _made[name] = type(name, (_Result,), space)
        globals()[name] = found
    return found


def __getattr__(name: str) -> Any:
    if name == "all_return_types":
        return [
            found for _, found in sorted(_made.items()) if found.__module__ == "torch.return_types"
        ]
    function = name.removesuffix("_out")
    if function in _FIELDS:
        make(function, tuple(_FIELDS[function].split()))
    if name in _made:
        return _made[name]
    if function != name and function in _WRITTEN and function in _made:
        return make(name, _made[function]._fields)
    raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FIELDS, *(f"{name}_out" for name in _WRITTEN)})
