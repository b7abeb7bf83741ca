"""Every name of torch that packages mention is there, or refused by name, or missing in PyTorch
too; and how the names are found."""

from __future__ import annotations

import functools
import importlib.util
import pickle
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from tools import package_names

LIST = package_names.stored()


@functools.cache
def attributes() -> set[str]:
    return package_names.reached(LIST)


def test_attributes_of_torch_need_no_import() -> None:
    lost = {name for name, state in LIST.items() if state == "attribute"} - attributes()
    assert not lost


@pytest.mark.filterwarnings("ignore")
def test_other_names_can_be_imported() -> None:
    lost = {
        name
        for name, state in LIST.items()
        if state == "imported" and package_names.kind(name) == "missing"
    }
    # without which PyTorch has none of these either
    if importlib.util.find_spec("tensorboard") is None:
        lost = {name for name in lost if not name.startswith("torch.utils.tensorboard")}
    assert not lost


def test_the_list_is_worth_something() -> None:
    assert len(LIST) > 3000
    assert len(attributes()) > 2500
    assert "torch.nn.Linear" in attributes() and "torch.no_such_name" not in attributes()
    assert (
        package_names.kind("torch.no_such_name")
        == package_names.kind("torch.nn.Linear.no_such_name")
        == "missing"
    )
    assert package_names.kind("torch.distributed.rpc.rpc_sync") == "refused"


def test_names_in_a_source() -> None:
    source = """
    from __future__ import annotations
    import torch.nn.functional as F
    from torch.utils import data as d, model_zoo
    from .torch import other

    def f(x: torch.Tensor):
        import torch
        mine = torch.linalg
        mine = mine.norm(x)
        y = F.relu(x).shape + self.torch.nothing
        torch.set_by_me = 3
        return mine.what, d.DataLoader
    """
    found = set(package_names.mentioned(textwrap.dedent(source)))
    assert found == {
        "torch", "torch.nn.functional", "torch.utils", "torch.utils.data", "torch.utils.model_zoo",
        "torch.Tensor", "torch.linalg", "torch.linalg.norm", "torch.nn.functional.relu",
        "torch.utils.data.DataLoader",
    }  # fmt: skip


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.ones\ntorch.nn.no_such_layer\n")
    (tmp_path / "b.py").write_text("torch is no Python\n")
    assert package_names.main([str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert (
        out.split() == ["missing", "torch.nn.no_such_layer", f"{tmp_path}/a.py:3"]
        and "b.py: not read" in err
    )
    assert package_names.main([str(tmp_path / "a.py"), "--list"]) == 1
    assert "there    torch.ones " in capsys.readouterr().out


def test_modules_beside_torch() -> None:
    program = """
    import jtorch; jtorch.install()
    import functorch, functorch.dim, torchgen.model, torch
    import functorch.experimental as e
    assert e.chunk_vmap(torch.sum, chunks=2)(torch.ones(3, 2)).tolist() == [2, 2, 2]
    from functorch.experimental.control_flow import cond, map
    assert cond is torch.cond and map(lambda a, b: a * b, torch.arange(3),
                                      torch.tensor(2)).tolist() == [0, 2, 4]
    assert functorch.vmap is torch.func.vmap and e.hessian is torch.func.hessian and \
functorch.__name__ == "functorch"
    assert not isinstance(torch.ones(1), functorch.dim.Tensor)
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).eval()
    x = torch.ones(4, 3)
    f, params, buffers = functorch.make_functional_with_buffers(layer)
    assert torch.equal(f(params, buffers, x),
                       layer(x)) and all(p.device.type == "meta"
                                         for p in f.stateless_model.parameters())
    g, weights = functorch.make_functional(layer[0])
    assert torch.equal(g([2 * w for w in weights], x), 2 * layer[0](x))
    many, stacked, _ = functorch.combine_state_for_ensemble([torch.nn.Linear(3,
        2) for _ in range(5)])
    assert functorch.vmap(many, in_dims=(0, 0, None))(stacked, (), x).shape == (5, 4, 2)
    for use in (lambda: functorch.dim.dims(2), lambda: torchgen.model.Argument()):
        try:
            use()
        except NotImplementedError as error:
            assert "is not offered by jtorch" in str(error)
        else:
            raise AssertionError
    try:
        functorch.make_functional(layer)
    except RuntimeError as error:
        assert "has buffers" in str(error)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_what_packages_reach_for() -> None:
    import jtorch as torch

    assert torch.torch is torch and torch.legacy_contiguous_format is torch.contiguous_format
    assert (
        torch._cast_Long(torch.tensor([1.7])).tolist() == [1]
        and torch._cast_Half(torch.ones(1)).dtype == torch.float16
    )
    assert isinstance(torch.ones(2).untyped_storage(), torch.StorageBase)
    with torch.backends.__allow_nonbracketed_mutation():
        torch.backends.cudnn.benchmark = False
    shard = torch.distributed.tensor.placement_types.Shard
    assert [shard.local_shard_size_and_offset(5, 4, i) for i in range(4)] == [
        (2, 0),
        (2, 2),
        (1, 4),
        (0, 5),
    ]
    assert importlib.import_module("jtorch.utils.model_zoo").tqdm


def test_groups_of_tensors() -> None:
    import jtorch as torch

    a, b = torch.ones(2), torch.ones(1, dtype=torch.float64)
    groups = torch.optim.Optimizer._group_tensors_by_device_and_dtype(
        [[a, b, a], [None, b, a], []], with_indices=True
    )
    assert groups[(a.device, a.dtype)][1] == [0, 2] and groups[(b.device, b.dtype)][1] == [1]
    assert groups[(a.device, a.dtype)][0][1][0] is None and groups[(a.device, a.dtype)][0][2] == []
    with pytest.raises(RuntimeError, match="the 0-th Tensor is not"):
        torch.optim.Optimizer._group_tensors_by_device_and_dtype([[None]])
    with pytest.raises(RuntimeError, match="Tensors of the same index"):
        torch.optim.Optimizer._group_tensors_by_device_and_dtype([[a], [a, a]])


def test_libraries_in_cpp_are_refused(tmp_path: Path) -> None:
    import jtorch as torch

    with pytest.raises(OSError, match=r"Could not load this library: /no/such\.so$"):
        torch.ops.load_library("/no/such.so")
    (tmp_path / "_C.so").write_bytes(b"")
    with pytest.raises(OSError, match=r"_C\.so. It is an extension in C\+\+ for PyTorch's tensors"):
        torch.ops.load_library(tmp_path / "_C.so")
    with pytest.raises(OSError, match=r"_C\.so. It is an extension in C\+\+ for PyTorch's tensors"):
        torch.classes.load_library(str(tmp_path / "_C.so"))
    assert torch.ops.loaded_libraries == set()


C_MODULE = r"""
#include <Python.h>
extern void FUNCTION(void);
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "NAME", 0, -1, 0};
PyMODINIT_FUNC PyInit_NAME(void) { FUNCTION(); return PyModule_Create(&module); }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")
def test_extensions_for_pytorch_say_what_they_are(tmp_path: Path) -> None:
    def build(name: str, source: str, *options: str) -> None:
        (tmp_path / f"{name}.c").write_text(source)
        include = sysconfig.get_paths()["include"]
        command = [
            "gcc",
            "-shared",
            "-fPIC",
            f"-I{include}",
            f"{name}.c",
            "-o",
            f"{name}.so",
            "-L.",
            "-Wl,--no-as-needed",
            *options,
        ]
        subprocess.run(command, cwd=tmp_path, check=True)

    build("libtorch_python", "void _ZN2at4onesEv(void) {}")
    for name, function, *options in (
        ("linked", "_ZN2at4onesEv", "-ltorch_python"),
        ("loose", "_ZN2at4onesEv"),
        ("other", "no_such_thing"),
    ):
        build(name, C_MODULE.replace("NAME", name).replace("FUNCTION", function), *options)
    (tmp_path / "libtorch_python.so").unlink()
    program = """
    import jtorch; jtorch.install()
    for name in ("linked", "loose", "other"):
        try:
            __import__(name)
        except ImportError as error:
            print(error.name,
                  error.path == f"{error.name}.so" or error.path.endswith("/" + error.name + ".so"),
                  error)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    linked, loose, other = ran.stdout.splitlines()
    words = (
        "linked.so) is an extension in C++ for PyTorch's tensors, which jtorch has none of: it "
        "needs libtorch_python."
    )
    assert (
        linked.startswith("linked True linked (")
        and words in linked
        and "torch.library.custom_op" in linked
    )
    assert (
        "loose.so) is an extension in C++ for PyTorch's tensors, which jtorch has none of: it "
        "needs _ZN2at4onesEv."
    ) in loose
    assert other.endswith("undefined symbol: no_such_thing")


def test_private_names_that_packages_use() -> None:
    import jtorch as torch

    assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine" and isinstance(
        torch.per_channel_symmetric, torch.qscheme
    )
    assert pickle.loads(pickle.dumps(torch.per_tensor_affine)) is torch.per_tensor_affine
    assert int(torch.Tag.pt2_compliant_tag) == 17 and repr(torch.Tag.core) == "<Tag.core: 0>"
    assert torch.autograd.DeviceType.CUDA.name == "CUDA" and torch.autograd.DeviceType.CUDA != 1
    assert "add" in torch.__all__ and "nn" not in torch.__all__

    called = []
    torch.cuda._lazy_call(lambda: called.append(1), seed=True)
    assert bool(called) is torch.cuda._initialized is torch.cuda.is_available()

    from jtorch.autograd.functional import _as_tuple, _grad_postprocess, _tuple_postprocess

    x = torch.ones(2, requires_grad=True)
    assert _as_tuple(x) == (False, (x,)) and _as_tuple((x, x), "inputs", "f") == (True, (x, x))
    assert (
        not _grad_postprocess((x * 2,), False)[0].requires_grad
        and _grad_postprocess((x * 2,), True)[0].requires_grad
    )
    given = [
        (((1,), (2,)), (True, False)),
        (((1,),), (False, False)),
        (((1, 2),), (False, True)),
        ((1, 2), True),
        ((1, 2), False),
    ]
    assert [_tuple_postprocess(*case) for case in given] == [(1, 2), 1, (1, 2), (1, 2), 1]

    from jtorch._C._autograd import _top_saved_tensors_default_hooks

    assert _top_saved_tensors_default_hooks(True) is None
    with torch.autograd.graph.saved_tensors_hooks(len, repr):
        assert _top_saved_tensors_default_hooks(True) == (len, repr)

    from jtorch._inductor import config

    with config.patch({"max_autotune": True}):
        assert config.max_autotune
    assert config.max_autotune is False

    from jtorch.quantization.observer import HistogramObserver

    assert HistogramObserver is torch.ao.quantization.HistogramObserver
