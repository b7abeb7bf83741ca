"""The names of a checkpoint's files in the safetensors format, as Hugging Face's libraries look for
them."""

from __future__ import annotations

import json
from typing import Any

SHARDED_DIR_NAME = "sharded"
_metadata_fn = "model.safetensors.index.json"


def _gen_file_name(index: int, largest_index: int, shard_index: int | None = None) -> str:
    shard = "" if shard_index is None else f"shard-{shard_index:05d}-"
    return f"{shard}model-{index:05d}-of-{largest_index:05d}.safetensors"


def index_text(weight_map: dict[str, str], size: int) -> str:
    """The file that says in which file each tensor is."""
    return json.dumps({"metadata": {"total_size": size}, "weight_map": weight_map}, indent=2)


def named_by(text: str) -> dict[str, str]:
    """What such a file says; nothing if it is damaged."""
    try:
        found: Any = json.loads(text)["weight_map"]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}
