"""``torch.hub`` without a network: local repositories, the cache, files, and clear refusals."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch import hub

_HUBCONF = '''
dependencies = ["math"]
import helper_of_this_repository

def linear(size, bias=True):
    """A linear layer."""
    return helper_of_this_repository.make(size, bias)

_private = 3
'''


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in the place where the cache would have it."""
    folder = tmp_path / "hub" / "owner_name_main"
    folder.mkdir(parents=True)
    (folder / "hubconf.py").write_text(_HUBCONF)
    helper = (
        "import jtorch\ndef make(size, bias):\n    return jtorch.nn.Linear(size, 2, bias=bias)\n"
    )
    (folder / "helper_of_this_repository.py").write_text(helper)
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "hub"))
    return folder


def test_local_repositories(repository: Path) -> None:
    layer = hub.load(str(repository), "linear", 3, bias=False, source="local")
    assert tuple(layer.weight.shape) == (2, 3) and layer.bias is None
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(repository, "other", source="local")
    with pytest.raises(ValueError, match='Unknown source: "svn"'):
        hub.load(repository, "linear", source="svn")
    (repository / "hubconf.py").write_text("dependencies = ['no_such_package']\ndef linear(): ...")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(repository, "linear", source="local")


def test_the_cache_and_what_is_not_in_it(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tuple(hub.load("owner/name", "linear", 4).weight.shape) == (2, 4)
    assert str(repository) in capsys.readouterr().err
    assert hub.list("owner/name", verbose=False) == ["linear"]
    assert hub.help("owner/name", "linear") == "A linear layer."
    with pytest.raises(
        NotImplementedError, match="no network connections; put a copy of owner/other"
    ):
        hub.load("owner/other", "linear")
    with pytest.raises(ValueError, match="repo_owner/repo_name"):
        hub.load("name", "linear")


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "hub"))
    source = tmp_path / "weights.pt"
    torch.save({"w": torch.arange(3)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    named = source.rename(tmp_path / f"weights-{digest[:8]}.pt")
    state: Any = hub.load_state_dict_from_url(named.as_uri(), check_hash=True)
    assert state["w"].tolist() == [0, 1, 2]
    named.unlink()
    # it is in the cache now
    assert hub.load_state_dict_from_url(f"https://example.org/{named.name}")["w"].tolist() == [
        0,
        1,
        2,
    ]
    with pytest.raises(NotImplementedError, match="no network connections; put the file"):
        hub.load_state_dict_from_url("https://example.org/other.pt")
    source.write_bytes(b"other")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file(source.as_uri(), str(tmp_path / "copy"), "00000000")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hub", "weights.pt"]


def test_the_place_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", "/some/where")
    assert hub.get_dir() == "/some/where/hub"
    monkeypatch.setattr(hub, "_hub_dir", None)
    hub.set_dir("/else/where")
    assert hub.get_dir() == "/else/where"
