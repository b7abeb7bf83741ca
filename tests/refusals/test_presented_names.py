"""What modules and classes are called where ``import torch`` means this package, in a process of
its own."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import jtorch

ROOT = str(Path(__file__).parents[2])

PROGRAM = """
import inspect, pickle, sys
import torch
from torch import nn
from torch.utils.data import DataLoader

named = {
    "torch.nn.modules.linear.Linear": nn.Linear, "torch.nn.parameter.Parameter": nn.Parameter,
    "torch.optim.sgd.SGD": torch.optim.SGD, "torch.Size": torch.Size, "torch.dtype": torch.dtype,
    "torch.device": torch.device, "torch.finfo": torch.finfo, "torch.layout": torch.layout,
    "torch.Tensor": torch.Tensor, "torch.utils.data.dataloader.DataLoader": DataLoader,
    "torch.autograd.function.Function": torch.autograd.Function,
    "torch.overrides.TorchFunctionMode": torch.overrides.TorchFunctionMode,
    "torch.storage.UntypedStorage": torch.UntypedStorage,
    "torch.autograd.grad_mode.no_grad": torch.no_grad,
    "torch.distributions.normal.Normal": torch.distributions.Normal,
    "torch.fx.graph.Graph": torch.fx.Graph,
}
for name, cls in named.items():
    assert str(cls) == f"<class '{name}'>", (name, cls)
    assert pickle.loads(pickle.dumps(cls)) is cls, name
assert nn.__name__ == "torch.nn" and sys.modules["torch.nn.modules.linear"] is sys.modules[
    "jtorch.nn.modules.linear"]
assert inspect.getmodule(nn.Linear) is sys.modules[
    "torch.nn.modules.linear"] and "def forward" in inspect.getsource(nn.Linear)
m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
assert [c.__module__.startswith("torch.nn") for c in m.modules()] == [True] * 3
assert str(pickle.loads(pickle.dumps(m))) == str(m) and b"jtorch" not in pickle.dumps(
    m[0].weight.shape)
try:
    from torch.nn import Nothing
except ImportError as e:
    assert "from 'torch.nn'" in str(e), e

# What looks at where classes come from knows its own.
assert repr(m[0].bias).startswith("Parameter containing:")
x = torch.ones(1, 2)
assert torch.compile(m)(x).shape == (1,
                                     2) and "L__self" not in str(torch.fx.symbolic_trace(m).graph)
with torch.autocast("cpu"):
    assert torch.compile(m)(x).dtype is torch.bfloat16
try:
    x @ torch.ones(3, 3)
except RuntimeError as e:
    assert "invalid operands" not in str(e)
for value, called in {
    torch.float32: "torch.dtype", torch.Size([1]): "torch.Size",
    x.untyped_storage(): "torch.storage.UntypedStorage", torch.iinfo(torch.int8): "torch.iinfo", \
m[0]: "Linear",
}.items():
    try:
        torch.add(x, value)
    except TypeError as e:
        assert str(e).endswith(f"must be Tensor, not {called}"), e

from torch._weights_only_unpickler import StorageType
import importlib
from jtorch._src.start.install import _PLACES
for place, table in _PLACES.items():
    for inner, classes in table.items():
        for cls in classes.split():
            found = getattr(importlib.import_module(f"jtorch.{inner}"), cls)
            assert found.__module__ == place, found
            if place != "torch.serialization" and cls != "_LRScheduler":
                assert getattr(importlib.import_module(place), cls) is found, found
print("done")
"""


def _run(*args: str) -> str:
    environment = {**os.environ, "PYTHONPATH": ROOT, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *args],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_under_torchs_name(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert _run("-m", "jtorch", str(tmp_path / "program.py")) == "done\n"


def test_under_its_own_name() -> None:
    code = (
        "import jtorch as torch, pickle; c = torch.nn.Linear; print(c.__module__, "
        "pickle.loads(pickle.dumps(c)) is c)"
    )
    assert _run("-c", code) == "jtorch.nn.modules.linear True\n"


def test_installing_late() -> None:
    code = (
        "import jtorch, jtorch.nn; jtorch.install(); import torch; print(torch.nn.Linear, "
        "torch.optim.Adam, torch.Size)"
    )
    assert _run("-c", code) == (
        "<class 'torch.nn.modules.linear.Linear'> <class 'torch.optim.adam.Adam'> <class "
        "'torch.Size'>\n"
    )


def test_numpy_is_not_told_of_dtypes_where_torch_is_meant() -> None:
    code = (
        "import numpy as np; kind = np.dtype('float32')\n"
        "for asked in (torch.float32, torch.ones(2)):\n"
        "    try: np.dtype(asked)\n"
        "    except (TypeError, ValueError): print('refused', kind == torch.float32)"
    )
    told = "refused False\n" * 2
    assert _run("-c", "import jtorch; jtorch.install(); import torch\n" + code) == told
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":  # older ones do not ask
        assert _run("-c", "import jtorch as torch\n" + code) != told


SIGNATURES = """
import functools, inspect, pickle, sys
import torch
import jtorch
import torch.nn.functional as F

x = torch.ones(2)
for asked in (torch.add, torch.Tensor.add, x.add, torch.fft.hfft, torch.linalg.norm,
              torch.special.erf, F.gelu, F.linear, torch.zeros,
              torch.where, functools.partial(torch.add, x),
              functools.wraps(torch.add)(lambda *a: 0), jtorch.add):
    try:
        told = inspect.signature(asked)
    except ValueError as e:
        assert "no signature found" in str(e)
    else:
        raise AssertionError((asked, told))
assert torch.nn.init.normal_.__module__ == "torch.nn.init" and F.relu.__module__ == \
F.cross_entropy.__module__ == "torch.nn.functional"
for asked in (F.relu, torch.nn.init.normal_, torch.nn.utils.clip_grad_norm_):
    assert asked.__module__.startswith("torch.nn.") and pickle.loads(pickle.dumps(asked)) is asked
for asked in (F.sigmoid, F.cross_entropy, F.conv2d.__wrapped__, torch.einsum, torch.nn.Linear,
              torch.Tensor.backward, torch.save):
    inspect.signature(asked)
assert inspect.getdoc(torch.add) and "def add" in inspect.getsource(torch.add)

# Programs ask every object that there is whether it is a tensor.
import gc
assert sum(isinstance(thing, torch.Tensor) for thing in gc.get_objects()) > 0
for thing in vars(jtorch.add).values():
    exec(compile("assert not isinstance(thing, (torch.Tensor, int)) and repr(thing)",
                 inspect.__file__, "exec"))

# Who knows what they take still does.
assert list(inspect.signature(torch.overrides.get_testing_overrides()[torch.add]).parameters)[:
    2] == ["input", "other"]
assert torch.overrides.normalize_call(torch.softmax, (x, 0))[0][1] == 0
from torch.fx.operator_schemas import normalize_function
assert normalize_function(torch.add, (x, 2), normalize_to_only_use_kwargs=True).kwargs["other"] == 2
import torch.masked, torch.sparse
assert torch.vmap(torch.add)(x, x).tolist() == [2, 2]
"""


def test_functions_that_pytorch_has_in_another_language_have_no_signature() -> None:
    _run("-m", "jtorch", "-c", SIGNATURES)


def test_under_its_own_name_every_function_tells_its_signature() -> None:
    assert "alpha" in inspect.signature(jtorch.add).parameters
    assert list(inspect.signature(jtorch.ones(1).add).parameters) == ["other", "alpha"]
