"""What the modules of ``torch.cuda.amp`` share."""

from __future__ import annotations

import warnings

from ... import cuda


def amp_definitely_not_available() -> bool:
    """Whether there is no device that mixed precision on CUDA could run on."""
    return not cuda.is_available()


def old(name: str, new: str) -> None:
    """Warns that there is a newer name."""
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )
