"""Factorisations and solvers, by the LAPACK that SciPy brings."""

from __future__ import annotations
