"""``state_dict`` and ``load_state_dict``."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch.overrides import is_tensor_like
from jtorch.utils.hooks import RemovableHandle

from ... import __future__ as _future
from ..._src.facts.warned_once import outside
from ..parameter import Parameter, is_lazy
from ._hooks import _add, _WrappedHook

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named


_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
_UNREACHABLE = (
    "Reached a code path in Module.{}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` returns."""

    __module__ = "jtorch.nn.modules.module"  # the name that files know it by
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class Stateful:
    """The part of ``Module`` that saves and loads parameters and buffers."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Callable[..., object]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., object]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., object]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., object]]

    # ---- hooks -----------------------------------------------------------------------------------

    def _register_state_dict_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """``hook(module, state_dict, prefix,
        local_metadata)`` is called at the end of ``state_dict``; its result may replace it."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """``hook(module, state_dict, prefix,
        local_metadata)`` is called at the end of ``state_dict`` and may change it in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """``hook(module, prefix, keep_vars)`` is called before ``state_dict`` collects."""
        return _add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., object], with_module: bool = False
    ) -> RemovableHandle:
        return _add(
            self._load_state_dict_pre_hooks,
            _WrappedHook(hook, self if with_module else None),  # type: ignore[arg-type]
        )

    def register_load_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`` is called first."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """``hook(module, incompatible_keys)`` is called after loading and may change the keys in
        place."""
        return _add(self._load_state_dict_post_hooks, hook)

    # ---- extra state -----------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """What else ``state_dict`` shall hold for this module; a class that needs it overrides this
        and ``set_extra_state``."""
        raise RuntimeError(_UNREACHABLE.format("get_extra_state"))

    def set_extra_state(self, state: object) -> None:
        """Takes back what ``get_extra_state`` has given."""
        raise RuntimeError(_UNREACHABLE.format("set_extra_state"))

    # ---- saving ----------------------------------------------------------------------------------

    def _persistent_buffers(self) -> dict[str, torch.Tensor]:
        return {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Puts what this module itself holds, not its submodules, into ``destination``."""
        for name, value in (*self._parameters.items(), *self._persistent_buffers().items()):
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The parameters and persistent buffers of this module and its submodules, by name, in an
        ordered dictionary.

        The tensors share data with the module's; they are detached unless ``keep_vars``.
        ``_metadata`` holds the modules' versions.

        Args:
            args: ``destination``, ``prefix`` and ``keep_vars`` by position, which is deprecated.
            destination: a dict to put the values into.
            prefix: what all names begin with.
            keep_vars: give parameters themselves, instead of detached tensors.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                "state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            found = hook(self, destination, prefix, local_metadata)
            if found is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = found
        return destination

    # ---- loading ---------------------------------------------------------------------------------

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Named,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes what this module itself holds from ``state_dict``; what goes wrong is added to the
        three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        local_state = {
            k: v
            for k, v in (*self._parameters.items(), *self._persistent_buffers().items())
            if v is not None
        }
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in local_state.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, param, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)

        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)

        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else local_state):
                        unexpected_keys.append(key)

    def _load_one(
        self,
        name: str,
        key: str,
        param: torch.Tensor,
        given: torch.Tensor,
        assign: bool,
        error_msgs: list[str],
    ) -> None:
        """Copies (or assigns) one value of a state dict."""
        if not is_tensor_like(given):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or '
                "Tensor-like object from checkpoint but "
                f"received {type(given)}"
            )
            return
        if not is_lazy(param):
            if len(param.shape) == 0 and len(given.shape) == 1 and given.shape[0] == 1:
                given = given[0]  # 0.3 saved 0-dim tensors with one dimension
            if given.shape != param.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {param.shape}."
                )
                return
        if param.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                "parameter in the current model, which is a no-op. (Did you mean to pass "
                "`assign=True` to assign items in the state dictionary to their corresponding key "
                "in the module instead of copying them in place?)",
                stacklevel=outside(),
            )
        try:
            with torch.no_grad():
                if _future.get_swap_module_params_on_conversion() and (
                    assign or not _PLAIN.issuperset((type(param), type(given)))
                ):
                    _take(param, given, assign)
                    return
                if not assign:
                    param.copy_(given)
                    return
                if isinstance(param, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(param.requires_grad)
                    else:
                        given = Parameter(given, requires_grad=param.requires_grad)
                setattr(self, name, given)
        except Exception as ex:
            error_msgs.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{param.size()} and whose dimensions in the "
                f"checkpoint are {given.size()}, an exception occurred : {ex.args}."
            )

    def load_state_dict(
        self, state_dict: Mapping[str, object], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies the values of ``state_dict`` into this module and its submodules (``assign``:
        takes the tensors themselves).

        Returns the missing and unexpected keys.

        Args:
            state_dict: values by name.
            strict: raise if names are missing or unknown.
            assign: take the tensors themselves, instead of copying into the module's.

        Raises:
            RuntimeError: listing what is missing, unexpected or of the wrong size; without
                ``strict`` only the latter.
            TypeError: if ``state_dict`` is no mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        error_msgs: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        copied = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            copied._metadata = metadata
        incompatible = _IncompatibleKeys(missing_keys, unexpected_keys)

        _load(self, copied, "", metadata, assign, incompatible, error_msgs)
        if strict:
            for what, keys in (("Unexpected", unexpected_keys), ("Missing", missing_keys)):
                if keys:
                    names = ", ".join(f'"{k}"' for k in keys)
                    error_msgs.insert(0, f"{what} key(s) in state_dict: {names}. ")
        if error_msgs:
            details = "\n\t".join(error_msgs)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}"
            )
        return incompatible


#: Classes whose values are copied, as nobody could see a swap.
_PLAIN = {torch.Tensor, Parameter}


def _take(param: torch.Tensor, given: torch.Tensor, assign: bool) -> None:
    """Gives a parameter or buffer, which stays the object it is, what its class makes of a
    value."""
    made = param.module_load(given, assign=assign)
    if made is given or made is param:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning "
            "one of the inputs in module_load"
        )
    if isinstance(param, Parameter):
        if isinstance(made, Parameter):
            made.requires_grad_(param.requires_grad)
        else:
            made = Parameter(made, requires_grad=param.requires_grad)
    torch.utils._exchange(param, made)


def _load(
    module: Any,
    local: dict[str, object],
    prefix: str,
    metadata: Any,
    assign: bool,
    incompatible: _IncompatibleKeys,
    error_msgs: list[str],
) -> None:
    """Loads the part of a state that belongs to a module, and those of the modules in it."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(
        local,
        prefix,
        local_metadata,
        True,
        incompatible.missing_keys,
        incompatible.unexpected_keys,
        error_msgs,
    )
    for name, child in module._modules.items():
        if child is not None:
            child_prefix = f"{prefix}{name}."
            mine = {k: v for k, v in local.items() if k.startswith(child_prefix)}
            _load(child, mine, child_prefix, metadata, assign, incompatible, error_msgs)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )
