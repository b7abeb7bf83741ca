"""Importing this says how functions become operators, where PyTorch takes them apart."""

from __future__ import annotations

from ..aten import (
    routes_factories,
    routes_linalg,
    routes_losses,
    routes_math,
    routes_nn,
    routes_products,
    routes_recurrent,
    routes_sequences,
    routes_shape,
    routes_statistics,
    routes_tensor,
)

LOADED = (
    routes_factories, routes_linalg, routes_losses, routes_math, routes_nn, routes_products,
    routes_recurrent, routes_sequences, routes_shape, routes_statistics, routes_tensor,
)  # fmt: skip
