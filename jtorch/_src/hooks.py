"""What lower floors need of higher ones, by name: here the hooks, in ``start/hooks.py`` what fills
each.

A hook is asked when a program first needs what lies behind it, and loads it then: importing costs
nothing, and no module of a lower floor imports one of a higher floor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .facts.kinds import Tree


#: All hooks by name.
HOOKS: dict[str, Hook] = {}


class Hook:
    """A name for something of a higher floor: call the hook for a function, ``get()`` it for
    anything else."""

    __slots__ = ("_find", "_found", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._find: Callable[[], object] | None = None
        self._found = None
        HOOKS[name] = self

    def fill(self, find: Callable[[], object]) -> Callable[[], Any]:
        """Says where it is found, once; a decorator.

        Raises:
            RuntimeError: if somebody has said so already.
        """
        if self._find is not None:
            raise RuntimeError(f"the hook {self.name} is filled already")
        self._find = find
        return find

    @property
    def filled(self) -> bool:
        """Whether it is known where it is found."""
        return self._find is not None

    def get(self) -> Any:
        """What lies behind it, loaded if need be.

        Raises:
            RuntimeError: if the hook is not filled yet, which is an order of imports that must not
                be.
        """
        found = self._found
        if found is None:  # two threads may both find it: the same thing
            if self._find is None:
                raise RuntimeError(f"the hook {self.name} is asked for before it is filled")
            found = self._found = self._find()
        return found

    def __call__(self, *args: object, **kwargs: object) -> Tree:
        """Calls what lies behind it."""
        return self.get()(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<hook {self.name}>"


# ---- calls and their errors ----------------------------------------------------------------------

#: ``torch_function_dispatch`` and ``verify_matching_signatures``: where ``dispatch`` offers the
#: decorator to authors of libraries.
overridable = Hook("overridable")
#: Whether arguments fit an overload, as PyTorch's parser sees it.
judged = Hook("judged")
#: The error of arguments that none of the overloads takes.
refused = Hook("refused")
#: What a failed call is told instead of Python's words.
explain = Hook("explain")
#: The arguments of a deprecated overload in today's order.
rearranged = Hook("rearranged")
#: The texts of operators' signatures, which errors list: the module that reads them.
schemas = Hook("schemas")

#: The array of a value, running the trace that it is pending in: for a call by itself.
read = Hook("read")
#: Operands of several devices on one: for a call by itself.
gathered = Hook("gathered")

# ---- gradients -----------------------------------------------------------------------------------

#: Backward passes on tensors, for modes and classes that see operators: the module.
walking = Hook("walking")
#: ``torch.vmap``, for batches of gradients.
vmap = Hook("vmap")
#: Has a tensor keep its gradient.
retain = Hook("retain")
#: ``torch.autograd.Function``.
function_class = Hook("function_class")
#: A custom function's own rule for batches.
own_rule = Hook("own_rule")
#: What is raised by ``backward`` of an operation without a derivative.
refuse_gradients = Hook("refuse_gradients")
#: The handle that removes a hook of a user's.
removable_handle = Hook("removable_handle")
#: The node where the gradients of a leaf end.
end_of = Hook("end_of")
call_of_node = Hook("call_of_node")
#: What nodes show of the values that they save: the module.
saved = Hook("saved")
#: The modes by which a profiler sees operators and functions: the module.
profiler_modes = Hook("profiler_modes")

#: The operator that writes into a tensor which a function that is differentiated captured, or "".
writer = Hook("writer")
#: Gives a tensor that is written memory for its first tangent, where detached tensors look at its
#: memory too.
set_apart = Hook("set_apart")
#: The error for writing the value of one example of a ``vmap`` into a tensor that all share.
shared_by_examples = Hook("shared_by_examples")

# ---- memory and files ----------------------------------------------------------------------------

#: The steps that look at memory under given sizes and strides.
memory_steps = Hook("memory_steps")
#: A class of storages by its name.
storage_class = Hook("storage_class")
#: ``torch.save`` and ``torch.load`` with all that pickles need: the module.
serialization = Hook("serialization")
#: The functions that pickles of tensors name: the module.
rebuilding = Hook("rebuilding")
#: A shallow copy of a tensor without data of its own.
copied_wrapper = Hook("copied_wrapper")

#: A tensor without data that operators are told of.
make_wrapper_subclass = Hook("make_wrapper_subclass")

# ---- other layouts -------------------------------------------------------------------------------

#: An empty tensor in a sparse layout.
empty_in_layout = Hook("empty_in_layout")
#: Zeros in MKLDNN's layout.
opaque_zeros = Hook("opaque_zeros")
#: A dense tensor in MKLDNN's layout.
to_mkldnn = Hook("to_mkldnn")
#: Quantised tensors: how they are made and rebuilt.
quantised = Hook("quantised")
#: Nodes whose gradients are sparse: the module.
sparse_gradients = Hook("sparse_gradients")
#: What the functions on sparse tensors are made of: the package, with its parts loaded.
sparse = Hook("sparse")

# ---- operators -----------------------------------------------------------------------------------

#: Loads who runs the operators of classes with ``__torch_dispatch__``: the module.
lowering = Hook("lowering")
#: Modules that state operators' kernels, all loaded.
operator_kernels = Hook("operator_kernels")
#: What derivatives as operators are made of: the module.
operator_derivatives = Hook("operator_derivatives")
#: Modules that say how functions become operators, all loaded.
operator_routes = Hook("operator_routes")
#: The recording of operators: the module.
operator_recording = Hook("operator_recording")
#: Calls of operators: the module.
operator_calls = Hook("operator_calls")
#: Makes a tensor so that dispatch modes see an operator do it.
seen_making = Hook("seen_making")
#: Calls a function of which a trace shall show no writes.
functional_tracing = Hook("functional_tracing")
#: What is said of one of PyTorch's operators.
operator_tags = Hook("operator_tags")
#: Loads what enters the operators of a namespace that is asked for one.
late_operators = Hook("late_operators")

# ---- modules, switches, devices ------------------------------------------------------------------

#: ``torch.nn``: the package.
nn = Hook("nn")
#: The call of a module with other parameters.
functional_call = Hook("functional_call")
#: The state of autocast: the module.
autocast = Hook("autocast")
#: What compiling does by pieces: ``torch._dynamo``, with its modules as attributes.
dynamo = Hook("dynamo")
#: What becomes of branches and loops while a program is traced.
captured = Hook("captured")
#: ``torch.backends`` with the switches of CUDA and cuDNN: the package.
backends = Hook("backends")
#: The class of streams.
stream_class = Hook("stream_class")
#: ``torch._C``: the package, which swaps values and counts who refers to them.
internals = Hook("internals")

#: Puts local parts in place of parameters that are DTensors, for data parallelism over copies of
#: them.
local_parameters = Hook("local_parameters")
#: Refuses modules whose parameters differ between processes.
same_parameters = Hook("same_parameters")
