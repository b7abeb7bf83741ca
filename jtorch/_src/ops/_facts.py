"""What PyTorch does with a function beside computing it, as its declaration states it: the options
that ops and composites share.

Nothing here is keyed by names: who serves all functions (handlers, errors, graphs, autocast,
operators) reads these facts from the records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import CodeType
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


def schemas(*items: str) -> Callable[[F], F]:
    """States the overloads of a declaration's operators in PyTorch's notation, where they are not
    what ``aten=`` and the parameters say.

    An item has the operator's name, if it is another than the function's, ``.overload`` (``.`` for
    the default one), the parameters and results, and after a semicolon the variants in place
    (``_``) and with ``out`` (``=out``); what is left out is as declared. ``...`` stands for the
    options of factories. A name alone is an operator with the same overloads. No items: another
    declaration has them. ``aten/declared.py`` reads them, when the first operator is asked for.
    """

    def mark(body: F) -> F:
        body.schemas = items  # type: ignore[attr-defined]
        return body

    return mark


#: Functions that write for Python's notations and are no declarations: the operator's name by their
#: code.
WRITERS: dict[CodeType, str] = {}


def writes(operator: str) -> Callable[[F], F]:
    """Says which operator a function that is not declared calls, in torch's words of writes that
    transformations refuse."""

    def mark(body: F) -> F:
        WRITERS[body.__code__] = operator
        return body

    return mark


@dataclasses.dataclass(eq=False, kw_only=True)
class Facts:
    """The options in groups.

    *Written in Python*

    ``native=False``: PyTorch writes the function in Python around ``handle_torch_function``, so
    that handlers are told the defaults, and exact Tensor among the classes. A tuple has the public
    paths that are in C++ all the same: ``("istft",)``, but not ``Tensor.istft``.
    ``home="functional"``: the module that offers it under its own name too, and that names it.

    *Who is asked*

    ``asks="modes"``: a constructor, which modes see, but of which the data that it is given is
    never asked; ``"nobody"`` is asked. ``ignored``: torch lists it as ignored although it asks; a
    tuple has the public paths of which this holds. ``factory``: a device context gives it its
    device. ``differentiable=False``: no gradient goes through it; autograd never records it.
    ``unwritten``: a factory that leaves it to the caller to write its memory, which is filled where
    deterministic algorithms are asked for.

    *Arguments*

    ``numbers_do``: numbers may stand for all of its tensors. ``ranks``: the dimensions of its
    operands, which errors under ``vmap`` tell. ``old_orders``: the parameters in the order of
    deprecated overloads that are still taken: ``("input alpha other",)``. ``unsaid``: parameters
    that may be left out, but of which no overload takes None: ``("dim",)``; ``"keepdim:dim"`` is
    one that only overloads with the other have. Calls with them are looked at as a whole.

    *What is written into*

    ``out_dtype``: what is said of an ``out`` that has not the result's dtype, where it is not
    converted: words with ``{its}``, ``{mine}``, ``{its_cpp}`` and ``{mine_cpp}``, the key of words
    that several share (``errors.OUT_WORDS``), or a dict by the results' names; ``out_also`` names
    dtypes that are converted to all the same. ``out_of_one``: what is said of an ``out`` where the
    result is several. ``castable``: the name by which it says that its result cannot be cast to
    ``out``, and what it calls the result there. ``out_apart="partly"``: ``out`` must not share a
    part of an operand's memory (as for the pointwise families); ``"wholly"``: nor all. ``repeats``:
    whether in-place forms write to elements that several indices share: ``"silently"``, or with a
    warning that this is deprecated, which gives the notation that it is, too
    (``"tensor[mask] = scalar"``). ``writes``: the operator that torch's words say writes, where it
    takes the in-place form apart. ``refused_as``: what an in-place form is called where ``vmap``
    does not let it write an example's values into what all share: its ``"name"``, ``"arithmetic"``
    or ``"randomness"``; by default it is called an operator.

    ``opaque``: it has a kernel for MKL-DNN's layout, that of its first operand; a number says how
    many operands it refuses in another.

    *Precision*

    ``autocast``: in which precision blocks of ``autocast`` run it, on all devices or by device:
    ``"lower"``, ``"cpu lower, cuda widest"``; ``amp/policies.py`` tells the words.

    *Operators* (``aten=`` of an op names its overload, which all its public forms are)

    ``dispatched="in parts"``: PyTorch takes its operator apart before anybody sees it, and no route
    says how. ``"never"``: it is none, but metadata, a hook, or made of public methods. ``through``:
    the operator that its own is another name of. ``implicit``: PyTorch writes its operator with
    others, which is what an exporter asks; a tuple has the operators, or overloads (``"var.dim"``),
    of which this holds. ``lazy``: which views' bits its operator reads itself: ``"conj"``,
    ``"neg"``, or both; others get copies. ``"neg_"``: in place alone. ``wraps_numbers``: its
    operator takes a number for its second tensor, before it looks at overloads for numbers, so that
    the graph counts it as an operand; a tuple has the parameters where that is not true of all.
    ``lays_out``: its operator changes the tensor's own size, strides or memory.
    """

    numbers_do: bool = False
    ranks: tuple[int, ...] = ()
    old_orders: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    native: bool | tuple[str, ...] = True
    home: str = ""
    asks: str = ""
    ignored: bool | tuple[str, ...] = False
    factory: bool = False
    differentiable: bool = True
    unwritten: bool = False
    out_dtype: str | dict[str, str] | None = None
    out_also: str = ""
    out_of_one: str | None = None
    castable: str | tuple[str, str] | None = None
    out_apart: str = ""
    repeats: str = ""
    writes: str = ""
    refused_as: str = ""
    opaque: bool | int = False
    autocast: str = ""
    dispatched: str = ""
    through: str = ""
    implicit: bool | tuple[str, ...] = False
    lazy: str = ""
    wraps_numbers: bool | tuple[str, ...] = False
    lays_out: bool = False

    def is_native(self, path: str) -> bool:
        """Whether PyTorch has the public function ``path`` in C++."""
        return self.native if isinstance(self.native, bool) else path in self.native
