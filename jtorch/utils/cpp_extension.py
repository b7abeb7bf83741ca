"""C++ kernels: sources written for XLA's foreign function interface, compiled and bound as
operators on tensors.

A source includes ``xla/ffi/api/ffi.h`` (its folder is ``include_paths()``) and defines handlers
with ``XLA_FFI_DEFINE_HANDLER_SYMBOL(name, function, binding)``. The parameters of the operator are
read off the binding: each ``.Arg<...>()`` is a tensor, each ``.Attr<T>("n")`` an argument ``n``,
each ``.Ret<...>()`` a result, which has the shape of the first tensor unless ``register_fake`` says
otherwise.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

import jtorch as torch

from .._src.facts.dtypes import BY_NP
from .._src.facts.errors import not_offered
from .._src.refusals import stand_ins as _refusals
from ..library.custom import CustomOpDef
from ..library.kernels import JaxKernel

if TYPE_CHECKING:
    from .._src.facts.kinds import Operand, Operands


__all__ = [
    "get_default_build_root", "check_compiler_ok_for_platform",
    "get_compiler_abi_compatibility_and_version", "BuildExtension", "CppExtension", "CUDAExtension",
    "SyclExtension", "include_paths", "library_paths", "load", "load_inline", "is_ninja_available",
    "verify_ninja_availability", "get_cxx_compiler", "check_compiler_is_gcc",
]  # fmt: skip

CUDA_HOME: str | None = None


def _find_cuda_home() -> str | None:
    """None: nothing is compiled with CUDA's compiler."""
    return CUDA_HOME


ROCM_HOME: str | None = None

#: Attribute types of C++: the schema's type, and what XLA is given.
_ATTRIBUTES = {
    "float": ("float", np.float32), "double": ("float", np.float64),
    "int32_t": ("SymInt", np.int32), "int64_t": ("SymInt", np.int64), "int": ("SymInt", np.int32),
    "bool": ("bool", np.bool_), "std::string_view": ("str", str),
}  # fmt: skip
_ELEMENTS = {
    "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16", "S8": "int8",
    "S16": "int16", "S32": "int32", "S64": "int64", "U8": "uint8", "PRED": "bool",
    "C64": "complex64", "C128": "complex128",
}  # fmt: skip


# ---- bindings ------------------------------------------------------------------------------------


class _Binding:
    """What a handler takes and gives, read off its definition in the source.

    Raises:
        ValueError: if the source defines no such handler, or it takes something that no operator
            can be given.
    """

    def __init__(self, source: str, name: str) -> None:
        found = re.search(
            rf"XLA_FFI_DEFINE_HANDLER(?:_SYMBOL)?\s*\(\s*{re.escape(name)}\s*,", source
        )
        if found is None:
            raise ValueError(
                f"the sources define no handler {name!r}: expected "
                f"XLA_FFI_DEFINE_HANDLER_SYMBOL({name}, function, ffi::Ffi::Bind()...)"
            )
        text = _inside(source, source.index("(", found.start()))
        self.tensors = 0
        self.attributes = []
        self.results: list[str | None] = []
        for kind, declared, named in re.findall(
            r"\.\s*(Arg|Attr|Ret)\s*<((?:[^<>]|<[^<>]*>)*)>\s*\(\s*(?:\"(\w+)\")?\s*\)", text
        ):
            if kind == "Arg":
                self.tensors += 1
            elif kind == "Ret":
                element = re.search(
                    r"\b(?:ffi::)?(?:DataType::)?(" + "|".join(_ELEMENTS) + r")\b", declared
                )
                self.results.append(_ELEMENTS[element.group(1)] if element else None)
            else:
                if declared.strip() not in _ATTRIBUTES:
                    raise ValueError(
                        f"{name}: an attribute of type {declared} is not offered; use one of "
                        f"{', '.join(_ATTRIBUTES)}"
                    )
                schema_type, convert = _ATTRIBUTES[declared.strip()]
                self.attributes.append((named, schema_type, convert))
        if not self.tensors or not self.results:
            raise ValueError(
                f"{name}: a handler needs at least one .Arg and one .Ret to be an operator on "
                "tensors"
            )

    def schema(self) -> str:
        """The operator's schema, without its name."""
        names = ["x"] if self.tensors == 1 else [f"x{i}" for i in range(self.tensors)]
        parts = [f"Tensor {n}" for n in names] + [f"{kind} {n}" for n, kind, _ in self.attributes]
        results = ["Tensor"] * len(self.results)
        return (
            f"({', '.join(parts)}) -> "
            f"{results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"
        )


def _inside(text: str, at: int) -> str:
    """What stands between the bracket at ``at`` and its partner."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return text[at + 1 : i]
    raise ValueError("the sources have unbalanced brackets")


def _bind(space: str, name: str, binding: _Binding, symbol: object) -> CustomOpDef:
    """The operator of one handler."""
    target = f"{space}.{name}"
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(symbol), platform="cpu")

    def shapes(arrays: Operands, rest: Sequence[object]) -> list[jax.ShapeDtypeStruct]:
        fake = op._user.fake
        if fake is None:
            first = arrays[0]
            return [
                jax.ShapeDtypeStruct(first.shape, first.dtype if d is None else d)
                for d in binding.results
            ]
        made = [torch.empty(a.shape, dtype=BY_NP[np.dtype(a.dtype)], device="meta") for a in arrays]
        out = fake(*made, *rest)
        return [
            jax.ShapeDtypeStruct(tuple(t.shape), t.dtype.np)
            for t in (out if isinstance(out, (tuple, list)) else (out,))
        ]

    def kernel(*given: object) -> Operand:
        arrays, rest = given[: binding.tensors], given[binding.tensors :]
        attributes = {
            n: convert(value)
            for (n, _, convert), value in zip(binding.attributes, rest, strict=True)
        }
        out = shapes(arrays, rest)
        run = jax.ffi.ffi_call(target, out[0] if len(out) == 1 else out, vmap_method="sequential")
        return run(*arrays, **attributes)

    kernel.__name__ = name
    op = CustomOpDef(space, name, binding.schema(), kernel)
    op._user.jax = JaxKernel(op._opoverload._schema, kernel)
    return op


# ---- compiling -----------------------------------------------------------------------------------


def get_cxx_compiler() -> str:
    """The C++ compiler: ``CXX`` of the environment, else ``g++`` or ``c++``."""
    return os.environ.get("CXX") or shutil.which("g++") or "c++"


def get_default_build_root() -> str:
    """The folder in the user's cache below which extensions are built."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "jtorch_extensions")


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders to compile with: that of XLA's headers, which come with JAX."""
    del device_type
    return [jax.ffi.include_dir()] if torch_include_dirs else []


def library_paths(
    device_type: str = "cpu",
    torch_include_dirs: bool = True,
    cross_target_platform: str | None = None,
) -> list[str]:
    """No folders: the headers are all there is to link with."""
    del device_type, torch_include_dirs, cross_target_platform
    return []


def _flags(flags: str | Iterable[str] | None) -> list[str]:
    return [] if flags is None else shlex.split(flags) if isinstance(flags, str) else list(flags)


def _built(
    name: str,
    sources: dict[str, str],
    compile_flags: list[str],
    link_flags: list[str],
    folder: str | None,
    verbose: bool,
) -> Path:
    """The shared library of the sources; compiled unless the same was before."""
    compiler = get_cxx_compiler()
    words = [
        compiler,
        "-shared",
        "-fPIC",
        "-std=c++17",
        "-O2",
        f"-I{jax.ffi.include_dir()}",
        *compile_flags,
    ]
    state = "\0".join([*words, *link_flags, jax.__version__, *sources, *sources.values()])
    place = Path(folder or os.environ.get("TORCH_EXTENSIONS_DIR") or get_default_build_root()) / (
        "" if folder else name
    )
    library = place / f"{name}-{hashlib.sha256(state.encode()).hexdigest()[:16]}.so"
    if library.exists():
        return library
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        files = []
        for file, text in sources.items():
            if not os.path.isabs(file):
                path = os.path.join(scratch, file)
                Path(path).write_text(text)
                files.append(path)
            else:
                files.append(file)
        made = os.path.join(scratch, "made.so")
        command = [*words, *files, "-o", made, *link_flags]
        if verbose:
            sys.stderr.write(shlex.join(command) + "\n")
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise RuntimeError(
                f"Error building extension '{name}': there is no compiler {compiler!r}; set CXX"
            ) from error
        if done.returncode:
            raise RuntimeError(f"Error building extension '{name}': {done.stderr or done.stdout}")
        os.replace(made, library)  # another process may have done the same: either's is good
    return library


def _refuse(name: str, sources: dict[str, str], **given: Any) -> None:
    for what, value in given.items():
        if value:
            with_what = (
                f"sources {', '.join(map(os.path.basename, value))}"
                if what == "kinds"
                else f"{what}="
            )
            why = (
                "only C++ for the CPU is compiled; on accelerators write the kernel with "
                "jax.experimental.pallas"
            )
            raise not_offered(f"the extension {name!r} with {with_what}", why)
    for file, text in sources.items():
        if re.search(r"#\s*include\s*[<\"](torch/|ATen/|c10/|pybind11/)", text):
            raise not_offered(
                f"the extension {name!r} ({file})",
                "it is written for PyTorch's C++ tensors; write its kernels for XLA's foreign "
                "function interface (xla/ffi/api/ffi.h)",
            )


def _loaded(name: str, library: Path, source: str, functions: Sequence[str]) -> types.ModuleType:
    loaded = ctypes.CDLL(str(library))
    module = types.ModuleType(name)
    module.__file__ = str(library)
    for function in functions:
        setattr(
            module,
            function,
            _bind(name, function, _Binding(source, function), getattr(loaded, function)),
        )
    return module


def _handlers(source: str) -> list[str]:
    return re.findall(r"XLA_FFI_DEFINE_HANDLER_SYMBOL\s*\(\s*(\w+)\s*,", source)


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: object = None,
    sycl_sources: object = None,
    functions: Any = None,
    extra_cflags: Any = None,
    extra_cuda_cflags: object = None,
    extra_sycl_cflags: object = None,
    extra_ldflags: Any = None,
    extra_include_paths: Any = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:
    """Compiles C++ from strings and gives a module with one operator for each of ``functions``
    (default: each handler of the sources).

    The operators can be called, and take gradients and shapes, as those of ``library.custom_op``;
    they are found as ``torch.ops.<name>.<function>`` too. The same sources are compiled once.

    Raises:
        NotImplementedError: for CUDA and SYCL sources, and those that are written for PyTorch's own
            headers.
        RuntimeError: if the compiler refuses them.
        ValueError: if a function is no handler.

    Differs from torch:
        Sources are written for XLA's foreign function interface, since there is no C++ tensor. See
        the module's description.
    """
    # errors come from the handler; nothing is kept, nothing precompiled
    del with_pytorch_error_handling, keep_intermediates, use_pch
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if not no_implicit_headers and not any("ffi.h" in t for t in texts):
        texts.insert(0, '#include "xla/ffi/api/ffi.h"\nnamespace ffi = xla::ffi;\n')
    source = "\n".join(texts)
    sources = {"main.cpp": source}
    _refuse(
        name, sources, cuda_sources=cuda_sources, sycl_sources=sycl_sources,
        extra_cuda_cflags=extra_cuda_cflags, extra_sycl_cflags=extra_sycl_cflags,
        with_cuda=with_cuda, with_sycl=with_sycl,
    )  # fmt: skip
    wanted = (
        _handlers(source)
        if functions is None
        else [functions]
        if isinstance(functions, str)
        else list(functions)
    )
    for function in wanted:
        _Binding(source, function)  # says what is wrong before anything is compiled
    includes = [f"-I{p}" for p in extra_include_paths or ()]
    library = _built(
        name,
        sources,
        _flags(extra_cflags) + includes,
        _flags(extra_ldflags),
        build_directory,
        verbose,
    )
    module = _loaded(name, library, source, wanted)
    return module if is_python_module else str(library)


def load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Any = None,
    extra_cuda_cflags: object = None,
    extra_sycl_cflags: object = None,
    extra_ldflags: Any = None,
    extra_include_paths: Any = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> Any:
    """Compiles C++ files and gives a module with one operator for each handler that they define;
    see ``load_inline``."""
    del keep_intermediates
    files = [os.path.abspath(f) for f in ([sources] if isinstance(sources, str) else sources)]
    texts = {f: Path(f).read_text() for f in files}
    kinds = [f for f in files if f.endswith((".cu", ".cuh", ".sycl"))]
    _refuse(
        name, texts, extra_cuda_cflags=extra_cuda_cflags, extra_sycl_cflags=extra_sycl_cflags,
        kinds=kinds,
        with_cuda=with_cuda, with_sycl=with_sycl, is_standalone=is_standalone,
    )  # fmt: skip
    source = "\n".join(texts.values())
    includes = [f"-I{p}" for p in extra_include_paths or ()]
    library = _built(
        name,
        texts,
        _flags(extra_cflags) + includes,
        _flags(extra_ldflags),
        build_directory,
        verbose,
    )
    module = _loaded(name, library, source, _handlers(source))
    return module if is_python_module else str(library)


# ---- what build scripts ask ----------------------------------------------------------------------


def check_compiler_is_gcc(compiler: str) -> bool:
    """Whether a compiler is GCC."""
    try:
        found = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return False
    return "Free Software Foundation" in found or os.path.basename(compiler).startswith(
        ("g++", "gcc")
    )


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether a compiler is there."""
    return shutil.which(compiler) is not None


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, str]:
    """Whether a compiler can be used, and its version."""
    if not check_compiler_ok_for_platform(compiler):
        return False, "0.0.0"
    found = subprocess.run(
        [compiler, "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return True, found or "0.0.0"


def is_ninja_available() -> bool:
    """Whether ninja is there; it is not needed."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raises if ninja is not there.

    Raises:
        RuntimeError: if so.
    """
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def _setup_only(what: str) -> NotImplementedError:
    return not_offered(
        what,
        "extensions for setup.py are built against PyTorch's C++ library; use load() or "
        "load_inline()",
    )


def CppExtension(name: str, sources: object, *args: object, **kwargs: object) -> None:
    """Not offered: there is no C++ library to build against."""
    del sources, args, kwargs
    raise _setup_only(f"CppExtension({name!r})")


def CUDAExtension(name: str, sources: object, *args: object, **kwargs: object) -> None:
    """Not offered: there is no C++ library to build against."""
    del sources, args, kwargs
    raise _setup_only(f"CUDAExtension({name!r})")


def SyclExtension(name: str, sources: object, *args: object, **kwargs: object) -> None:
    """Not offered: there is no C++ library to build against."""
    del sources, args, kwargs
    raise _setup_only(f"SyclExtension({name!r})")


class BuildExtension:
    """Not offered: there is no C++ library to build against."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise _setup_only("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> Any:
        """Raises."""
        del options
        raise _setup_only("BuildExtension")


__getattr__ = _refusals.missing(__name__)
