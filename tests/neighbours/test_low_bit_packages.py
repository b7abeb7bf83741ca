"""What packages that quantise models ask at their import: private names, tables of compilers,
classes to subclass, schemas with dtypes."""

from __future__ import annotations

import importlib
import warnings

import pytest

import jtorch as torch


@pytest.mark.parametrize(
    "name",
    [
        "Tag",
        "dtype",
        "device",
        "Size",
        "layout",
        "memory_format",
        "Generator",
        "finfo",
        "get_default_dtype",
    ],
)
def test_what_pytorch_publishes_is_in_its_inner_module_too(name: str) -> None:
    assert getattr(torch._C, name) is getattr(torch, name)


def test_the_inner_module_has_no_more_than_pytorchs() -> None:
    for name in ("nn", "Tensor", "compile", "no_such_name"):
        assert not hasattr(torch._C, name)


def test_questions_about_the_processor() -> None:
    assert torch._C._cpu._init_amx() is torch.cpu._is_amx_tile_supported()
    assert torch._C._cpu._get_cpu_capability() == torch.backends.cpu.get_cpu_capability()
    assert not hasattr(torch._C._cpu, "_is_amx_tile_supported")


def test_a_warning_is_given_once() -> None:
    from jtorch._dynamo.utils import warn_once, warn_once_cache

    text = "a warning of test_low_bit_packages"
    warn_once_cache.discard(text)
    with pytest.warns(UserWarning, match=text):
        warn_once(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once(text)


def test_decompositions_for_a_compiler_that_is_not_there() -> None:
    tables = importlib.import_module("jtorch._inductor.decomposition")
    library = torch.library.Library("low_bit_tests", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    operator = torch.ops.low_bit_tests.twice
    assert tables.register_decomposition([operator])(abs) is abs
    assert tables.decompositions[operator.default] is abs
    assert operator.default not in torch._decomp.decomposition_table


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ao.quantization.quantize_jit", "fuse_conv_bn_jit"),
        ("ao.quantization.observer", "AffineQuantizedObserverBase"),
        ("ao.pruning", "BaseSparsifier"),
        ("ao.ns._numeric_suite", "compare_model_outputs"),
        ("sparse._triton_ops_meta", "minimize"),
        ("_higher_order_ops.inline_asm_elementwise", "inline_asm_elementwise"),
    ],
)
def test_what_is_left_out_refuses_when_it_is_used(module: str, name: str) -> None:
    found = getattr(importlib.import_module(f"jtorch.{module}"), name)
    with pytest.raises(NotImplementedError, match=rf"torch\..*\b{name} is not offered"):
        found()


def test_classes_of_two_in_four_sparsity_can_be_subclassed() -> None:
    from jtorch.sparse import SparseSemiStructuredTensor
    from jtorch.sparse.semi_structured import SparseSemiStructuredTensorCUTLASS

    class Own(SparseSemiStructuredTensorCUTLASS):
        pass

    assert torch.sparse.SparseSemiStructuredTensorCUTLASS is SparseSemiStructuredTensorCUTLASS
    assert SparseSemiStructuredTensor._DEFAULT_ALG_ID == 0
    assert not isinstance(torch.ones(4, 4), SparseSemiStructuredTensor)
    with pytest.raises(NotImplementedError, match=r"torch\.sparse\.Own is not offered"):
        Own(torch.ones(4, 4))
    with pytest.raises(NotImplementedError, match="to_sparse_semi_structured is not offered"):
        torch.sparse.to_sparse_semi_structured(torch.ones(4, 4))


def test_memory_formats_that_strides_suggest() -> None:
    from jtorch._prims_common import suggest_memory_format

    image = torch.zeros(2, 3, 4, 5)
    assert suggest_memory_format(image) == torch.contiguous_format
    assert suggest_memory_format(image.to(memory_format=torch.channels_last)) == torch.channels_last
    volume = torch.zeros(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d)
    assert suggest_memory_format(volume) == torch.channels_last_3d
    assert suggest_memory_format(torch.zeros(2, 3)) == torch.contiguous_format


def test_gradients_pass_what_collectives_wrap() -> None:
    x = torch.ones(2, requires_grad=True)
    torch.ops._c10d_functional._wrap_tensor_autograd(x * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parity
def test_what_may_replace_the_data_of_a_tensor() -> None:
    import torch as real

    def answers(t) -> list[bool]:
        x = t.ones(2, 2)
        given = [x, x.double(), x.to_sparse(), x.to_sparse_csr()]
        return [t._has_compatible_shallow_copy_type(a, b) for a in given for b in given]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert answers(torch) == answers(real)


DTYPES = [
    ("float32", "float32"),
    ("half", "float16"),
    ("float8_e4m3fn", "float8_e4m3fn"),
    ("long", "int64"),
]


@pytest.mark.parametrize(("text", "meant"), DTYPES)
def test_dtypes_as_defaults_of_schemas(text: str, meant: str) -> None:
    library = torch.library.Library("low_bit_tests", "FRAGMENT")
    library.define(f"default_{text}(Tensor x, ScalarType d={text}) -> Tensor")
    schema = getattr(torch.ops.low_bit_tests, f"default_{text}").default._schema
    assert schema.arguments[1].default_value == getattr(torch, meant)


def test_defaults_that_are_no_values_are_refused() -> None:
    library = torch.library.Library("low_bit_tests", "FRAGMENT")
    for kind in ("ScalarType", "int"):
        with pytest.raises(RuntimeError, match="invalid numeric default value"):
            library.define(f"wrong_{kind}(Tensor x, {kind} d=nothing) -> Tensor")
