"""Importing this states the kernels of operators that no public function computes."""

from __future__ import annotations

from ..aten import plain, plain_linalg, plain_nn, routes_whole, told

LOADED = (plain, plain_linalg, plain_nn, routes_whole, told)
