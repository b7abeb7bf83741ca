"""C++ kernels: compiled, bound as operators, with gradients, shapes, ``vmap`` and errors of their
own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch.utils import cpp_extension

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")

SOURCE = r"""
ffi::Error axpy_impl(double a, ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> y, ffi::ResultBuffer<ffi::F32> out) {
  if (x.element_count() != y.element_count()) return ffi::Error::InvalidArgument("sizes differ");
  for (size_t i = 0; i < x.element_count(); ++i) out->typed_data()[i] = a * x.typed_data()[i] + y.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(axpy, axpy_impl,
    ffi::Ffi::Bind().Attr<double>("a").Arg<ffi::Buffer<ffi::F32>>().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

ffi::Error total_impl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  float sum = 0;
  for (size_t i = 0; i < x.element_count(); ++i) sum += x.typed_data()[i];
  out->typed_data()[0] = sum;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(total, total_impl, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""  # noqa: E501


@pytest.fixture(scope="module")
def extension(tmp_path_factory: Any) -> Any:
    return cpp_extension.load_inline(
        "tests_axpy",
        SOURCE,
        functions=["axpy", "total"],
        extra_cflags=["-O0"],
        build_directory=str(tmp_path_factory.mktemp("build")),
    )


def test_calling(extension: Any) -> None:
    x, y = torch.arange(4.0), torch.ones(4)
    assert extension.axpy(x, y, 3.0).tolist() == [1.0, 4.0, 7.0, 10.0]
    assert torch.ops.tests_axpy.axpy(x, y, a=2.0).tolist() == [1.0, 3.0, 5.0, 7.0]
    assert (
        str(extension.axpy._opoverload._schema)
        == "tests_axpy::axpy(Tensor x0, Tensor x1, float a) -> Tensor"
    )
    assert (
        torch.func.vmap(lambda v: extension.axpy(v, y, 3.0))(torch.ones(2, 4)).tolist()
        == [[4.0] * 4] * 2
    )


def test_shapes(extension: Any) -> None:
    extension.total.register_fake(lambda x: x.new_empty(()))
    assert extension.total(torch.arange(4.0)).item() == 6.0
    assert extension.total(torch.ones(3, device="meta")).shape == ()


def test_gradients(extension: Any) -> None:
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.a = inputs[2]

    extension.axpy.register_autograd(lambda ctx, g: (g * ctx.a, g, None), setup_context=setup)
    x, y = torch.arange(4.0).requires_grad_(), torch.ones(4, requires_grad=True)
    extension.axpy(x * 2, y, 3.0).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([6.0] * 4, [1.0] * 4)
    assert set(torch.library.opcheck(extension.axpy, (x, y, 2.0)).values()) == {"SUCCESS"}


def test_errors(extension: Any) -> None:
    with pytest.raises(RuntimeError, match="sizes differ"):
        extension.axpy(torch.ones(3), torch.ones(4), 1.0).tolist()
    with pytest.raises(RuntimeError, match=r"Error building extension 'tests_broken'"):
        cpp_extension.load_inline(
            "tests_broken",
            SOURCE.replace("float sum", "flot"),
            extra_cflags="-O0",
            build_directory=str(Path(extension.__file__).parent),
        )
    with pytest.raises(ValueError, match="define no handler 'nope'"):
        cpp_extension.load_inline("tests_nope", SOURCE, functions=["nope"])
    with pytest.raises(NotImplementedError, match="written for PyTorch's C\\+\\+ tensors"):
        cpp_extension.load_inline("tests_torch", "#include <torch/extension.h>\n")
    with pytest.raises(NotImplementedError, match="cuda_sources"):
        cpp_extension.load_inline("tests_cuda", SOURCE, cuda_sources="x")
    kernel = Path(extension.__file__).parent / "kernel.cu"
    kernel.write_text("")
    with pytest.raises(
        NotImplementedError,
        match=r"the extension 'tests_kernel' with sources kernel\.cu is not offered",
    ):
        cpp_extension.load("tests_kernel", [str(kernel)])


def test_files_are_compiled_once(tmp_path: Path) -> None:
    file = tmp_path / "total.cpp"
    file.write_text(
        '#include "xla/ffi/api/ffi.h"\nnamespace ffi = xla::ffi;\n'
        + SOURCE[SOURCE.index("ffi::Error total_impl") :]
    )
    made = cpp_extension.load("tests_files", [str(file)], "-O0", build_directory=str(tmp_path))
    stamp = Path(made.__file__).stat().st_mtime_ns
    again = cpp_extension.load("tests_files", str(file), "-O0", build_directory=str(tmp_path))
    assert Path(again.__file__).stat().st_mtime_ns == stamp
    assert again.total(torch.ones(1)).item() == 1.0
