"""Importing this states the derivatives of operators."""

from __future__ import annotations

from ..aten import formulas, formulas_index, formulas_linalg, formulas_nn, formulas_special

LOADED = (formulas, formulas_index, formulas_linalg, formulas_nn, formulas_special)
