"""Lists and dictionaries in a node's arguments: changes would go unnoticed by the graph, so they
are refused."""

from __future__ import annotations

from typing import Any, NoReturn

from jtorch.utils import _pytree
from jtorch.utils._pytree import _dict_flatten_with_keys, _list_flatten_with_keys

from ._compatibility import compatibility as compatibility

_ADVICE = (
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n"
    "    new_args = ... # copy and mutate args\n"
    "    node.args = new_args\n"
)


# it stands for methods with arguments
def _refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ARG001
    raise TypeError(f"'{type(self).__name__}' object does not support mutation. {_ADVICE}")


class immutable_list(list[Any]):
    """A list that cannot be changed."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dictionary that cannot be changed."""

    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)


_pytree.register_pytree_node(
    immutable_list,
    lambda x: (list(x), None),
    lambda children, _: immutable_list(children),
    flatten_with_keys_fn=_list_flatten_with_keys,
)
_pytree.register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), list(x)),
    lambda values, keys: immutable_dict(zip(keys, values)),
    flatten_with_keys_fn=_dict_flatten_with_keys,
)
