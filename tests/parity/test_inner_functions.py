"""Inner functions of PyTorch that copies of its layers and wrappers around them call."""

from __future__ import annotations

import functools
import importlib
import io
import itertools
import pickle
import sys
import warnings
from typing import Any

import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity


def said(function: Any, *args: Any) -> Any:
    """What a call gives, numbers for tensors, or its error."""
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = function(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return plain(found), [str(w.message) for w in seen]


def plain(x: Any) -> Any:
    """Tensors as numbers and strides, dtypes as text, in nested structures."""
    if hasattr(x, "tolist"):
        return x.tolist(), x.stride()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else str(x)


def calls(t: Any) -> list[Any]:
    """The same calls of either package."""
    F = t.nn.functional
    checkpoint, cuda = (
        importlib.import_module(f"{t.__name__}.{name}")
        for name in ("utils.checkpoint", "cuda._utils")
    )
    ddp = importlib.import_module(f"{t.__name__}.nn.parallel.distributed")
    w = t.arange(27.0).view(9, 3)
    q, k = t.ones(2, 1, 3), t.arange(6.0).view(2, 1, 3)
    zeros = t.zeros
    found: list[Any] = []
    for size in ([1], [2, 3], [1, 3, 1], [1, 1, 2]):
        found += (F._verify_batch_size, size), (F._verify_spatial_size, size)
    found += [(F._get_softmax_dim, "softmax", n, 2) for n in range(5)]
    found += [(F._list_with_default, a, b) for a, b in (([None, 3], [1, 2]), ([1, 2, 3], [3, 2]))]
    found += [
        (F._in_projection_packed, a, b, c, w, bias)
        for a, b, c, bias in ((q, q, q, None), (q, k, k, w[:, 0]), (q, k, q, None))
    ]
    found += [
        (F._in_projection, q, k, q, w[:3], w[3:6], w[6:], t.ones(3)),
        (F._in_projection, q, k, q, w[:3], w[3:5], w[6:]),
    ]
    found.append((F._in_projection, q, k, q, w[:3], w[3:6], w[6:], None, t.ones(2)))
    for shapes in (((2, 3),) * 3, ((2, 1, 3), (2, 3), (2, 1, 3)), ((3,),) * 3):
        found.append((F._mha_shape_check, *map(zeros, shapes), None, None, 2))
    found.append((F._mha_shape_check, *map(zeros, ((2, 3),) * 3), None, zeros(3, 2, 2), 2))
    found += [
        (F._unpool_output_size, t.ones(1, 1, 3, 3), [2, 2], [2, 2], [0, 0], size)
        for size in (None, [7, 7], [9])
    ]
    found.append((F._Reduction.get_enum, "sum"))
    table = t.full((3, 2), 3.0, requires_grad=True)
    found.append(
        (lambda: (F._no_grad_embedding_renorm_(table, t.tensor([1]), 1.0, 2.0), table.detach())[1],)
    )
    found += [
        (checkpoint._infer_device_type, t.ones(2), {"a": t.ones(1)}),
        (checkpoint._get_autocast_kwargs, "cpu"),
    ]
    found += [(cuda._get_device_index, d) for d in ("cuda:1", 2, "cpu", "cuda", None)]
    found += [(cuda._get_device_index, "cpu", False, True), (t.cuda._lazy_init,)]
    found.append((lambda: list(ddp._find_tensors({"a": [t.ones(1), (t.zeros(2),)], "b": 3})),))
    found.append((t._C._VariableFunctions.add, t.ones(2), 1))
    return found


def test_inner_functions() -> None:
    """Results, strides, warnings and errors are PyTorch's."""
    wanted, found = calls(torch), calls(jtorch)
    for a, b in zip(wanted, found, strict=True):
        theirs, ours = said(*a), said(*b)
        assert str(ours).replace("jtorch", "torch") == str(theirs), a[0]


def test_names() -> None:
    """They are what they are elsewhere."""
    assert jtorch._C._TensorBase is jtorch._C.TensorBase
    assert importlib.import_module("jtorch._ops").ops is jtorch.ops
    assert importlib.import_module("jtorch.utils.cpp_extension")._find_cuda_home() is None
    with pytest.raises(AttributeError, match="_nonsense"):
        _ = jtorch.nn.functional._nonsense


@pytest.mark.parametrize(
    "name",
    """is_boolean_dtype is_integer_dtype is_float_dtype is_complex_dtype dtype_to_type type_to_dtype
    get_dtype corresponding_real_dtype corresponding_complex_dtype""".split(),
)
def test_dtypes_of_numbers(name: str) -> None:
    def program(lib: Any) -> list[str]:
        told = []
        function = getattr(importlib.import_module(f"{lib.__name__}._prims_common"), name)
        dtypes = "bool uint8 uint64 int16 half bfloat16 float32 float8_e5m2 double cfloat qint8"
        types = [bool, int, float, complex, str, lib.SymInt, lib.SymFloat, lib.SymBool]
        given = {
            "type_to_dtype": types,
            "get_dtype": [True, 1, 1.5, 1j, lib.ones(1), lib.ones(1, dtype=lib.int8)],
        }
        for x in given.get(name, [getattr(lib, d) for d in dtypes.split()]):
            try:
                told.append(str(function(x)))
            except (ValueError, KeyError) as error:
                told.append(repr(error))
        return told

    assert program(jtorch) == program(torch)


def test_dtypes_that_functions_of_elements_compute_in() -> None:
    def program(lib: Any) -> list[str]:
        common = importlib.import_module(f"{lib.__name__}._prims_common")
        dtypes = (lib.bool, lib.int32, lib.bfloat16, lib.float64, lib.complex64)
        operands = [lib.ones(n, dtype=d) for d in dtypes for n in ((2,), ())] + [True, 2, 1.5]
        found = [
            str(common.elementwise_dtypes(a, b, type_promotion_kind=kind))
            for a, b in itertools.product(operands, repeat=2)
            for kind in common.ELEMENTWISE_TYPE_PROMOTION_KIND
        ]
        return [*found, str(common.canonicalize_dims(3, (-1, 0)))]

    assert program(jtorch) == program(torch)


def test_older_files_are_read_from_where_they_begin() -> None:
    for lib in (torch, jtorch):
        file = io.BytesIO()
        lib.save({"a": lib.arange(3)}, file, _use_new_zipfile_serialization=False)
        file.seek(0)
        assert lib.serialization._legacy_load(file, "cpu", pickle)["a"].tolist() == [0, 1, 2]


def test_modules_are_wrapped_from_the_inside() -> None:
    def program(lib: Any) -> list[str]:
        class Wrapper(lib.nn.Module):
            def __init__(self, module: Any, tag: int = 0) -> None:
                super().__init__()
                self.module, self.tag = module, tag

            def extra_repr(self) -> str:
                return f"tag={self.tag}"

        wrap = importlib.import_module(f"{lib.__name__}.distributed.fsdp.wrap")
        found = []
        for least in (6, 20, 100):
            for children in (False, True):
                inner = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.ReLU())
                inner._wrap_overrides = {"tag": 2}
                net = lib.nn.Sequential(inner, lib.nn.Linear(3, 4))
                policy = functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=least)
                made, count = wrap._recursive_wrap(
                    net, policy, Wrapper, set(), set(), children, tag=1
                )
                found.append(f"{made} {count}")
        return found

    assert program(jtorch) == program(torch)


def test_reasons_of_breaks_have_parts() -> None:
    def f(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x

    for lib in (torch, jtorch):
        (reason,) = (
            importlib.import_module(f"{lib.__name__}._dynamo").explain(f)(lib.ones(2)).break_reasons
        )
        assert (
            isinstance(reason.reason, str)
            and reason.graph_break
            and isinstance(reason.user_stack, list)
        )


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the operating system does not tell"
)
def test_what_the_processor_has() -> None:
    asked = [name for name in dir(torch.cpu) if name.startswith(("_is_", "_init_"))]
    assert {name: getattr(jtorch.cpu, name)() for name in asked} == {
        name: getattr(torch.cpu, name)() for name in asked
    }


def test_settings_of_the_compiler_can_be_read() -> None:
    theirs, mine = (
        importlib.import_module(f"{lib.__name__}._inductor.config") for lib in (torch, jtorch)
    )
    found = theirs.get_config_copy().items()
    plain = [
        name
        for name, value in found
        if isinstance(value, (bool, int, float, type(None))) and name.islower() and "." not in name
    ]
    lacking = [
        name
        for name in plain
        if not name.startswith("_") and name != "is_nightly_or_source" and not hasattr(mine, name)
    ]
    assert len(plain) > 150 and not lacking


def test_what_the_processor_can_do() -> None:
    mine, theirs = jtorch.cpu.get_capabilities(), torch.cpu.get_capabilities()
    same = {k: v for k, v in theirs.items() if "cores" not in k and "sockets" not in k}
    assert {k: mine.get(k) for k in same} == same
