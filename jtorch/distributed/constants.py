"""How long the collectives of a group may take, where nothing else is said."""

from __future__ import annotations

import datetime

default_pg_timeout = datetime.timedelta(minutes=30)
default_pg_nccl_timeout = datetime.timedelta(minutes=10)
