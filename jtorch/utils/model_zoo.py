"""The older place of ``torch.hub``'s loading of weights."""

from __future__ import annotations

from jtorch.hub import download_url_to_file, load_state_dict_from_url
from jtorch.hub import tqdm as tqdm

__all__ = ["load_url"]

load_url = load_state_dict_from_url
_download_url_to_file = download_url_to_file
