"""Which modules are running, forward or backward."""

from __future__ import annotations

import weakref
from typing import Any

import jtorch as torch
from jtorch.autograd.engine import queue_callback
from jtorch.autograd.graph import register_multi_grad_hook
from jtorch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A block in which ``parents`` holds the names of the modules that run, and of those whose
    backward pass does.

    A module that nothing runs is called after its class, one inside of it by its place there:
    ``"Net.layers.0"``.
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self.is_bw = False
        self._names = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[object] = weakref.WeakSet()
        self._handles = []

    def _name(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            self._seen.add(module)
            for part, child in module.named_children():
                self._names[child] = f"{name}.{part}"
                self._name(child)
        return name

    def _forward_begins(self, module: object, args: object) -> None:
        if self.is_bw:  # the backward pass before is over, whatever it left open
            self.parents, self.is_bw = {"Global"}, False
        name = self._name(module)
        self.parents.add(name)
        tensors = [x for x in tree_leaves(args) if isinstance(x, torch.Tensor) and x.requires_grad]
        if tensors:  # their gradients are the last that the module's backward pass computes
            self._handles.append(
                register_multi_grad_hook(tensors, lambda _: self.parents.discard(name))
            )

    def _forward_ends(self, module: object, args: object, output: object) -> None:
        name = self._name(module)
        self.parents.discard(name)
        tensors = [
            x for x in tree_leaves(output) if isinstance(x, torch.Tensor) and x.requires_grad
        ]

        def backward_begins(_: object) -> None:
            if not self.is_bw:
                self.is_bw = True
                queue_callback(self._backward_ends)
            self.parents.add(name)

        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, backward_begins))

    def _backward_ends(self) -> None:
        self.parents, self.is_bw = {"Global"}, False

    def __enter__(self) -> ModuleTracker:
        self._handles += [
            register_module_forward_pre_hook(self._forward_begins),
            register_module_forward_hook(self._forward_ends),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.parents, self.is_bw = {"Global"}, False
