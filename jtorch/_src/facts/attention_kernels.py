"""Which implementations of attention programs have left enabled: below the functions, products are
shown where the fused one is off."""

from __future__ import annotations

#: By the names of ``torch.backends.cuda``; ``reduced``: sums of half precision in the formula may
#: stay in half precision.
ENABLED = {
    "flash": True,
    "mem_efficient": True,
    "math": True,
    "cudnn": True,
    "overrideable": True,
    "reduced": False,
}
