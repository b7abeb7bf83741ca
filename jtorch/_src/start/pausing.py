"""Keeps Python's garbage collector out of the way while the package is imported. Floor 0.

Importing JAX and this package makes some 200,000 objects that live until the process ends. While
they are made, the collector walks over the growing heap again and again and finds nothing; later
each full collection, and the several at exit, walk over all of them once more. Together that took
longer than the import itself (decision 0011).
"""

from __future__ import annotations

import gc

#: A heap of more objects than this when the import begins holds data of the program, which must
#: stay collectable.
YOUNG = 150_000


class Pause:
    """``with Pause():`` no collections; what was made meanwhile is not looked at later either, if
    there was little else in the heap."""

    def __enter__(self) -> None:
        self.was_enabled = gc.isenabled()
        gc.disable()
        self.young = self.was_enabled and len(gc.get_objects()) <= YOUNG
        if self.young:
            gc.collect()  # what is garbage already shall not be kept with what follows

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if self.young and error is None:
            gc.freeze()
        if self.was_enabled:
            gc.enable()
