"""Size, layouts and memory formats: values without tensors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from jtorch._src.facts import layouts
from jtorch._src.facts.size import Size, SymInt


def test_size_stays_size():
    s = Size([1, 2, 3])
    assert repr(s) == str(s) == "torch.Size([1, 2, 3])" and repr(Size()) == "torch.Size([])"
    for made in (
        s[1:],
        s[::2],
        s + (4,),
        (4,) + s,
        s + s,
        s * 2,
        2 * s,
        pickle.loads(pickle.dumps(s)),
        copy.deepcopy(s),
    ):
        assert type(made) is Size
    assert (
        s[1:] == (2, 3)
        and (4,) + s == (4, 1, 2, 3)
        and s * 2 == (1, 2, 3, 1, 2, 3)
        and s[0] == 1
        and s == (1, 2, 3)
    )
    assert (
        hash(s) == hash((1, 2, 3))
        and s.numel() == 6
        and Size().numel() == 1
        and Size([0, 3]).numel() == 0
    )


def test_size_takes_integers_only():
    made = Size([np.int64(3), True])
    assert made == (3, 1) and [type(n) for n in made] == [int, int]
    for wrong, item, kind in (([1, "a"], 1, "str"), ([1.5], 0, "float"), ("ab", 0, "str")):
        with pytest.raises(
            TypeError,
            match=rf"^torch.Size\(\) takes an iterable of 'int' \(item {item} is '{kind}'\)$",
        ):
            Size(wrong)
    with pytest.raises(TypeError, match=r"^can only concatenate tuple \(not list\) to torch.Size$"):
        Size([1]) + [2]
    with pytest.raises(TypeError, match=r"item 0 is 'float'"):
        (1.5,) + Size([1])


def test_symbolic_sizes_pass():
    class J(SymInt):
        def __repr__(self):
            return "j1"

    j = J()
    assert Size([2, j])[1] is j and repr(Size([2, j])) == "torch.Size([2, j1])"


def test_layouts_and_formats():
    for name in (
        "strided",
        "sparse_coo",
        "_mkldnn",
        "jagged",
        "channels_last",
        "contiguous_format",
    ):
        value = getattr(layouts, name)
        assert repr(value) == str(value) == f"torch.{name}"
        assert (
            pickle.loads(pickle.dumps(value)) is value is copy.deepcopy(value) is copy.copy(value)
        )
    assert isinstance(layouts.jagged, layouts.layout) and isinstance(
        layouts.preserve_format, layouts.memory_format
    )
    with pytest.raises(TypeError, match=r"cannot create 'torch.layout' instances"):
        layouts.layout()
