"""What PyTorch does with a function beside computing it, as its declaration states it: the options that ops and composites share.

Nothing here is keyed by names: who serves all functions (handlers, errors, graphs, autocast, operators) reads these facts from the records.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(eq=False, kw_only=True)
class Facts:
    """The options in groups.

    *Written in Python*

    ``native=False``: PyTorch writes the function in Python around ``handle_torch_function``, so that handlers are told the defaults, and
    exact Tensor among the classes. A tuple has the public paths that are in C++ all the same: ``("istft",)``, but not ``Tensor.istft``.
    ``home="functional"``: the module that offers it under its own name too, and that names it.
    """

    native: bool | tuple[str, ...] = True
    home: str = ""

    def is_native(self, path: str) -> bool:
        """Whether PyTorch has the public function ``path`` in C++."""
        return self.native if isinstance(self.native, bool) else path in self.native
