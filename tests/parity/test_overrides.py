"""The lists of ``torch.overrides`` beside PyTorch's: the same functions in the same namespaces, the
same parameter names."""

from __future__ import annotations

import inspect

import pytest

pytestmark = pytest.mark.parity

oracle = pytest.importorskip("torch")
import jtorch  # noqa: E402

#: What PyTorch lists and is not bound here, by namespace.
MISSING = {"torch": {"_sym_sqrt", "autocast"}, "torch.nn.functional": {"_threshold"}}
EXTRA = {"torch.Tensor": {"_view_shape"}}


def attributes(torch):
    """The names of the listed functions in each namespace, and those of the listed properties."""
    found, properties = {}, set()
    for key, functions in torch.overrides.get_overridable_functions().items():
        if not isinstance(key, type) and not inspect.ismodule(key):
            properties.add(getattr(key, "__name__", "?"))
            continue
        name = (
            "torch.Tensor" if isinstance(key, type) else key.__name__.replace("jtorch", "torch", 1)
        )
        listed = set(functions)
        found[name] = {
            a
            for a in dir(key)
            if getattr(getattr(key, a, None), "__hash__", None) is not None
            and getattr(key, a) in listed
        }
    return found, properties


OURS, THEIRS = attributes(jtorch), attributes(oracle)


@pytest.mark.parametrize("namespace", sorted(THEIRS[0]))
def test_namespace(namespace):
    ours, theirs = OURS[0][namespace], THEIRS[0][namespace]
    assert theirs - ours == MISSING.get(namespace, set())
    assert ours - theirs == EXTRA.get(namespace, set())


def test_properties():
    # "?" is PyTorch's ``__cuda_array_interface__``, a property without a name
    assert THEIRS[1] - OURS[1] <= {"?", "_grad"} and OURS[1] - THEIRS[1] <= {
        "__cuda_array_interface__",
        "_has_symbolic_sizes_strides",
    }


def test_ignored_functions_are_ignored():
    ours = jtorch.overrides.get_overridable_functions()
    listed = {f for functions in ours.values() for f in functions}

    def is_listed(f):
        return getattr(f, "__hash__", None) is not None and f in listed

    for theirs, mine in (
        (oracle, jtorch),
        (oracle.Tensor, jtorch.Tensor),
        (oracle.nn.functional, jtorch.nn.functional),
    ):
        ignored = oracle.overrides.get_ignored_functions()
        for name in dir(theirs):
            f = getattr(theirs, name, None)
            if getattr(f, "__hash__", None) is not None and f in ignored and hasattr(mine, name):
                assert not is_listed(getattr(mine, name)), name


def test_first_parameters():
    """The operands come first under PyTorch's names, as its own testing lambdas tell them."""
    theirs, ours = (
        oracle.overrides.get_testing_overrides(),
        jtorch.overrides.get_testing_overrides(),
    )
    names = (
        "add mul cat where matmul sum mean softmax conv2d gather scatter addmm bmm lerp clamp sort "
        "topk split stack"
    ).split()
    for name in names:
        f, g = getattr(oracle, name), getattr(jtorch, name)
        first = [
            next(iter(inspect.signature(d[h]).parameters)) for d, h in ((theirs, f), (ours, g))
        ]
        assert first[0] == first[1], name
