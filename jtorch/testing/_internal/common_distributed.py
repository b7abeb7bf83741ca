"""Tests that several processes run together: each test of a ``MultiProcessTestCase`` is started
once for each rank, and fails if it fails in one.

The threads of ``MultiThreadedTestCase`` are processes here, too: what a rank writes into objects of
the test, the others do not see.
"""

# ruff: noqa: PT009  (helpers of unittest)

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import types
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import jtorch as torch
import jtorch.distributed as c10d
from jtorch.testing._internal.common_utils import TEST_CUDA as TEST_CUDA
from jtorch.testing._internal.common_utils import TEST_HPU as TEST_HPU
from jtorch.testing._internal.common_utils import TEST_WITH_ROCM as TEST_WITH_ROCM
from jtorch.testing._internal.common_utils import TEST_XPU as TEST_XPU
from jtorch.testing._internal.common_utils import TestCase

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DEFAULT_WORLD_SIZE = 4
TIMEOUT_DEFAULT = 300
TIMEOUT_OVERRIDE: dict[str, int] = {}
FILE_SCHEMA = "file:///" if sys.platform == "win32" else "file://"
ACCELERATOR_DIST_BACKENDS = ["nccl", "xccl", "hccl"]
DDP_RANK_DEVICES = ["cuda", "xpu"]
HAS_ACCELERATOR = TEST_CUDA or TEST_HPU or TEST_XPU


class TestSkip(NamedTuple):
    """How a process says that its test is left out."""

    exit_code: int
    message: str


TEST_SKIPS = {
    "backend_unavailable": TestSkip(72, "Skipped because distributed backend is not available."),
    "small_worldsize": TestSkip(73, "Skipped due to small world size."),
    "odd_worldsize": TestSkip(87, "Skipped due to odd world size."),
    "no_cuda": TestSkip(74, "CUDA is not available."),
    **{
        f"multi-gpu-{n}": TestSkip(code, f"Need at least {n} CUDA device{'s' if n > 1 else ''}")
        for n, code in zip(range(1, 9), (75, 77, 80, 81, 82, 83, 84, 85), strict=True)
    },
    "nccl": TestSkip(76, "c10d not compiled with NCCL support"),
    "skipIfRocm": TestSkip(78, "Test skipped for ROCm"),
    "no_peer_access": TestSkip(79, "Test skipped because no GPU peer access"),
    "generic": TestSkip(
        86, "Test skipped at subprocess level, look at subprocess log for skip reason"
    ),
    "importerror": TestSkip(88, "Test skipped due to missing import"),
    "no_accelerator": TestSkip(89, "accelerator is not available."),
}


class DistTestCases:
    """Which collectives and features backends lack, for tests that ask by name."""

    skip_collective = {
        "allgather_coalesced": {"nccl", "mpi", "ucc", "xccl"},
        "reduce": set(),
        "sendrecv anysource": {"nccl", "ucc", "xccl"},
        "cpu barrier": {"nccl", "ucc", "xccl"},
    }
    backend_feature = {
        "gpu": {"nccl", "gloo", "ucc"},
        "cuda": {"nccl", "gloo", "ucc"},
        "ddp": {"nccl", "gloo", "ucc"},
        "subgroup": {"nccl", "gloo", "ucc"},
        "plugin": set(),
    }


# ---- what leaves tests out -----------------------------------------------------------------------


def _left_out(why: str) -> None:
    """Ends the process of a rank with the code that says why."""
    sys.exit(TEST_SKIPS[why].exit_code)


def _unless(met: Callable[[], bool], why: str) -> Decorator:
    """A decorator whose test is left out in each process unless ``met()``."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return test(*args, **kwargs) if met() else _left_out(why)

        return wrapper

    return decorate


def at_least_x_gpu(x: int) -> bool:
    """Whether there are as many CUDA devices."""
    return torch.cuda.is_available() and torch.cuda.device_count() >= x


def skip_if_lt_x_gpu(x: int, *, allow_cpu: bool = False) -> Decorator:
    """Leaves a test out where there are fewer accelerators, unless there are none and ``allow_cpu``
    is true."""

    def met() -> bool:
        return at_least_x_gpu(x) or (allow_cpu and not HAS_ACCELERATOR)

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if met():
                return test(*args, **kwargs)
            skip = TEST_SKIPS[f"multi-gpu-{x}"]
            if args and isinstance(args[0], MultiProcessTestCase):
                sys.exit(skip.exit_code)
            raise unittest.SkipTest(skip.message)

        return wrapper

    return decorate


def nccl_skip_if_lt_x_gpu(backend: str, x: int) -> Decorator:
    """The same for NCCL alone."""
    return skip_if_lt_x_gpu(x) if backend == "nccl" else lambda test: test


def require_n_gpus_for_nccl_backend(n: int, backend: str) -> Decorator:
    """The same by another name."""
    return nccl_skip_if_lt_x_gpu(backend, n)


def _world() -> int:
    return int(os.environ["WORLD_SIZE"])


skip_if_no_gpu = _unless(torch.cuda.is_available, "no_cuda")
skip_if_small_worldsize = _unless(
    lambda: os.environ.get("BACKEND") == "mpi" or _world() > 2, "small_worldsize"
)
skip_if_odd_worldsize = _unless(
    lambda: os.environ.get("BACKEND") == "mpi" or _world() % 2 == 0, "odd_worldsize"
)
import_transformers_or_skip = functools.partial(
    _unless, lambda: _has("transformers"), "importerror"
)


def _has(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def skip_if_rocm_multiprocess(func: Callable[..., Any]) -> Callable[..., Any]:
    """The test as it is: there is no ROCm here."""
    return func


def skip_if_rocm_arch_multiprocess(arch: tuple[str, ...]) -> Decorator:
    """Decorates nothing, as there is no ROCm here."""
    del arch
    return skip_if_rocm_multiprocess


def skip_if_rocm_ver_lessthan_multiprocess(version: tuple[int, ...] | None = None) -> Decorator:
    """Decorates nothing, as there is no ROCm here."""
    del version
    return skip_if_rocm_multiprocess


def skip_if_win32() -> Decorator:
    """Leaves a test out on Windows."""
    return unittest.skipIf(
        sys.platform == "win32", "This unit test case is not supported on Windows"
    )


def _requires(met: bool, backend: str) -> Decorator:
    words = f"c10d was not compiled with the {backend} backend"
    return unittest.skipUnless(met, words)


requires_gloo = functools.partial(_requires, c10d.is_gloo_available(), "Gloo")
requires_nccl = functools.partial(_requires, c10d.is_nccl_available(), "NCCL")
requires_ucc = functools.partial(_requires, c10d.is_ucc_available(), "UCC")
requires_mpi = functools.partial(_requires, c10d.is_mpi_available(), "MPI")
requires_nccl_shrink = requires_nccl


def requires_nccl_version(version: object, msg: str) -> Decorator:
    """Leaves a test out that needs NCCL, which is not here."""
    del version
    return _requires(c10d.is_nccl_available(), f"NCCL ({msg})")


def requires_accelerator_dist_backend(backends: Sequence[str] | None = None) -> Decorator:
    """Leaves a test out unless one of the backends of accelerators is there."""
    there = [b for b in backends or ACCELERATOR_DIST_BACKENDS if c10d.is_backend_available(b)]
    return unittest.skipUnless(there, "c10d was not compiled with an accelerator's backend")


def requires_multicast_support() -> Decorator:
    """Leaves a test out that needs multicasts between devices."""
    return unittest.skip("multicast support is not available")


def requires_ddp_rank(device: str) -> bool:
    """Whether ``DistributedDataParallel`` is given the rank's device."""
    return device in DDP_RANK_DEVICES


def requires_world_size(n: int) -> Decorator:
    """Says how many processes a test needs at least; ``get_required_world_size`` reads it."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        test.__dict__["_required_world_size"] = n
        return test

    return decorate


def get_required_world_size(obj: Any, default: int) -> int:
    """What ``requires_world_size`` said of the test that an object runs."""
    test = getattr(type(obj), getattr(obj, "_testMethodName", ""), None)
    return getattr(test, "_required_world_size", default)


def sm_is_or_higher_than(device: torch.device, major: int, minor: int) -> bool:
    """Whether a CUDA device has at least that capability."""
    return device.type == "cuda" and torch.cuda.get_device_capability(str(device)) >= (major, minor)


# ---- parts of tests ------------------------------------------------------------------------------


def get_timeout(test_id: str) -> int:
    """The seconds a test may take."""
    return TIMEOUT_OVERRIDE.get(test_id.rpartition(".")[2], TIMEOUT_DEFAULT)


@contextmanager
def captured_output() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """What is printed to standard output and standard error in a block."""
    before, parts = (sys.stdout, sys.stderr), (io.StringIO(), io.StringIO())
    try:
        sys.stdout, sys.stderr = parts
        yield parts
    finally:
        sys.stdout, sys.stderr = before


def create_tcp_store(
    addr: str = "localhost", world_size: int = 1, is_master: bool = True,
    timeout: timedelta = timedelta(minutes=5), wait_for_workers: bool = True,
    jit_class: bool = False, use_libuv: bool = True,
) -> Any:  # fmt: skip
    """A ``TCPStore`` at a free port."""
    del jit_class, use_libuv
    return c10d.TCPStore(
        addr, 0, world_size, is_master, timeout=timeout, wait_for_workers=wait_for_workers
    )


def init_multigpu_helper(world_size: int, backend: str) -> dict[int, list[int]]:
    """The devices of each rank: an equal part, where there are enough."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else world_size
    each = max(count // world_size, 1) if backend == "nccl" else 1
    devices = list(range(count))
    return {i: devices[i * each : (i + 1) * each] or [0] for i in range(world_size)}


def with_dist_debug_levels(levels: Sequence[str]) -> Decorator:
    """Runs a test once for each level of ``TORCH_DISTRIBUTED_DEBUG``."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            before, result = os.environ.get("TORCH_DISTRIBUTED_DEBUG"), None
            for level in levels:
                os.environ["TORCH_DISTRIBUTED_DEBUG"] = level
                c10d.set_debug_level_from_env()
                result = test(*args, **kwargs)
                if c10d.is_initialized():
                    c10d.barrier()
            os.environ.pop("TORCH_DISTRIBUTED_DEBUG", None)
            if before is not None:
                os.environ["TORCH_DISTRIBUTED_DEBUG"] = before
            c10d.set_debug_level_from_env()
            return result

        return wrapper

    return decorate


def with_nccl_blocking_wait(func: Callable[..., Any]) -> Callable[..., Any]:
    """The test as it is: waiting blocks here."""
    return func


def verify_ddp_error_logged(model_DDP: Any, err_substr: str) -> None:
    """Looks for an error in what a ``DistributedDataParallel`` has logged.

    Raises:
        AssertionError: if it is not there.
    """
    logged = model_DDP._get_ddp_logging_data()
    assert "iteration" in logged or "has_error" in logged
    assert logged.get("has_error") in (1, True)
    assert err_substr.partition("\nException raised from ")[0] in logged.get("error", "")


def run_subtests(
    cls_inst: Any,
    subtest_config: dict[str, list[Any]],
    test_fn: Callable[..., Any],
    *test_args: Any,
    **test_kwargs: Any,
) -> None:
    """Runs ``test_fn`` with every combination of the named values, as subtests."""
    combinations: list[dict[str, Any]] = [{}]
    for name, values in subtest_config.items():
        combinations = [{**known, name: value} for known in combinations for value in values]
    for given in combinations:
        with cls_inst.subTest(**given):
            test_fn(*test_args, **test_kwargs, **given)
        if c10d.is_initialized():
            c10d.barrier()


def initialize_temp_directories(init_method: str | None = None) -> None:
    """Makes the folders through which older tests meet."""
    folder = tempfile.mkdtemp()
    os.environ["TEMP_DIR"] = folder
    for name in ("barrier", "test_dir", "init_dir"):
        os.mkdir(os.path.join(folder, name))
    shared = os.path.join(folder, "init_dir", "shared_init_file")
    os.environ["INIT_METHOD"] = init_method or FILE_SCHEMA + shared


def cleanup_temp_dir() -> None:
    """Forgets the folders of ``initialize_temp_directories``."""
    os.environ.pop("TEMP_DIR", None)


def create_device(interface: str | None = None, lazy_init: bool = False) -> Any:
    """There is no device of gloo to choose here.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "create_device is not offered by jtorch: JAX chooses the interface of its processes"
    )


def spawn_threads_and_init_comms(
    func: Callable[..., Any] | None = None,
    timeout: int = TIMEOUT_DEFAULT,
    world_size: int = DEFAULT_WORLD_SIZE,
) -> Any:
    """Threads that are ranks are not offered.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "spawn_threads_and_init_comms is not offered by jtorch: a process is one rank; subclass "
        "MultiThreadedTestCase, whose ranks are processes"
    )


# ---- test cases ----------------------------------------------------------------------------------


class MultiProcessTestCase(TestCase):
    """Tests that ``world_size`` processes run, which their ``setUp`` starts by
    ``_spawn_processes``."""

    MAIN_PROCESS_RANK = -1
    TEST_ERROR_EXIT_CODE = 10
    rank: Any

    def __init__(self, method_name: str = "runTest", methodName: str = "") -> None:
        name = methodName or method_name
        super().__init__(name)
        test = getattr(self, name, None)
        if test is not None:
            setattr(self, name, self.join_or_run(test))
        elif name != "runTest":
            raise ValueError(f"no such test method in {type(self)}: {name}")

    @property
    def world_size(self) -> int:
        """How many processes run a test."""
        return DEFAULT_WORLD_SIZE

    @property
    def destroy_pg_upon_exit(self) -> bool:
        """Whether processes leave their group when their test ends."""
        return True

    @property
    def is_master(self) -> bool:
        """Whether this is the first rank."""
        return self.rank == 0

    def join_or_run(self, fn: Callable[..., Any]) -> Any:
        """The test method: the process of a rank runs it, the one that started them waits."""

        @functools.wraps(fn)
        def wrapper(self: MultiProcessTestCase) -> None:
            if self.rank == self.MAIN_PROCESS_RANK:
                self._join_processes(fn)
            else:
                fn()

        return types.MethodType(wrapper, self)

    def setUp(self) -> None:
        """Prepares what the processes meet at; starting them is the subclass's."""
        super().setUp()
        self.rank = self.MAIN_PROCESS_RANK
        self.processes: list[Any] = []
        self.skip_return_code_checks: list[Any] = []
        self.pid_to_pipe: dict[int | None, Any] = {}
        handle, self.file_name = tempfile.mkstemp()
        os.close(handle)
        os.unlink(self.file_name)  # a store makes it

    def tearDown(self) -> None:
        """Ends the processes that are left."""
        super().tearDown()
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        self.processes = []
        if os.path.exists(self.file_name):
            os.unlink(self.file_name)

    def _current_test_name(self) -> str:
        return self._testMethodName

    def _start_processes(self, proc: Callable[..., Any]) -> None:
        self.processes = []
        for rank in range(int(self.world_size)):
            mine, its = multiprocessing.Pipe()
            process = proc(
                target=type(self)._run,
                name=f"process {rank}",
                args=(rank, self._current_test_name(), self.file_name, its),
            )
            process.start()
            its.close()
            self.pid_to_pipe[process.pid] = mine
            self.processes.append(process)

    def _spawn_processes(self) -> None:
        """Starts a process for each rank."""
        self._start_processes(multiprocessing.get_context("spawn").Process)

    _fork_processes = _spawn_processes

    @classmethod
    def _run(cls, rank: int, test_name: str, file_name: str, parent_pipe: Any, **_: Any) -> None:
        self = cls(test_name)
        self.rank, self.file_name = rank, file_name
        self.run_test(test_name, parent_pipe)

    def run_test(self, test_name: str, parent_pipe: Any) -> None:
        """Runs the test in the process of one rank, and tells by its exit code how it went."""
        try:
            getattr(self, test_name)()
        except unittest.SkipTest as skip:
            sys.stderr.write(f"process {self.rank} skips {test_name}: {skip}\n")
            _left_out("generic")
        except Exception:
            words = traceback.format_exc()
            sys.stderr.write(f"process {self.rank} failed in {test_name}:\n{words}\n")
            if parent_pipe is not None:
                parent_pipe.send(words)
            sys.exit(self.TEST_ERROR_EXIT_CODE)
        finally:
            if parent_pipe is not None:
                parent_pipe.close()
        if self.destroy_pg_upon_exit and c10d.is_initialized():
            c10d.destroy_process_group()

    def _join_processes(self, fn: Any) -> None:
        """Waits for all processes, or the first that fails."""
        timeout, started = get_timeout(self.id()), time.time()
        failed = late = False
        while not (failed or late) and any(p.is_alive() for p in self.processes):
            time.sleep(0.02)
            failed = any(p.exitcode == self.TEST_ERROR_EXIT_CODE for p in self.processes)
            late = time.time() - started > timeout
        if failed or late:
            time.sleep(0 if late else 1)  # the others say what they have seen
            for process in self.processes:
                if process.is_alive():
                    process.terminate()
        for process in self.processes:
            process.join()
        if late:
            raise RuntimeError(f"{self.id()} has not ended after {timeout} seconds")
        if fn not in self.skip_return_code_checks:
            self._check_return_codes(fn, time.time() - started)

    def _check_return_codes(self, fn: Any, elapsed_time: float) -> None:
        """Fails or leaves out the test as the processes ended.

        Raises:
            RuntimeError: with the tracebacks of those that failed.
        """
        del fn, elapsed_time
        wrong = [
            (i, p) for i, p in enumerate(self.processes) if p.exitcode == self.TEST_ERROR_EXIT_CODE
        ]
        if wrong:
            told = []
            for i, process in wrong:
                pipe = self.pid_to_pipe[process.pid]
                words = pipe.recv() if pipe.poll() else "no traceback"
                told.append(f"Process {i} exited with error code {process.exitcode}:\n{words}")
            raise RuntimeError("\n".join(told))
        codes = {p.exitcode for p in self.processes}
        if len(codes) != 1:
            raise RuntimeError(f"processes ended unlike: {[p.exitcode for p in self.processes]}")
        code = codes.pop()
        for skip in TEST_SKIPS.values():
            if code == skip.exit_code:
                raise unittest.SkipTest(skip.message)
        if code != 0:
            raise RuntimeError(f"all processes ended with {code}, where 0 was due")


class DistributedTestBase(MultiProcessTestCase):
    """Tests whose processes are started, and that make their group by ``create_pg``."""

    def setUp(self) -> None:
        """Starts the processes."""
        super().setUp()
        os.environ["WORLD_SIZE"] = str(self.world_size)
        self._spawn_processes()

    def backend(self, device: str) -> str:
        """The backend of a device's collectives."""
        return "nccl" if "cuda" in device else "gloo"

    def create_pg(self, device: str, world_size: int | None = None) -> Any:
        """The default group of all processes."""
        count = self.world_size if world_size is None else world_size
        store = c10d.FileStore(self.file_name, count)
        c10d.init_process_group(
            backend=self.backend(device), world_size=count, rank=self.rank, store=store
        )
        return c10d.distributed_c10d._get_default_group()

    def rank_to_device(self, device: str) -> dict[int, list[int]]:
        """The devices of each rank."""
        del device
        return {i: [i] for i in range(self.world_size)}


class MultiThreadedTestCase(MultiProcessTestCase):
    """Tests that find a default group; ``setUp`` starts their ranks by ``_spawn_threads``.

    Those are threads of one process in PyTorch.
    """

    MAIN_THREAD_RANK = MultiProcessTestCase.MAIN_PROCESS_RANK

    def perThreadSetUp(self) -> None:
        """What each rank does before its test."""

    def perThreadTearDown(self) -> None:
        """What each rank does after its test."""

    def _spawn_threads(self) -> None:
        """Starts the ranks."""
        self._spawn_processes()

    def run_test(self, test_name: str, parent_pipe: Any) -> None:
        """Makes the group around the test."""
        store = c10d.FileStore(self.file_name, self.world_size)
        c10d.init_process_group("gloo", rank=self.rank, world_size=self.world_size, store=store)
        self.perThreadSetUp()
        try:
            super().run_test(test_name, parent_pipe)
        finally:
            self.perThreadTearDown()

    def assertEqualOnRank(self, x: Any, y: Any, msg: Any = None, *, rank: int = 0) -> None:
        """``assertEqual`` on one rank."""
        if self.rank == rank:
            self.assertEqual(x, y, msg)

    def assertNotEqualOnRank(self, x: Any, y: Any, msg: Any = None, *, rank: int = 0) -> None:
        """``assertNotEqual`` on one rank."""
        if self.rank == rank:
            self.assertNotEqual(x, y, msg)


class MultiProcContinuousTest(MultiProcessTestCase):
    """Tests of a class that find a default group; PyTorch keeps the processes from one test to the
    next, here each test has its own."""

    world_size: Any = -2
    rank: Any = -1
    timeout = timedelta(seconds=120)

    @classmethod
    def backend_str(cls) -> str | None:
        """The backend's name; None leaves it to the devices."""
        return None

    @classmethod
    def device_type(cls) -> str:
        """The type of the devices that tests use."""
        return torch.accelerator.current_accelerator().type if HAS_ACCELERATOR else "cpu"

    @classmethod
    def opts(cls, high_priority_stream: bool = False) -> Any:
        """Options for the group."""
        del high_priority_stream
        return None

    @classmethod
    def _init_pg(cls, rank: int, world_size: int, rdvz_file: str) -> None:
        store = c10d.FileStore(rdvz_file, world_size)
        c10d.init_process_group(
            backend=cls.backend_str() or "gloo",
            world_size=world_size,
            rank=rank,
            store=store,
            timeout=cls.timeout,
        )

    def setUp(self) -> None:
        """Starts the processes."""
        if type(self).world_size == -2:
            type(self).world_size = (
                torch.cuda.device_count() if torch.cuda.is_available() else DEFAULT_WORLD_SIZE
            )
        super().setUp()
        os.environ["WORLD_SIZE"] = str(self.world_size)
        self._spawn_processes()

    def run_test(self, test_name: str, parent_pipe: Any) -> None:
        """Makes the group before the test."""
        cls = type(self)
        if cls.world_size == -2:
            cls.world_size = int(os.environ["WORLD_SIZE"])
        cls.rank = self.rank
        cls._init_pg(self.rank, self.world_size, self.file_name)
        super().run_test(test_name, parent_pipe)
