"""The environment variables that the package reads: what ``docs/environment.md`` and
``python -m jtorch --help`` show of them.

Whoever reads a variable enters it here; a test compares this table with the sources. Nothing else
imports the module.
"""

from __future__ import annotations

from typing import NamedTuple


class Variable(NamedTuple):
    """One variable: its values, the default first, and what it does, as Markdown."""

    name: str
    values: str
    effect: str


VARIABLES = [
    Variable("JTORCH_EXECUTION", "`deferred` (default), `immediate`",
             "whether operations are recorded and run together when a value is needed, or each at "
             "once"),
    Variable("JTORCH_TIERS", "`auto` (default), `host`, `xla`",
             "which tiers run kernels on the CPU: NumPy first and XLA for what repeats, NumPy "
             "alone where it can, or XLA alone ([host-tier.md](host-tier.md))"),
    Variable("JTORCH_NATIVE", "`1` (default), `0`",
             "whether the extension in C is used, where it was built: small calls and random "
             "numbers take longer without it ([host-tier.md](host-tier.md))"),
    Variable("JTORCH_CACHE", "`1` (default), `0`",
             "whether anything is kept on disk between runs ([caches.md](caches.md))"),
    Variable("JTORCH_CACHE_DIR", "a folder", "where; `jtorch` in the user's cache otherwise"),
    Variable("JTORCH_CACHE_LIMIT", "bytes, or with `K`, `M`, `G`, `T`",
             "how much, 2 GiB by default; what was not used for longest goes first"),
    Variable("JTORCH_COMPILE_AHEAD", "`1` (default), `0`",
             "whether another thread compiles what will soon be wanted, where there is more than "
             "one processor ([host-tier.md](host-tier.md))"),
    Variable("JTORCH_TRACEBACK", "`short` (default), `full`",
             "whether a report of an error that nobody catches leaves out frames of jtorch"),
    Variable("JTORCH_X64", "`1` (default), `0`",
             "whether JAX has 64-bit types, which `torch.int64` and `torch.float64` are"),
    Variable("JTORCH_CHILDREN", "set by `python -m jtorch`: its `sys.prefix`",
             "in which Python `import torch` means jtorch in processes that the program starts; "
             "deleted, it does in none"),
    Variable("JTORCH_MALLOC", "`1` (default), `0`",
             "whether the C library is told to keep freed memory for the next step (Linux)"),
    Variable("JTORCH_CPU_ASYNC", "`0` (default), `1`",
             "whether XLA's CPU programs run on another thread than the caller's"),
]  # fmt: skip

#: Variables of others that are read too.
OTHERS = [
    Variable("JAX_PLATFORMS", "`cpu`, `cuda`, `tpu`", "which devices JAX starts"),
    Variable("OMP_NUM_THREADS", "a number",
             "threads of NumPy's linear algebra, and what `torch.get_num_threads()` says"),
    Variable("NPROC", "a number",
             "threads of XLA's on the CPU; where `LOCAL_WORLD_SIZE` processes share a machine, the "
             "share of one"),
    Variable("XLA_FLAGS", "XLA's own", "set, they are part of what kept programs are found by"),
    Variable("XDG_CACHE_HOME, HOME", "folders",
             "where the user's cache is ([caches.md](caches.md))"),
    Variable("GLIBC_TUNABLES, MALLOC_MMAP_MAX_, MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_",
             "the C library's own",
             "set, `JTORCH_MALLOC` changes nothing"),
    Variable("PYTHONPATH", "folders",
             "`python -m jtorch` puts one in front, for the Python that the program starts"),
    Variable("MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE",
             "set by launchers",
             "how processes find each other ([processes.md](processes.md))"),
    Variable(
        "TORCHELASTIC_ERROR_FILE, TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_RUN_ID, "
        "TORCHELASTIC_USE_AGENT_STORE",
             "set by the launcher", "what the launcher tells its processes, as PyTorch's does"),
    Variable("CI, PYTORCH_TEST_WITH_SLOW", "set or not",
             "what `torch.testing._internal` tells the tests of packages"),
    Variable("BACKEND, INIT_METHOD, TEMP_DIR", "as PyTorch's tests have them",
             "what `torch.testing._internal.common_distributed` tells the tests of packages"),
    Variable("PYTORCH_TESTING_DEVICE_ONLY_FOR", "types of devices with commas",
             "those that `instantiate_device_type_tests` knows"),
    Variable("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE, PYTHON_EXEC, PET_NAME",
             "as PyTorch's launcher has them",
             "how lines of output begin, which Python runs the processes, and the default of the "
             "launcher's option `--name`"),
    Variable("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "seconds, 30 by default",
             "how long processes that the launcher has told to end have before it kills them"),
    Variable("TORCH_DISTRIBUTED_DEBUG", "`OFF` (default), `INFO`, `DETAIL`",
             "what `torch.distributed.get_debug_level()` says at first"),
    Variable("TORCH_MP_PARALLEL_START", "`0` (default), `1`",
             "whether `multiprocessing.spawn` starts processes of a fork server side by side"),
    Variable("LOGLEVEL", "a level of `logging`",
             "from which level loggers of `torch.distributed.elastic` write"),
    Variable("GLOO_SOCKET_IFNAME", "a network interface", "over which processes talk"),
    Variable("TORCH_FORCE_WEIGHTS_ONLY_LOAD, TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD",
             "`1`, `y`, `yes`, `true`",
             "`weights_only` of `torch.load` is True in any case; is False where it is not given"),
    Variable("TORCH_HOME", "a folder", "where `torch.hub` keeps what it loads"),
    Variable("TORCH_EXTENSIONS_DIR", "a folder", "where `torch.utils.cpp_extension` builds"),
    Variable("CXX", "a compiler", "what it builds with"),
]  # fmt: skip


def page() -> str:
    """``docs/environment.md``."""

    def table(rows: list[Variable]) -> list[str]:
        lines = ["| variable | values | what it does |", "|---|---|---|"]
        for row in rows:
            names = ", ".join(f"`{name}`" for name in row.name.split(", "))
            lines.append(f"| {names} | {row.values} | {row.effect} |")
        return lines

    lines = [
        "# Environment variables",
        "",
        (
            "All are read when `jtorch` is imported (those of the caches when a cache is first "
            "used). This page is made of the table in"
        ),
        "`jtorch/_src/start/variables.py` by `python -m tools.docs_site`.",
        "",
        *table(VARIABLES),
        "",
        "Variables of others that are read:",
        "",
        *table(OTHERS),
    ]
    return "\n".join(lines) + "\n"
