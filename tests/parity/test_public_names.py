"""Every public name of PyTorch's modules resolves: to what it means, or to what refuses by name
when it is used."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import warnings

import pytest

pytestmark = pytest.mark.parity

#: Asks PyTorch for the functions and classes of its public modules, in a process of its own: it
#: imports hundreds of modules.
LIST = """
import importlib, json, pkgutil, sys, torch, warnings
warnings.simplefilter("ignore")
found = {}
for module in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
    name = module.name
    if any(part.startswith("_")
           for part in name.split(".")) or name.startswith(tuple(sys.argv[1:])):
        continue
    try:
        made = importlib.import_module(name)
    except Exception:  # it needs what is not installed
        continue
    names = getattr(made, "__all__", None) or [k for k,
                                               v in vars(made).items() if getattr(v, "__module__",
                                                   None) == name]
    found[name] = sorted(k for k in names if not k.startswith("_")
                         and callable(getattr(made, k, None)))
found["torch"] = [k for k in dir(torch) if not k.startswith("_") and callable(getattr(torch, k))]
found["torch.Tensor"] = [k for k in dir(torch.Tensor) if not k.startswith("__")]
json.dump(found, sys.stdout)
"""

#: Whose inside is not offered: compilers, exporters to other formats, quantisation by conversion,
#: what tests PyTorch itself.
INSIDE = (
    "torch.ao", "torch.onnx", "torch.contrib", "torch.testing", "torch.utils.tensorboard",
    "torch.utils.hipify", "torch.utils.benchmark.examples", "torch.utils.data.datapipes.gen_pyi",
    "torch.distributed.elastic.rendezvous.etcd", "torch.fx.experimental.migrate_gradual_types",
    "torch.fx.experimental.unification", "torch.fx.passes.tests", "torch.nativert",
)  # fmt: skip
#: Of other devices, and what is private but for its name.
LACKING = {
    "torch.backends.mps": {"get_core_count", "get_name"},
    "torch.utils.collect_env": {
        "get_cachingallocator_config", "get_conda_packages", "get_cuda_module_loading_config",
        "get_intel_gpu_detected", "get_intel_gpu_driver_version", "get_intel_gpu_onboard",
        "get_linux_pkg_version", "get_windows_version",
    },
    "torch.autograd.gradcheck": {"get_analytical_jacobian", "get_numerical_jacobian",
                                 "get_numerical_jacobian_wrt_specific_input"},
    "torch.export.exported_program": {"default_decompositions"},
    "torch.fft": {"Tensor"},
    "torch.multiprocessing.pool": {"clean_worker"},
    "torch.multiprocessing.queue": {"ConnectionWrapper"},
    "torch.package.package_exporter": {"PackagingErrorReason"},
    "torch.return_types": {"pytree_register_structseq"},
    "torch.serialization": {"storage_to_tensor_type"},
    "torch": {"classproperty", "get_file_path"},
}  # fmt: skip


def test_public_names_resolve() -> None:
    """The lists of both are compared module by module."""
    done = subprocess.run(
        [sys.executable, "-c", LIST, *INSIDE], capture_output=True, text=True, check=True
    )
    wanted: dict[str, list[str]] = json.loads(done.stdout)
    assert sum(map(len, wanted.values())) > 4000
    lacking: dict[str, set[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module, names in wanted.items():
            if not names:
                continue
            try:
                found = (
                    importlib.import_module("jtorch").Tensor
                    if module == "torch.Tensor"
                    else importlib.import_module(f"j{module}")
                )
            except ImportError:
                lacking[module] = {"the module itself"}
                continue
            missing = {name for name in names if not _has(found, name)}
            if missing:
                lacking[module] = missing
    assert lacking == LACKING


def _has(module: object, name: str) -> bool:
    try:
        getattr(module, name)
    except AttributeError:
        return False
    except RuntimeError:  # a property of Tensor's that the class has
        return True
    return True
