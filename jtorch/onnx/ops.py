"""Functions of ``torch.onnx.ops``: importable, and refused when called."""

from __future__ import annotations

from . import _refusing

__getattr__ = _refusing("ops")
