"""Helpers for tests: comparing tensors, and making them."""

from __future__ import annotations

from . import _utils as _utils
from .comparison import assert_allclose as assert_allclose
from .comparison import assert_close as assert_close
from .creation import make_tensor as make_tensor
from .file_check import FileCheck as FileCheck

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
