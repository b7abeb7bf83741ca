"""Functions of ``torch.onnx.symbolic_opset11``: importable, and refused when called."""

from __future__ import annotations

from . import _refusing

__getattr__ = _refusing("symbolic_opset11")
