"""The pages about many processes: their blocks run in a world of four, with what the pages take for
granted."""

import os
import re
from pathlib import Path

from _cases import WORLD, run, same

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn

DOCS = Path(__file__).resolve().parents[3] / "docs"


def read(page: str, names: dict[str, object]) -> dict[str, object]:
    """Runs the blocks of a page in one namespace, and gives it; each page has at least one."""
    blocks = re.findall(
        r"^```(\w+)\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL
    )
    assert blocks
    for kind, block in blocks:
        assert kind == "python", kind
        exec(compile(block, page, "exec"), names)
    return names


class Block(nn.Module):
    """With the names that the pages use."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


class Model(nn.Module):
    """Two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def check_dtensor() -> None:
    torch.manual_seed(0)
    model, x = Model(), torch.ones(2, 4)
    wanted = model(x)
    names = read("dtensor.md", {"model": model})
    same(model(x).detach(), wanted.detach())
    assert names["y"].placements == (names["Shard"](1),) and model.blocks[
        0
    ].up.weight.to_local().shape == (8 // WORLD, 4)


def check_sharded_training() -> None:
    os.chdir(os.environ["WORLD_FOLDER"])
    model = Model()
    names = read("sharded-training.md", {"torch": torch, "model": model, "step": 7})
    assert names["state"]["step"] == 7 and Path("out/checkpoint/.metadata").exists()


def check_processes() -> None:
    """At last: the page makes the world itself, and ends it."""
    dist.destroy_process_group()
    names = read("processes.md", {"data": torch.utils.data.TensorDataset(torch.ones(16, 4))})
    assert len(names["loader"]) == 1 and not dist.is_initialized()


run(dict(globals()))
