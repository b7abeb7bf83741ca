"""The garbage collector pauses during the import and leaves alone what was imported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def _run(program: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()


def test_imported_objects_are_frozen_and_collection_goes_on() -> None:
    assert _run("import gc, jtorch; print(gc.isenabled(), gc.get_freeze_count() > 50_000)") == [
        "True",
        "True",
    ]


def test_a_heap_with_data_stays_collectable() -> None:
    program = (
        "import gc; data = [[] for _ in range(200_000)]; import jtorch; print(gc.isenabled(), "
        "gc.get_freeze_count())"
    )
    assert _run(program) == ["True", "0"]


def test_who_switched_collection_off_keeps_it_off() -> None:
    assert _run(
        "import gc; gc.disable(); import jtorch; print(gc.isenabled(), gc.get_freeze_count())"
    ) == ["False", "0"]


def test_garbage_that_was_there_is_collected() -> None:
    program = """
import gc, weakref
gc.disable()
class Box: pass
box = Box(); box.itself = box
alive = weakref.ref(box)
del box
gc.enable()
import jtorch
print(alive() is None)
"""
    assert _run(program) == ["True"]


def test_collection_resumes_where_the_import_fails() -> None:
    program = """
import gc, sys
sys.modules["jtorch._src.bind.everything"] = None
try:
    import jtorch
except ImportError:
    print("failed")
print(gc.isenabled())
"""
    assert _run(program) == ["failed", "True"]


def test_the_environment_variables_are_listed() -> None:
    root = Path(__file__).parents[2]
    page = set(
        re.findall(
            r"^\| `(JTORCH_\w+)`", (root / "docs" / "environment.md").read_text(), re.MULTILINE
        )
    )
    sources = set()
    for path in (root / "jtorch").rglob("*.py"):
        sources |= set(re.findall(r"JTORCH_[A-Z0-9_]*[A-Z0-9]", path.read_text()))
    assert page == sources


def test_python_without_docstrings_and_assertions() -> None:
    program = (
        "import jtorch; x = jtorch.ones(2, requires_grad=True); (x * x).sum().backward(); "
        "print(x.grad.tolist())"
    )
    made = subprocess.run(
        [sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == "[2.0, 2.0]"


def test_hints_of_public_classes_and_functions_are_known_where_they_are_found() -> None:
    program = """
import jtorch; jtorch.install()
import importlib, inspect, typing, torch
homes = "torch torch.nn torch.nn.functional torch.optim torch.optim.lr_scheduler torch.utils.data \
torch.distributions torch.distributed"
looked = 0
for home in homes.split():
    for name, made in list(vars(importlib.import_module(home)).items()):
        if name.startswith("_") or not (inspect.isclass(made) or inspect.isfunction(made)):
            continue
        for asked in (made,
                      *(getattr(made, part, None) for part in ("__init__", "forward")
                        if inspect.isclass(made))):
            if asked is made or inspect.isfunction(asked):
                looked += 1
                try: typing.get_type_hints(asked)
                except (NameError, TypeError) as error: print(f"{home}.{name}:{error}".replace(" ",
                    "_"))
print(looked > 1000, typing.get_type_hints(torch.optim.SGD.__init__)["momentum"] is float)
"""
    assert _run(program) == ["True", "True"]


def test_modules_and_optimizers_load_no_operators_of_aten() -> None:
    program = """
import sys
import jtorch as torch
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
model.to(torch.float64)
print([name for name in sys.modules if name.startswith("jtorch._src.aten.")])
"""
    assert _run(program) == ["[]"]
