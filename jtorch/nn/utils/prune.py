"""Pruning: masks on parameters, chosen at random or by size, applied before every forward."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from ..modules.module import Module

if TYPE_CHECKING:
    from ..._src.facts.kinds import Row


class BasePruningMethod(ABC):
    """A way to choose a mask, and the forward pre-hook that applies it:
    ``name = name_orig * name_mask``.

    A subclass sets ``PRUNING_TYPE`` (unstructured, structured or global) and defines
    ``compute_mask``.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        """Sets the pruned tensor before a forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for ``t``, zero wherever ``default_mask`` is."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor of ``module``."""
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, name + "_mask")
        original = getattr(module, name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Prunes parameter ``name`` (further, if it is pruned already), by ``importance_scores`` or
        its own values."""
        found = [
            (k, hook)
            for k, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(found) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module "
                f"{module}. Use a PruningContainer."
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        old: Any = None
        if found:
            key, old = found[0]
            del module._forward_pre_hooks[key]
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is None:
            scores = original
        else:
            if importance_scores.shape != original.shape:
                raise AssertionError(
                    f"importance_scores should have the same shape as parameter {name} of "
                    f"{module}, got {importance_scores.shape} vs {original.shape}"
                )
            scores = importance_scores
        if old is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
            default_mask = torch.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if old is None:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """``t`` pruned, without a module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned tensor an ordinary parameter."""
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one tensor, one after the other; each acts on what the ones before have
    left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        elif len(args) == 1 and isinstance(args[0], tuple):
            args = args[0]
            self._set_all(args)
        else:
            self._set_all(args)

    def _set_all(self, methods: Row) -> None:
        for method in methods:
            if not hasattr(self, "_tensor_name"):
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds a pruning at the end."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named '"
                f"{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """What the last method makes of the part that is left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            left: Any = mask == 1
        elif kind == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    "Pruning methods of PRUNING_TYPE 'structured' need to have the attribute `dim` "
                    "defined."
                )
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            channels = mask.sum(dim=others) != 0  # those that are not pruned yet
            left = (slice(None),) * dim + (channels,)
        elif kind == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        partial = method.compute_mask(t[left], default_mask=mask[left])
        new = mask.clone()
        new[left] = partial.to(dtype=mask.dtype)
        return new


class Identity(BasePruningMethod):
    """Prunes nothing: brings only the mask and the hook."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """``default_mask``."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:
        """Adds a mask of ones to parameter ``name``."""
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes an ``amount`` of the elements (a share or a number) at random."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros at random places."""
        size = t.nelement()
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            chosen = torch.topk(torch.rand_like(t).view(-1), k=count)
            mask.view(-1)[chosen.indices] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> Any:
        """Prunes parameter ``name``."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the ``amount`` of elements (a share or a number) with the smallest absolute value."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros where ``|t|`` is smallest."""
        size = t.nelement()
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            chosen = torch.topk(torch.abs(t).view(-1), k=count, largest=False)
            mask.view(-1)[chosen.indices] = 0
        return mask

    @classmethod
    def apply(
        cls, module: Module, name: str, amount: Any, importance_scores: Tensor | None = None
    ) -> Any:
        """Prunes parameter ``name``."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


def _channel_mask(t: Tensor, dim: int, kept: Tensor) -> Tensor:
    """A mask that is one in the channels ``kept`` along ``dim``."""
    mask = torch.zeros_like(t)
    mask[(slice(None),) * (dim % t.dim()) + (kept,)] = 1
    return mask


class RandomStructured(BasePruningMethod):
    """Prunes an ``amount`` of the channels along ``dim`` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros in random channels."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        if count == 0:
            return default_mask
        threshold = torch.kthvalue(chances := torch.rand(size), k=count).values
        return default_mask * _channel_mask(t, self.dim, (chances > threshold).to(t.device)).to(
            dtype=default_mask.dtype
        )

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> Any:
        """Prunes parameter ``name``."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prunes the ``amount`` of channels along ``dim`` with the smallest ``n``-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros in the channels with the smallest norm."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        if count == 0:
            return default_mask
        kept = torch.topk(_compute_norm(t, self.n, self.dim), k=size - count, largest=True)
        return default_mask * _channel_mask(t, self.dim, kept.indices).to(dtype=default_mask.dtype)

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        amount: Any,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> Any:
        """Prunes parameter ``name``."""
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The given mask times ``default_mask``."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:
        """Prunes parameter ``name``."""
        return super().apply(module, name, mask=mask)


def identity(module: Module, name: str) -> Module:
    """Adds mask and hook to parameter ``name`` without pruning."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: object) -> Module:
    """Prunes a random ``amount`` of the elements of parameter ``name``."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: object, importance_scores: Tensor | None = None
) -> Module:
    """Prunes the ``amount`` of elements of parameter ``name`` with the smallest absolute value."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: object, dim: int) -> Module:
    """Prunes a random ``amount`` of the channels of parameter ``name`` along ``dim``."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: object,
    n: object,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prunes the ``amount`` of channels of parameter ``name`` along ``dim`` with the smallest
    ``n``-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: object, pruning_method: Any, importance_scores: object = None, **kwargs: Any
) -> None:
    """Prunes several parameters, given as (module, name) pairs, as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    flat_scores = torch.cat(
        [
            scores.get((module, name), getattr(module, name)).reshape(-1)
            for module, name in parameters
        ]
    )
    masks = [
        getattr(module, name + "_mask", torch.ones_like(getattr(module, name))).reshape(-1)
        for module, name in parameters
    ]
    default_mask = torch.cat(masks)
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type "
            f"{method.PRUNING_TYPE}"
        )
    mask = container.compute_mask(flat_scores, default_mask)
    start = 0
    for module, name in parameters:
        param = getattr(module, name)
        end = start + param.numel()
        custom_from_mask(module, name, mask=mask[start:end].view_as(param))
        start = end


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes parameter ``name`` by ``mask``."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Makes the pruned ``name`` an ordinary parameter.

    Raises:
        ValueError: if it is not pruned.
    """
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether ``module`` or one of its submodules is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for m in module.modules()
        for hook in m._forward_pre_hooks.values()
    )


def _validate_pruning_amount_init(amount: float) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    number: Any = amount
    if number < 0 or (not isinstance(amount, numbers.Integral) and number > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount: int | float, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )


def _compute_nparams_toprune(amount: int, tensor_size: int) -> int:
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)  # type: ignore[return-value]


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n: int, dim: int) -> Tensor:
    """The ``n``-norm over all dimensions but ``dim``."""
    return torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim % t.dim()])


__all__ = [
    "BasePruningMethod", "PruningContainer", "Identity", "RandomUnstructured", "L1Unstructured",
    "RandomStructured", "LnStructured", "CustomFromMask", "identity", "random_unstructured",
    "l1_unstructured", "random_structured", "ln_structured", "global_unstructured",
    "custom_from_mask", "remove", "is_pruned",
]  # fmt: skip
