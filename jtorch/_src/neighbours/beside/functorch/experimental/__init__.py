"""``functorch.experimental``."""

from __future__ import annotations

from jtorch.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

from . import control_flow as control_flow

__all__ = ["functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
