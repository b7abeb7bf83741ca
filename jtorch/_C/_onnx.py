"""The kinds of export that ``torch.onnx`` names."""

from __future__ import annotations

from ..onnx import OperatorExportTypes as OperatorExportTypes
from ..onnx import TrainingMode as TrainingMode
