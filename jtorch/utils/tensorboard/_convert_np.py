"""NumPy arrays of what programs log."""

from __future__ import annotations

import numpy as np

import jtorch as torch


def make_np(x: object) -> np.ndarray:
    """The values of a tensor, an array, a list or a number.

    Raises:
        NotImplementedError: for anything else.
    """
    if isinstance(x, (list, np.ndarray)):
        return np.array(x) if isinstance(x, list) else x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, torch.Tensor):
        t = x.detach().cpu()
        return (t.to(torch.float16) if t.dtype is torch.bfloat16 else t).numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
