"""Backends made of compilers of operators."""

from __future__ import annotations

from jtorch._functorch.aot_autograd import aot_autograd

__all__ = ["aot_autograd"]
