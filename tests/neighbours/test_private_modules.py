"""Private modules of PyTorch that packages import: what they offer, and where names that have a
home elsewhere are found."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
import warnings

import pytest

import jtorch as torch


@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        ("_functorch.eager_transforms", "jacrev", "func"),
        ("_functorch.functional_call", "stack_module_state", "func"),
        ("_library.custom_ops", "custom_op", "library"),
        ("_library.infer_schema", "infer_schema", "library"),
        ("_lobpcg", "lobpcg", ""),
        ("_lowrank", "svd_lowrank", ""),
        ("_refs", "softplus", "nn.functional"),
        ("_refs", "add", ""),
        ("_refs.special", "i1", "special"),
        ("jit._trace", "trace", "jit"),
        ("masked._ops", "softmax", "masked"),
        ("cpu.amp.autocast_mode", "autocast", "cpu.amp"),
        ("nn.parallel.comm", "broadcast", "cuda.comm"),
        ("nn.quantized.modules.linear", "Linear", "ao.nn.quantized"),
        ("quantization.stubs", "QuantStub", "ao.quantization"),
        ("signal.windows.windows", "hann", "signal.windows"),
        ("testing._creation", "make_tensor", "testing"),
    ],
)
def test_names_are_those_of_their_home(module: str, name: str, home: str) -> None:
    found = getattr(importlib.import_module(f"jtorch.{module}"), name)
    assert found is getattr(importlib.import_module(f"jtorch.{home}" if home else "jtorch"), name)


def test_what_pytorch_lacks_is_lacking() -> None:
    for module in (
        "_refs",
        "_linalg_utils",
        "_dynamo.testing",
        "fx.passes.splitter_base",
        "jit.frontend",
        "nn.quantized.functional",
    ):
        assert not hasattr(importlib.import_module(f"jtorch.{module}"), "no_such_name")


def test_errors_that_are_left_out_can_be_named_in_except() -> None:
    from jtorch.jit.frontend import NotSupportedError, get_jit_def

    with pytest.raises(
        NotImplementedError, match=r"torch\.jit\.frontend\.get_jit_def is not offered"
    ):
        try:
            get_jit_def(len, "f")
        except NotSupportedError:
            pytest.fail("nothing raises it")


def test_forms_of_matrices() -> None:
    from jtorch import _linalg_utils as forms

    a, x = torch.tensor([[2.0, 1.0], [1.0, 3.0]]), torch.tensor([[1.0], [2.0]])
    assert forms.qform(a, x).item() == 18 and forms.qform(None, x).item() == 5
    assert forms.bform(x, a.to_sparse(), torch.ones(2, 1)).item() == 11
    assert forms.is_sparse(a.to_sparse()) and not forms.is_sparse(a)
    assert [forms.get_floating_dtype(a.to(d)) for d in (torch.int64, torch.float64)] == [
        torch.float32,
        torch.float64,
    ]
    up, down = forms.symeig(a), forms.symeig(a, largest=True)
    assert (
        torch.equal(up[0].flip(-1), down[0])
        and torch.equal(up[1].flip(-1), down[1])
        and up[0][0] < up[0][1]
    )
    torch.testing.assert_close(forms.symeig(a.triu())[0], up[0])
    columns = forms.get_approximate_basis(a, 2)
    torch.testing.assert_close(columns.mT @ columns, torch.eye(2))
    with pytest.raises(TypeError, match="expected Tensor but got <class 'int'>"):
        forms.is_sparse(3)
    with pytest.raises(RuntimeError, match=r"deprecated since version 1\.9"):
        forms.eig(a)


def test_levels_of_logs() -> None:
    logs = torch._logging
    try:
        logs.set_logs(dynamo=logging.INFO, graph_breaks=True, modules={"json": logging.DEBUG})
        assert (
            logging.getLogger("torch._dynamo").level == logging.INFO
            and logging.getLogger("json").level == logging.DEBUG
        )
        logs.set_logs(all=logging.ERROR)
        assert (
            logging.getLogger("torch._dynamo").level
            == logging.getLogger("torch.onnx").level
            == logging.ERROR
        )
    finally:
        logs.set_logs()
        logging.getLogger("json").setLevel(logging.NOTSET)
    assert logging.getLogger("torch._dynamo").level == logging.NOTSET
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        logs.set_logs(bogus=3)
    with pytest.raises(ValueError, match="Unrecognized log level for log dynamo: x"):
        logs.set_logs(dynamo="x")
    with pytest.raises(ValueError, match="Expected bool to enable artifact graph, received 3"):
        logs.set_logs(graph=3)
    logger = logs.getArtifactLogger("a.b", "graph")
    assert (logger.name, logger.artifact_name) == ("a.b.__graph", "graph")
    with pytest.raises(ValueError, match="'zz' not registered"):
        logs.getArtifactLogger("a.b", "zz")
    assert str(logs.LazyString(lambda n: "x" * n, 3)) == "xxx"


def test_warnings_are_hidden_by_what_they_say() -> None:
    shown = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("always")
        patch.setattr(
            warnings, "showwarning", lambda message, *rest, **more: shown.append(str(message))
        )
        with torch._logging.hide_warnings(lambda message, *rest, **more: "old" in str(message)):
            warnings.warn("old ways", stacklevel=1)
            warnings.warn("new ways", stacklevel=1)
        warnings.warn("old habits", stacklevel=1)
    assert shown == ["new ways", "old habits"]


def test_vmap_in_chunks_and_stacked_leaves() -> None:
    from jtorch._functorch.apis import chunk_vmap
    from jtorch._functorch.functional_call import construct_stacked_leaf

    x = torch.arange(12.0).view(4, 3)
    torch.testing.assert_close(chunk_vmap(lambda r: (r * 2).sum(), chunks=3)(x), x.sum(1) * 2)
    torch.testing.assert_close(
        chunk_vmap(lambda r: r + 1, in_dims=1, out_dims=1, chunks=2)(x), x + 1
    )
    with pytest.raises(ValueError, match=r"\(got 0\)"):
        chunk_vmap(torch.sum, chunks=0)
    leaf = construct_stacked_leaf(
        [torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)], "w"
    )
    assert leaf.is_leaf and leaf.requires_grad and leaf.shape == (2, 2)
    with pytest.raises(RuntimeError, match="Expected w from each model"):
        construct_stacked_leaf([torch.ones(2, requires_grad=True), torch.zeros(2)], "w")


def test_backends_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from jtorch import compiler
    from jtorch._dynamo.backends import registry
    from jtorch._dynamo.testing import (
        CompileCounter,
        CompileCounterWithBackend,
        EagerAndRecordGraphs,
    )

    monkeypatch.setattr(compiler, "_REGISTERED", {})
    counter = CompileCounter()

    @registry.register_backend(name="counted", tags=("debug",))
    def counted(graph, inputs):
        return counter(graph, inputs)

    assert torch.compile(lambda x: (x + 1) * 2, backend="counted")(torch.ones(2)).tolist() == [4, 4]
    assert (counter.frame_count, counter.op_count) == (1, 2)
    counter.clear()
    assert counter.frame_count == 0
    assert "counted" not in registry.list_backends() and "counted" in registry.list_backends(
        exclude_tags=()
    )
    assert registry.lookup_backend("counted") is counted and registry.lookup_backend(len) is len
    torch.compiler.set_default_backend("counted")
    try:
        torch.compile(lambda x: x - 1)(torch.ones(2))
    finally:
        torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"
    assert counter.frame_count == 1
    with pytest.raises(AssertionError, match="duplicate name: counted"):
        registry.register_backend(lambda graph, inputs: graph, name="counted")
    with pytest.raises(RuntimeError, match="Invalid backend: 'unheard_of'"):
        registry.lookup_backend("unheard_of")
    for backend in ("eager", "inductor"):
        keeping = CompileCounterWithBackend(backend)
        assert torch.compile(lambda x: x * 3, backend=keeping)(torch.ones(1)).item() == 3
        assert keeping.frame_count == len(keeping.graphs) == 1
    recorded = EagerAndRecordGraphs()
    torch.compile(torch.sin, backend=recorded)(torch.ones(1))
    assert isinstance(recorded.graphs[0], torch.fx.GraphModule)


def test_settings_are_kept() -> None:
    import jtorch._dynamo.config as settings

    assert settings is torch._dynamo.config
    with settings.patch("suppress_errors", True):
        assert settings.suppress_errors
    assert not settings.suppress_errors
    inductor = importlib.import_module("jtorch._inductor.config")
    assert inductor.triton.unique_kernel_names and not inductor.max_autotune
    with (
        inductor.patch({"triton.cudagraphs": True, "max_autotune": True}),
        inductor.patch("own", 1),
        inductor.patch(debug=True),
    ):
        assert (
            inductor.triton.cudagraphs
            and inductor.max_autotune
            and inductor.own == 1
            and inductor.debug
        )
    assert (
        not inductor.triton.cudagraphs
        and not inductor.max_autotune
        and not hasattr(inductor, "own")
        and not inductor.debug
    )
    with pytest.raises(AttributeError, match="no_such"), inductor.patch("no_such.name", 1):
        pass


def test_small_parts() -> None:
    from jtorch.utils._dtype_abbrs import dtype_abbrs
    from jtorch.utils._functools import cache_method
    from jtorch.utils._ordered_set import OrderedSet
    from jtorch.utils._thunk import Thunk
    from jtorch.utils._typing_utils import not_none

    s = OrderedSet([3, 1, 3])
    s.update([2], [1])
    assert (
        list(s) == [3, 1, 2]
        and repr(s) == "OrderedSet([3, 1, 2])"
        and list(reversed(s)) == [2, 1, 3]
    )
    assert (
        list(s - {1}) == [3, 2]
        and list(s & [2, 3]) == [2, 3]
        and list(s.union([9])) == [3, 1, 2, 9]
        and s == {1, 2, 3}
    )
    assert (
        list(s.difference([3], [2])) == [1]
        and list(s.intersection([1, 2])) == [1, 2]
        and s.issubset([1, 2, 3, 4])
    )
    assert s.pop() == 2 and len(s) == 2
    assert dtype_abbrs[torch.float32] == "f32" and dtype_abbrs[torch.bool] == "b8"
    assert not_none(0) == 0
    with pytest.raises(TypeError, match="value was None"):
        not_none(None)
    calls = []
    thunk = Thunk(lambda: calls.append(1) or 7)
    assert (thunk.force(), thunk.force(), len(calls)) == (7, 7, 1)

    class Squares:
        @cache_method
        def of(self, n: int) -> int:
            calls.append(n)
            return n * n

    made = Squares()
    assert made.of(5) == made.of(5) == 25 and calls == [1, 5]


def test_devices_of_factories_and_types_of_nodes() -> None:
    from jtorch.fx.annotate import annotate
    from jtorch.utils._device import DeviceContext, _device_constructors, set_device

    assert set_device("meta")(lambda: torch.ones(2))().device.type == "meta"
    with DeviceContext("meta"):
        assert torch.zeros(1).device.type == "meta"
    assert torch.zeros in _device_constructors() and torch.add not in _device_constructors()
    assert annotate(3, int) == 3
    graph = torch.fx.symbolic_trace(lambda x: annotate(x + 1, torch.Tensor)).graph
    assert [node.type for node in graph.nodes][1] is torch.Tensor
    with pytest.raises(RuntimeError, match="already had a type"):
        torch.fx.symbolic_trace(lambda x: annotate(annotate(x + 1, torch.Tensor), int))


def test_a_program_finds_them_under_torchs_name(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "import torch._dynamo.config as config\n"
        "assert config is torch._dynamo.config\n"
        "from torch._linalg_utils import matmul\n"
        "from torch._logging import set_logs\n"
        "from torch.nn.quantized.functional import linear\n"
        "from torch.fx.passes.splitter_base import _SplitterBase\n"
        "import torch._refs as refs, torch._refs.nn.functional as F\n"
        "assert refs.sin is torch.sin and F.relu is torch.nn.functional.relu\n"
        "from torch.utils._ordered_set import OrderedSet\n"
        "print(OrderedSet([2, 1]), matmul(None, 3))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "jtorch", str(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "OrderedSet([2, 1]) 3\n", done.stderr


@pytest.mark.parametrize("name", ["fft", "linalg", "special"])
def test_functions_of_a_public_module_by_their_bound_names(name):
    bound = importlib.import_module(f"jtorch._C._{name}")
    home = importlib.import_module(f"jtorch.{name}")
    assert len(dir(bound)) > 20
    for entry in dir(bound):
        assert getattr(bound, entry) is getattr(home, entry.removeprefix(f"{name}_"))
    for absent in (
        "nothing",
        f"{name}_nothing",
        f"{name}_Any",
        f"{name}___name__",
        dir(bound)[0].removeprefix(f"{name}_"),
    ):
        with pytest.raises(AttributeError, match=absent):
            getattr(bound, absent)


def test_copies_for_a_compiler_are_leaves_with_gradients_of_their_own():
    x = torch.rand(2, 3).t().requires_grad_()
    x.grad = torch.ones(3, 2)
    made = torch._dynamo.utils.clone_input(x)
    assert made.is_leaf and made.requires_grad and made.stride() == x.stride()
    assert torch.equal(made, x) and made.data_ptr() != x.data_ptr()
    assert torch.equal(made.grad, x.grad) and made.grad is not x.grad
    assert torch._dynamo.utils.clone_input(x, dtype=torch.float64).dtype is torch.float64


def test_answers_of_a_package_without_pytorchs_compiler():
    assert torch._dynamo.config.compiled_autograd is False
    inner = importlib.import_module("jtorch._utils_internal")
    assert inner.get_file_path_2("a", "b.txt") == os.path.join("a", "b.txt")
    assert not torch._utils._is_privateuse1_backend_available()
    assert torch._C._get_cpu_capability() == torch.backends.cpu.get_cpu_capability()
    utils = importlib.import_module("jtorch._inductor.utils")
    assert "cuda" in utils.GPU_TYPES and utils.get_gpu_type() in utils.GPU_TYPES
    settings = importlib.import_module("jtorch._functorch.config")
    compiles = importlib.import_module("jtorch._src.neighbours.beside.functorch.compile")
    assert compiles.config is settings
    kinds = importlib.import_module("jtorch._C._functorch").TransformType
    assert [k.name for k in kinds] == ["Torch", "Vmap", "Grad", "Jvp", "Functionalize"]
