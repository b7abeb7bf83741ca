"""Files with modules, for every module of the ModuleInfo database: saved by PyTorch and loaded
here, and the reverse."""

from __future__ import annotations

import copy
import io
import sys
from pathlib import Path
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
from torch.testing._internal.common_modules import module_db  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from test_modules import assert_same_module, outcome, to_jtorch  # noqa: E402

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def through_a_file(obj: Any, source: Any, target: Any, **options: Any) -> Any:
    """What ``target`` loads of what ``source`` saved."""
    file = io.BytesIO()
    source.save(obj, file)
    file.seek(0)
    return target.load(file, **options)


@pytest.mark.parametrize(
    "info", [pytest.param(info, id=info.module_cls.__name__) for info in module_db]
)
def test_files_of_modules(info: Any) -> None:
    """A state dict and the whole module: parameters, buffers, settings and repr arrive, whichever
    library wrote the file."""
    sample = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=True
    )[0]
    made, given = sample.constructor_input, sample.forward_input
    converted = to_jtorch(made.args), to_jtorch(made.kwargs)
    theirs = info.module_cls(*copy.deepcopy(made.args), **copy.deepcopy(made.kwargs))
    ours = getattr(jtorch.nn, info.module_cls.__name__)(*converted[0], **converted[1])
    if given is not None:  # lazy parameters take their shapes; buffers take numbers
        outcome(theirs, given.args, given.kwargs, torch)
        outcome(ours, to_jtorch(given.args), to_jtorch(given.kwargs), jtorch)

    expected = copy.deepcopy(theirs)
    assert (
        str(ours.load_state_dict(through_a_file(theirs.state_dict(), torch, jtorch)))
        == "<All keys matched successfully>"
    )
    assert_same_module(ours, expected, "a state dict of PyTorch's")
    assert_same_module(
        through_a_file(theirs, torch, jtorch, weights_only=False), expected, "a module of PyTorch's"
    )
    assert (
        str(theirs.load_state_dict(through_a_file(ours.state_dict(), jtorch, torch)))
        == "<All keys matched successfully>"
    )
    assert_same_module(ours, theirs, "a state dict of ours")
    back = through_a_file(ours, jtorch, torch, weights_only=False)
    assert type(back) is type(theirs)
    assert_same_module(ours, back, "a module of ours")
    assert sorted(back.__dict__) == sorted(expected.__dict__)
    assert back.training == ours.training
