"""``torch.distributed.constants``: how long process groups wait by default."""

from __future__ import annotations

from datetime import timedelta

__all__ = ["default_pg_timeout", "default_pg_nccl_timeout"]

default_pg_timeout: timedelta = timedelta(minutes=30)
#: None: there is no NCCL.
default_pg_nccl_timeout: timedelta | None = None
