"""Quantised operations: the engine whose numbers they give. All run as XLA's programs."""

from __future__ import annotations

engine = "x86"
supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
