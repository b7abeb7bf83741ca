"""Functions of ``torch.onnx.utils``: importable, and refused when called."""

from __future__ import annotations

from . import _refusing

__getattr__ = _refusing("utils")
