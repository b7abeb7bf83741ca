"""``python -m jtorch`` and ``jtorch.install()``, on a package that has only the runner in it: what
is tested is running, not tensors."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import jtorch

PACKAGE = Path(__file__).parents[2] / "jtorch"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with a small package ``jtorch``, and one that stands for an installed PyTorch."""
    folder = tmp_path_factory.mktemp("root")
    package = folder / "jtorch"
    (package / "nn").mkdir(parents=True)
    (package / "_src" / "start" / "children").mkdir(parents=True)
    start = ("__init__.py", "install.py", "children/__init__.py", "children/sitecustomize.py")
    for name in (
        "__main__.py",
        "version.py",
        "_src/__init__.py",
        *(f"_src/start/{name}" for name in start),
    ):
        shutil.copy(PACKAGE / name, package / name)
    (package / "__init__.py").write_text(
        "import sys, types\n"
        "from ._src.start.install import install as install\n"
        "from .version import __version__ as __version__\n"
        "from . import nn as nn\n_C = sys.modules['jtorch._C'] = types.ModuleType('jtorch._C')\n"
    )
    (package / "nn" / "__init__.py").write_text("from . import functional as functional\n")
    (package / "_inner").mkdir()
    (package / "_inner" / "__init__.py").write_text("from .namesake import namesake as namesake\n")
    (package / "_inner" / "namesake.py").write_text("def namesake():\n    return 1\n")
    (package / "nn" / "functional.py").write_text("x = 1\n")
    (package / "late.py").write_text("loaded = True\n")
    real = folder / "torch"
    real.mkdir()
    (real / "__init__.py").write_text("raise RuntimeError('the real torch was imported')\n")
    (real / "elsewhere.py").write_text("")
    return folder


@pytest.fixture
def run(root, tmp_path):
    """Runs Python in an empty folder; ``files`` are written there first."""

    def call(*args, stdin=None, files=(), **env):
        for name, text in dict(files).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", **env}
        options = {
            "cwd": tmp_path,
            "env": environment,
            "input": stdin,
            "capture_output": True,
            "text": True,
            "timeout": 60,
        }
        return subprocess.run([sys.executable, *args], check=False, **options)

    return call


def same_as_python(run, *args, files=(), stdin=None):
    """Runs a program under the runner and under Python: output, errors and exit code must agree."""
    ours = run("-m", "jtorch", *args, files=files, stdin=stdin)
    pythons = run(*args, files=files, stdin=stdin)
    assert (ours.stdout, ours.stderr, ours.returncode) == (
        pythons.stdout,
        pythons.stderr,
        pythons.returncode,
    )
    return ours


SHOW = """
    import os, sys
    print(sys.argv, __name__, globals().get('__file__'), sys.path[0], __package__, __spec__,
          sys.modules['__main__'].__dict__ is globals())
    print(sorted(n for n in globals() if n not in ('os', 'sys')), type(__builtins__).__name__)
"""


def test_script(run):
    r = same_as_python(run, "sub/show.py", "a", "-m", "--flag", files={"sub/show.py": SHOW})
    assert "['sub/show.py', 'a', '-m', '--flag'] __main__" in r.stdout


def test_script_beside_its_modules(run):
    files = {"sub/prog.py": "import helper\nprint(helper.v)\n", "sub/helper.py": "v = 7\n"}
    assert same_as_python(run, "sub/prog.py", files=files).stdout == "7\n"


def test_code(run):
    same_as_python(run, "-c", textwrap.dedent(SHOW), "a", "b")
    same_as_python(run, "-cprint(1)")


def test_module(run):
    files = {
        "pkg/__init__.py": "",
        "pkg/__main__.py": "import sys\nprint('main of pkg', sys.argv[1:])\n",
        "pkg/mod.py": SHOW,
    }
    assert "main of pkg ['x']" in same_as_python(run, "-m", "pkg", "x", files=files).stdout
    r = run("-m", "jtorch", "-m", "pkg.mod", "y")
    assert (
        r.returncode == 0
        and "__main__" in r.stdout
        and "'y'] __main__" in r.stdout
        and "pkg" in r.stdout
    )


def test_folder_and_standard_input(run):
    same_as_python(
        run,
        "app",
        "x",
        files={"app/__main__.py": "import sys, other\nprint(sys.argv)\n", "app/other.py": ""},
    )
    same_as_python(run, "-", "x", stdin="import sys\nprint(sys.argv, __name__)\n")


def test_traceback_begins_with_the_program(run):
    program = """
        def f(x):
            return 1 / x
        f(0)
    """
    r = same_as_python(run, "prog.py", files={"prog.py": program})
    assert r.returncode == 1 and "ZeroDivisionError" in r.stderr and r.stderr.count("File ") == 2
    same_as_python(run, "wrong.py", files={"wrong.py": "x = = 1\n"})
    same_as_python(run, "-c", "raise ValueError('x') from KeyError(1)")


def test_the_programs_own_excepthook(run):
    program = """
        import sys, traceback
        def hook(kind, value, tb):
            print('hook', kind.__name__, [f.name for f in traceback.extract_tb(tb)])
        sys.excepthook = hook
        def f():
            raise KeyError(1)
        f()
    """
    assert (
        same_as_python(run, "prog.py", files={"prog.py": program}).stdout
        == "hook KeyError ['<module>', 'f']\n"
    )


@pytest.mark.parametrize("argument", ["", "3", "None", "'text'", "True"])
def test_exit_codes(run, argument):
    same_as_python(run, "-c", f"import sys; sys.exit({argument})")


def test_keyboard_interrupt(run):
    r = same_as_python(run, "-c", "raise KeyboardInterrupt")
    assert r.returncode == -signal.SIGINT


def test_missing_things(run, tmp_path):
    same = same_as_python(run, "nowhere.py")
    assert same.returncode == 2 and "can't open file" in same.stderr
    r = run("-m", "jtorch", "-m", "no_such_module")
    assert r.returncode == 1 and r.stderr.endswith("No module named no_such_module\n")
    assert run("-m", "jtorch", "-c").returncode == run("-m", "jtorch", "--wrong").returncode == 2
    assert "usage:" in run("-m", "jtorch", "--help").stdout
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'\nversion = "{jtorch.version.jtorch}"\n' in text
    assert run("-m", "jtorch", "--version").stdout.startswith(
        f"jtorch {jtorch.version.jtorch} (PyTorch 2.13.0, JAX "
    )


def test_exit_handlers_and_threads_run(run):
    program = """
        import atexit, threading, time
        atexit.register(print, 'bye')
        threading.Thread(target=lambda: (time.sleep(.1), print('done'))).start()
        1/0
    """
    assert same_as_python(run, "prog.py", files={"prog.py": program}).stdout == "done\nbye\n"


def test_torch_means_jtorch(run):
    program = """
        import torch, jtorch, sys
        import torch.nn.functional as F
        from torch import nn
        import torch._C
        assert torch is jtorch and F is jtorch.nn.functional and nn is jtorch.nn and torch._C is \
jtorch._C
        assert sys.modules['torch.nn'] is sys.modules['jtorch.nn']
        import torch.late
        import jtorch.late
        assert torch.late is jtorch.late and torch.late.loaded
        assert nn.__spec__.name == 'jtorch.nn' and (torch.__name__, nn.__name__) == ('torch',
            'torch.nn')
        import importlib.util, importlib.metadata
        assert importlib.util.find_spec('torch') and importlib.util.find_spec('torch.nn.functional')
        assert importlib.util.find_spec('torch.nothing') is None
        assert importlib.metadata.version(
            'torch') == torch.__version__ == importlib.metadata.version('Torch')
        assert importlib.metadata.distribution('torch').metadata['Name'] == 'torch'
        import torch._inner.namesake
        from torch._inner.namesake import namesake
        # the function, not the module that it comes from
        assert torch._inner.namesake is namesake and namesake() == 1
        assert sys.modules['torch._inner.namesake'] is sys.modules['jtorch._inner.namesake']
        for name in ('torch.nothing', 'torch.nn.nothing', 'torch.elsewhere'):
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as e:
                assert e.name == name and str(e) == f"No module named '{name}'", e
            else:
                raise AssertionError(name)
    """
    r = run("-m", "jtorch", "prog.py", files={"prog.py": program})
    assert (r.returncode, r.stderr) == (0, "")


def test_find_spec_imports_nothing(run):
    program = """
        import importlib.util, sys
        assert importlib.util.find_spec('torch.late').origin.endswith(
            'late.py') and 'jtorch.late' not in sys.modules
    """
    r = run("-m", "jtorch", "prog.py", files={"prog.py": program})
    assert (r.returncode, r.stderr) == (0, "")


def test_version_is_a_version():
    packaging = pytest.importorskip("packaging.version")
    text = {}
    exec((PACKAGE / "version.py").read_text(), text)
    version = packaging.Version(text["__version__"])
    assert version.release[:2] == (2, 13) and version.local == "jtorch"


def test_install(run):
    program = """
        import jtorch
        jtorch.install()
        jtorch.install()
        import torch, sys
        assert torch is jtorch and sum(type(f).__name__ == '_Finder' for f in sys.meta_path) == 1
    """
    r = run("prog.py", files={"prog.py": program})
    assert (r.returncode, r.stderr) == (0, "")
    r = run(
        "-c",
        "import sys, types; sys.modules['torch'] = types.ModuleType('torch'); import jtorch; "
        "jtorch.install()",
    )
    assert "ImportError: jtorch.install() must come before the first 'import torch'" in r.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
@pytest.mark.parametrize("how", ["-m", "install"])
def test_multiprocessing(run, method, how):
    program = f"""
        {"import jtorch; jtorch.install()" if how == "install" else ""}
        import multiprocessing
        import torch

        def work(queue):
            import torch, jtorch
            import torch.late
            queue.put((torch is jtorch, torch.__spec__.name, __name__))

        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(*queue.get(timeout=30))
            process.join()
    """
    args = ["-m", "jtorch"] if how == "-m" else []
    r = run(*args, "prog.py", files={"prog.py": program})
    assert (r.stderr, r.returncode) == ("", 0)
    assert r.stdout.split()[:2] == ["True", "jtorch"]


def test_children_without_torch_do_not_import_it(run):
    program = """
        import multiprocessing, sys

        def work(queue):
            queue.put("jtorch" in sys.modules)

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(queue.get(timeout=30))
            process.join()
    """
    r = run("-m", "jtorch", "prog.py", files={"prog.py": program})
    assert (r.stdout, r.stderr) == ("False\n", "")


CHILD = """
    import os, subprocess, sys
    {change}
    r = subprocess.run([sys.executable, *{flags}, "-c", {code!r}], env={env}, \
capture_output=True, text=True)
    print(r.stdout, r.stderr.strip().rpartition(chr(10))[2], sep="", end="")
"""


ASKING = """
import subprocess, sys
ask = "import sys; print(sum(type(f).__name__ == '_Awaiting' for f in sys.meta_path))"
subprocess.run([sys.executable, "-c", ask])
subprocess.run([sys.executable, "-I", "-c", ask])
"""


@pytest.mark.parametrize(
    ("code", "output"),
    [
        (
            (
                "import torch.late, torch, jtorch; print(torch is jtorch, torch.late.loaded, "
                "torch.__spec__.name)"
            ),
            "True True jtorch\n",
        ),
        (
            (
                "import importlib.util as u, sys; print(u.find_spec('torch').origin[-18:], "
                "'jtorch' in sys.modules)"
            ),
            "jtorch/__init__.py False\n",
        ),
        ("import importlib.metadata as m; print(m.version('torch')[:4])", "2.13\n"),
        ("import jtorch; jtorch.install(); import torch; print(torch is jtorch)", "True\n"),
        (
            (
                "import os, sys; print(sum('children' in p for p in sys.path), "
                "'importlib.metadata' in sys.modules)"
            ),
            "0 False\n",
        ),
        ("import sitecustomize; print(sitecustomize.mine)", "1\n"),
        (
            (
                "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import torch, "
                "jtorch; print(torch is jtorch)'])"
            ),
            "True\n",
        ),
        (
            ASKING,
            "1\n0\n",
        ),
    ],
)
def test_processes_of_the_same_python(run, root, code, output):
    program = CHILD.format(change="", flags=[], code=code, env="None")
    r = run(
        "-m",
        "jtorch",
        "prog.py",
        files={"prog.py": program, "mine/sitecustomize.py": "mine = 1\n"},
        PYTHONPATH=f"{root}{os.pathsep}mine",
    )
    assert (r.stderr, r.stdout, r.returncode) == ("", output, 0)


@pytest.mark.parametrize(
    ("change", "flags"),
    [
        ("os.environ['JTORCH_CHILDREN'] = '/another/python'", []),
        ("del os.environ['JTORCH_CHILDREN']", []),
        ("", ["-E"]),
    ],
)
def test_other_processes_find_what_they_had(run, tmp_path, change, flags):
    (tmp_path / "torch.py").write_text("name = 'the one that was there'\n")
    program = CHILD.format(
        change=change, flags=flags, code="import torch; print(torch.name)", env="None"
    )
    r = run("-m", "jtorch", "prog.py", files={"prog.py": program})
    assert (r.stderr, r.stdout, r.returncode) == ("", "the one that was there\n", 0)


def test_an_error_of_a_sitecustomize_is_told(run, root):
    files = {
        "prog.py": CHILD.format(change="", flags=[], code="print(1)", env="None"),
        "mine/sitecustomize.py": "import nothing_of_that_name\n",
    }
    r = run("-m", "jtorch", "prog.py", files=files, PYTHONPATH=f"{root}{os.pathsep}mine")
    assert r.stdout == "1\nModuleNotFoundError: No module named 'nothing_of_that_name'"


def test_what_awaits_torch_knows_all_that_is_adapted():
    from jtorch._src.start import install

    text = (PACKAGE / "_src" / "start" / "children" / "sitecustomize.py").read_text()
    names = text.partition("_ASKED = (")[2].partition(")")[0]
    assert {name.partition(".")[0] for name in install._ADAPTED} | {
        "torch",
        "jtorch",
        *install._BESIDE,
    } == set(eval(f"({names})"))
