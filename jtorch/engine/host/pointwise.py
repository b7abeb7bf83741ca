"""Element by element: arithmetic, comparisons, transcendental functions, complex numbers, selection."""

from __future__ import annotations

import numpy as np

from .rules import Compute, Equation, rule

_UFUNCS = {"add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "exp": np.exp}


@rule(*_UFUNCS, broadcasts=True)
def _ufunc(e: Equation) -> Compute | None:
    return _UFUNCS[e.name]
