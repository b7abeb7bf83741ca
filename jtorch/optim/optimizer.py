"""The base of all optimisers: parameter groups, state, state dicts and hooks. Knows the public
namespace only."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import jtorch as torch
from jtorch.utils._foreach_utils import _group_tensors_by_device_and_dtype
from jtorch.utils.hooks import RemovableHandle

from .._src.facts.warned_once import outside
from ..dispatch import ACTIVE, TENSORS
from ._for_others import _capturable_doc as _capturable_doc
from ._for_others import _default_to_fused_or_foreach as _default_to_fused_or_foreach
from ._for_others import _differentiable_doc as _differentiable_doc
from ._for_others import _disable_dynamo_if_unsupported as _disable_dynamo_if_unsupported
from ._for_others import _foreach_doc as _foreach_doc
from ._for_others import _fused_doc as _fused_doc
from ._for_others import _get_capturable_supported_devices as _get_capturable_supported_devices
from ._for_others import _get_value as _get_value
from ._for_others import _maximize_doc as _maximize_doc
from ._for_others import _params_doc as _params_doc
from ._for_others import _stack_if_compiling as _stack_if_compiling
from ._for_others import _view_as_real as _view_as_real

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Named, Operand, Tree


__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

StateDict: TypeAlias = dict[str, Any]
ParamsT: TypeAlias = (
    Iterable[torch.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, torch.Tensor]]
)

_global_optimizer_pre_hooks: OrderedDict[int, Callable[..., object]] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable[..., object]] = OrderedDict()


class _RequiredParameter:
    """The default of an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _register(
    hooks: OrderedDict[int, Callable[..., object]],
    hook: Callable[..., object],
    prepend: bool = False,
) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` before each step of every optimiser; it may return
    new ``(args, kwargs)``."""
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` after each step of every optimiser."""
    return _register(_global_optimizer_post_hooks, hook)


def _use_grad_for_differentiable(func: Callable[..., object]) -> Function:
    """A ``step`` that autograd sees only if the optimiser was made with ``differentiable=True``."""

    @functools.wraps(func)
    def step(self: Optimizer, *args: object, **kwargs: object) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _run_closure(closure: Callable[[], object] | None) -> object:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def _get_scalar_dtype(is_fused: bool | None = None) -> torch.dtype:
    """The dtype of step counts."""
    return (
        torch.float64
        if torch.get_default_dtype() == torch.float64 and not is_fused
        else torch.float32
    )


def _to_scalar(x: float | torch.Tensor) -> Operand:
    """``x``, a one-element tensor made 0-dimensional."""
    return x.squeeze() if isinstance(x, torch.Tensor) and x.dim() != 0 else x


def _device_dtype_check_for_fused(p: torch.Tensor) -> None:
    if not torch.is_floating_point(p):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: ['cpu', 'cuda'] but {p.dtype} and {p.device.type}"
        )


class Optimizer:
    """Base class of optimisers.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with a ``"params"`` entry and options of
            their own; in an order that stays the same from run to run.
        defaults: options for the groups that do not give them.
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {torch.typename(params)}"
            )
        self.state: defaultdict[torch.Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        param_groups: list[Any] = list(params)
        if len(param_groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(param_groups[0], dict):
            param_groups = [{"params": param_groups}]
        for param_group in param_groups:
            self.add_param_group(param_group)

    def _make_hooks(self) -> None:
        for name in (
            "step_pre",
            "step_post",
            "state_dict_pre",
            "state_dict_post",
            "load_state_dict_pre",
            "load_state_dict_post",
        ):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # lists of the fused step: they may hold what was replaced
        self.__dict__.pop("_plans", None)
        self._make_hooks()
        self._patch_step_function()  # an unpickled optimiser may be the first of its class here
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{self.__class__.__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(
                f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"
            )
        return text + ")"

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[torch.Tensor | None]], with_indices: bool = False
    ) -> object:
        """The tensors of some lists by device and dtype."""
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """``func``, a ``step`` method, with the hooks around it and the recorded trace ended after
        it."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: object) -> torch.Tensor | None:
            self = args[0]
            for pre_hook in chain(
                _global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()
            ):
                result = pre_hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but "
                            f"got {result}."
                        )
                    args, kwargs = result
            out = func(*args, **kwargs)
            for post_hook in chain(
                self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()
            ):
                post_hook(self, args, kwargs)
            torch._C._flush_hint()
            return out

        return wrapper

    def _patch_step_function(self) -> None:
        cls = self.__class__
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True  # type: ignore[attr-defined]

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` before each step; it may return new
        ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(optimizer)`` before ``state_dict`` gathers; first of all with
        ``prepend``."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` on the result of ``state_dict``; it may return
        another one."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` on a shallow copy of what is loaded; it may return
        another one."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(optimizer)`` after ``load_state_dict``."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> StateDict:
        """The state as ``{"state": {index: ...}, "param_groups": [...]}``, parameters replaced by
        their index over all groups."""
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        index_of: dict[int, int] = {}
        packed_groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                index_of.setdefault(id(p), i)
            start += len(group["params"])
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [index_of[id(p)] for p in group["params"]]
            packed_groups.append(packed)
        state = {
            (index_of[id(k)] if isinstance(k, torch.Tensor) else k): v
            for k, v in self.state.items()
        }
        state_dict: StateDict = {"state": state, "param_groups": packed_groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            replaced = post_hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        return state_dict

    @staticmethod
    def _process_value_according_to_param_policy(
        param: torch.Tensor,
        value: torch.Tensor,
        param_id: int,
        param_groups: list[dict[Any, Any]],
        key: Hashable = None,
    ) -> torch.Tensor:
        """``value`` as the state of ``param``: of its device and, floating-point and no step count,
        of its dtype."""
        if key == "step":
            group = next((g for g in param_groups if param_id in g["params"]), {})
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=torch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Takes over the result of ``state_dict()``, of this optimiser or of PyTorch's.

        Raises:
            ValueError: if the number of groups or their sizes differ.
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = pre_hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups, saved_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved_groups)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        param_of = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved_groups),
                chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )

        def cast(param: torch.Tensor, value: object, param_id: int, key: Hashable = None) -> Tree:
            if isinstance(value, torch.Tensor):
                return self._process_value_according_to_param_policy(
                    param, value, param_id, state_dict["param_groups"], key
                )
            if isinstance(value, dict):
                return {k: cast(param, v, param_id, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, str):
                return type(value)(cast(param, v, param_id) for v in value)  # type: ignore[call-arg]
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for k, v in state_dict["state"].items():
            if k in param_of:
                state[param_of[k]] = cast(param_of[k], v, k)
            else:
                state[k] = v
        for group, saved in zip(groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or fills them with zeros if not
        ``set_to_none``."""
        plain = []
        unheard = not ACTIVE.modes  # that attributes of plain parameters are asked for
        for group in self.param_groups:
            for p in group["params"]:
                stored = unheard and type(p) in TENSORS
                grad = p._grad if stored else p.grad
                if grad is None:
                    continue
                if set_to_none:
                    if stored:
                        p._grad = None
                    else:
                        p.grad = None
                    continue
                if (grad._rg or grad._al is not None) and grad.requires_grad:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                if type(grad) is torch.Tensor:
                    plain.append(grad)
                else:
                    grad.zero_()
        if plain:
            torch._foreach_zero_(plain)

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Updates the parameters once. ``closure`` evaluates the model anew and returns the
        loss."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters with options of its own.

        Raises:
            TypeError: for what is no dict, sets of parameters, and parameters that are no tensors.
            ValueError: for non-leaf tensors, missing names or required options, and parameters of
                another group.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        param_group["params"] = params = [p[1] if isinstance(p, tuple) else p for p in params]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing"
                )
            param_group["param_names"] = names

        for param in params:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{torch.typename(param)}"
                )
            if not self.defaults.get("differentiable") and not (
                param.is_leaf or param.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=outside(),
            )
        taken: set[torch.Tensor] = set()
        for group in self.param_groups:
            taken.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {which} to the optimizer"
                )
        if not taken.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # What the optimisers of this package share
    # ------------------------------------------------------------------------

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, Any]:
        """The state of ``p`` before its first step."""
        raise NotImplementedError

    def _collect(self, group: Named) -> tuple[list[torch.Tensor], list[torch.Tensor], list[Named]]:
        """Parameters that have gradients, the gradients, and the states, made where there are
        none."""
        params, grads, states = [], [], []
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if grad.is_sparse and not self._sparse_grads:
                raise RuntimeError(self._no_sparse_grads.format(self.__class__.__name__))
            if group.get("fused"):
                _device_dtype_check_for_fused(p)
            state = self.state.get(p)
            if not state:
                state = self._init_state(group, p)
                if state:
                    self.state[p] = state
            params.append(p)
            grads.append(grad)
            states.append(state)
        return params, grads, states

    #: Whether gradients may be sparse, and the words if not.
    _sparse_grads = False
    _no_sparse_grads = "{} does not support sparse gradients"

    def _set_group_defaults(self, **defaults: object) -> None:
        """For ``__setstate__``: options that an older state lacks; step counts that were plain
        numbers become tensors."""
        for group in self.param_groups:
            for name, value in defaults.items():
                group.setdefault(name, value)
            for p in group["params"]:
                state = self.state.get(p)
                if state and "step" in state and not torch.is_tensor(state["step"]):
                    state["step"] = torch.tensor(
                        float(state["step"]), dtype=_get_scalar_dtype(group.get("fused"))
                    )
