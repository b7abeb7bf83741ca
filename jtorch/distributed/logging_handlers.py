"""Where the records of ``torch.distributed`` go, by destination; programs put handlers of their own
here before they import the rest."""

from __future__ import annotations

import logging

__all__: list[str] = []

_log_handlers: dict[str, logging.Handler] = {"default": logging.NullHandler()}
