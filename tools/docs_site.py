"""A hook of mkdocs: adds the pages of the site that are made of the code and of files outside
``docs/``.

The start page is ``README.md``; the reference comes from the docstrings, the list of what is not
offered from the refusals, the changelog from its fragments. ``pages()`` gives their texts by path,
without mkdocs, for the tests.

Run by hand (``python -m tools.docs_site``) it writes ``docs/environment.md``, which the repository
shows too.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

#: Sections of docstrings, as headings of the reference.
_SECTIONS = (
    "Args",
    "Shapes",
    "Dtypes",
    "Returns",
    "Raises",
    "Differs from torch",
    "Gradient",
    "Units",
    "Source",
    "Example",
    "Examples",
)
_SECTION = re.compile(rf"^({'|'.join(_SECTIONS)}): *(.*)$")
_LINK = re.compile(r"(\]\()([^)#:]+)(#[^)]*)?(\))")
#: Files outside of ``docs/`` that pages lead to, and where the site has them.
_MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
}


def _relinked(text: str) -> str:
    """The text of a file of the root, with links as pages in ``docs/`` have them; what the site
    does not have is no link."""

    def link(found: re.Match[str]) -> str:
        target, anchor = found[2], found[3] or ""
        if target in _MOVED:
            return f"]({_MOVED[target]}{anchor})"
        if target.startswith("docs/") and target.endswith(".md"):
            return f"]({target.removeprefix('docs/')}{anchor})"
        return ""

    found = _LINK.sub(link, text)
    return re.sub(r"\[([^\]\[]+)\](?![(\[:])", r"\1", found)


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "\\|")


def _body(doc: str) -> Iterator[str]:
    """A docstring as Markdown: sections with bold heads, arguments as lists, examples as blocks."""
    lines = inspect.cleandoc(doc).split("\n")
    code = False
    section = ""
    for line in lines:
        bare = line.strip()
        is_code = bare.startswith((">>>", "...")) or (code and bare != "")
        if is_code and not code:
            yield "\n```pycon"
        elif code and not is_code:
            yield "```\n"
        code = is_code
        head = _SECTION.match(line)
        if head is not None and not code:
            section = head[1]
            yield f"\n**{section}.** {_escaped(head[2]).replace('``', '`')}\n"
        elif code:
            yield bare if not line.startswith("    ") else line[4:]
        elif line.startswith("    ") and section in ("Args", "Raises"):
            entry = re.match(r"    ([\w*][\w*, .]*): (.*)", line)
            text = _escaped(bare).replace("``", "`")
            yield (
                f"- `{entry[1]}`: {_escaped(entry[2]).replace('``', '`')}" if entry else f"  {text}"
            )
        else:
            yield _escaped(bare).replace("``", "`")
    if code:
        yield "```"


def _entry(name: str, made: Any) -> Iterator[str]:
    try:
        signature = re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(made)))
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)  # annotations are kept as text
    except (TypeError, ValueError):
        signature = "(...)"
    yield f"### `{name}` {{ #{name} }}\n"
    yield f"```python\n{name}{signature}\n```\n"
    yield from _body(made.__doc__ or "")
    yield ""


def _is_offered(made: Any) -> bool:
    return bool(made.__doc__) and not made.__doc__.startswith("Not offered")


def _functions(prefix: str, title: str) -> str:
    from jtorch._src.bind.everything import PUBLIC

    shown = f"torch.{prefix}" if prefix and prefix != "Tensor" else prefix or "torch"
    lines = [f"# {title}\n", "Made of the docstrings. Their examples run as tests.\n"]
    for path in sorted(PUBLIC):
        space, _, name = path.rpartition(".")
        if space == prefix and not name.startswith("_") and _is_offered(PUBLIC[path]):
            lines += _entry(f"{shown}.{name}", PUBLIC[path])
    return "\n".join(lines) + "\n"


def _classes(title: str, *spaces: tuple[str, Any, type]) -> str:
    lines = [f"# {title}\n", "Made of the docstrings.\n"]
    for prefix, space, base in spaces:
        for name in sorted(dir(space)):
            kind = getattr(space, name)
            if (
                not name.startswith("_")
                and isinstance(kind, type)
                and issubclass(kind, base)
                and _is_offered(kind)
            ):
                lines += _entry(f"{prefix}.{name}", kind)
    return "\n".join(lines) + "\n"


def _not_offered() -> str:
    """What raises ``NotImplementedError`` by name, by module, with the reason."""
    from jtorch._src.bind.everything import PUBLIC
    from jtorch._src.refusals import names as _refused

    found: dict[str, dict[str, list[str]]] = {}
    for module, names in _refused.names().items():
        for name, (_, why) in names.items():
            found.setdefault(f"torch.{module}" if module else "torch", {}).setdefault(
                why, []
            ).append(name)
    for path, made in PUBLIC.items():
        doc = made.__doc__ or ""
        if doc.startswith("Not offered: "):
            space, _, name = path.rpartition(".")
            why = " ".join(doc.removeprefix("Not offered: ").split("\n\n")[0].split()).rstrip(".")
            found.setdefault(f"torch.{space}" if space else "torch", {}).setdefault(why, []).append(
                name
            )
    lines = [
        "# What is not offered\n",
        (
            "These names of PyTorch can be imported, and raise `NotImplementedError` when they are "
            "used; each says why, and most what to use"
        ),
        (
            "instead. The list is made of the refusals themselves. Everything else of PyTorch 2.13 "
            "that is public is there;"
        ),
        "[differences](differences.md) tells what behaves otherwise.\n",
        "| where | names | why, and what to do |\n|---|---|---|",
    ]
    for module in sorted(found):
        lines += [
            (
                f"| `{module}` | {', '.join(f'`{name}`' for name in sorted(set(names)))} | "
                f"{_escaped(why)} |"
            )
            for why, names in sorted(found[module].items())
        ]
    return "\n".join(lines) + "\n"


def _changelog() -> str:
    kinds: dict[str, list[str]] = {}
    for file in sorted((ROOT / "changelog.d").glob("*.md")):
        kind = file.name.split(".")[-2]
        if file.name != "README.md":
            known = kind if kind in ("added", "changed", "fixed", "removed") else "changed"
            kinds.setdefault(known, []).append(" ".join(file.read_text().split()))
    lines = [(ROOT / "CHANGELOG.md").read_text().strip(), "\n## Not released yet\n"]
    for kind in ("added", "changed", "fixed", "removed"):
        if kind in kinds:
            lines += [
                f"\n### {kind.capitalize()}\n",
                *(f"- {_escaped(text)}" for text in kinds[kind]),
            ]
    return "\n".join(lines) + "\n"


def _decisions() -> str:
    lines = ["# Decisions\n", "What was decided, why, and what was rejected.\n"]
    files = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    lines += [
        f"- [{file.read_text().splitlines()[0].removeprefix('# ')}](decisions/{file.name})"
        for file in files
    ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """The generated pages: their text by their path in ``docs/``."""
    from jtorch import nn, optim
    from jtorch.optim import lr_scheduler
    from jtorch.utils import data

    return {
        "index.md": _relinked((ROOT / "README.md").read_text()),
        "contributing.md": _relinked((ROOT / "CONTRIBUTING.md").read_text()),
        "benchmarks.md": _relinked((ROOT / "benchmarks" / "README.md").read_text()),
        "changelog.md": _changelog(),
        "decisions.md": _decisions(),
        "not-offered.md": _not_offered(),
        "reference/torch.md": _functions("", "torch"),
        "reference/tensor.md": _functions("Tensor", "torch.Tensor"),
        "reference/functional.md": _functions("nn.functional", "torch.nn.functional"),
        "reference/linalg.md": _functions("linalg", "torch.linalg"),
        "reference/fft.md": _functions("fft", "torch.fft"),
        "reference/special.md": _functions("special", "torch.special"),
        "reference/nn.md": _classes("torch.nn", ("torch.nn", nn, nn.Module)),
        "reference/optim.md": _classes(
            "torch.optim",
            ("torch.optim", optim, optim.Optimizer),
            ("torch.optim.lr_scheduler", lr_scheduler, lr_scheduler.LRScheduler),
        ),
        "reference/data.md": _classes(
            "torch.utils.data",
            ("torch.utils.data", data, data.DataLoader),
            ("torch.utils.data", data, data.Dataset),
            ("torch.utils.data", data, data.Sampler),
        ),
    }


def on_files(files: Any, config: Any) -> Any:
    """What mkdocs calls with the files of ``docs/``: adds the generated ones."""
    from mkdocs.structure.files import File  # type: ignore[import-not-found]

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def main() -> None:
    """Writes the pages that are made of the code and kept in the repository."""
    from jtorch._src.start.variables import page

    (ROOT / "docs" / "environment.md").write_text(page())


if __name__ == "__main__":
    main()
