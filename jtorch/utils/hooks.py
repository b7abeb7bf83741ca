"""Handles of registered hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

from .._src.refusals import stand_ins as _refusals

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes it out again, as does leaving a ``with``
    block.

    The dictionaries are referred to weakly; ``extra_dict`` names more that hold something under the
    same id.
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: object = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras = (
            []
            if extra_dict is None
            else extra_dict
            if isinstance(extra_dict, list)
            else [extra_dict]
        )
        self.extra_dict_ref: tuple[Any, ...] = tuple(weakref.ref(d) for d in extras)

    def remove(self) -> None:
        """Removes the hook; does nothing the second time."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> Any:
        return (self.hooks_dict_ref(), self.id, *(reference() for reference in self.extra_dict_ref))

    def __setstate__(self, state: Any) -> None:
        # A dictionary that is gone becomes one of its own, so that the handle stays usable.
        hooks = OrderedDict() if state[0] is None else state[0]
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.extra_dict_ref = tuple(
            weakref.ref(OrderedDict() if d is None else d) for d in state[2:]
        )

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, type: object, value: object, tb: object) -> None:
        self.remove()


def unserializable_hook(f: Any) -> Any:
    """Marks a hook that is not saved with its tensor."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: object) -> None:
    """Warns of backward hooks that saving ``tensor`` loses."""
    import warnings

    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )


__getattr__ = _refusals.missing(__name__)
