"""The pages of the site that are made of the code, the links of all pages, and what the documents
must not forget."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "tools" / "docs_site.py")
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


@pytest.fixture(scope="module")
def pages(site):
    return site.pages()


def test_the_reference_shows_signatures_arguments_and_examples(pages):
    assert "### `torch.add` { #torch.add }" in pages["reference/torch.md"]
    assert "torch.add(input, other, *, alpha=1, out=None)" in pages["reference/torch.md"]
    linear = pages["reference/nn.md"].partition("### `torch.nn.Linear` ")[2].partition("\n### ")[0]
    assert "**Args.**" in linear
    assert "- `in_features`: features of the input." in linear
    assert "'" not in linear.partition("```python")[2].partition("```")[0]
    assert ">>> " in pages["reference/tensor.md"]
    for text in pages.values():
        assert text.count("```") % 2 == 0
        assert "Not offered:" not in text


def test_what_is_not_offered_is_listed_with_reasons(pages):
    from jtorch._src.bind.everything import PUBLIC
    from jtorch._src.refusals import names as _refused

    text = pages["not-offered.md"]
    for names in _refused.names().values():
        for name, (_, why) in names.items():
            assert f"`{name}`" in text
            assert why.replace("|", "\\|").replace("<", "&lt;") in text
    refused = [
        path for path, made in PUBLIC.items() if (made.__doc__ or "").startswith("Not offered")
    ]
    assert refused
    assert all(f"`{path.rpartition('.')[2]}`" in text for path in refused)


def test_the_changelog_has_every_fragment(pages):
    fragments = [f for f in (ROOT / "changelog.d").glob("*.md") if f.name != "README.md"]
    lines = [line for line in pages["changelog.md"].splitlines() if line.startswith("- ")]
    assert len(lines) >= len(fragments)


def headings(text):
    """The anchors of a page: those that it states, and those of its headings."""
    lines = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return set(re.findall(r"\{ #(\S+) \}", text)) | {
        re.sub(r"[^\w\- ]", "", line).strip().lower().replace(" ", "-") for line in lines
    }


def test_links_lead_somewhere(pages):
    """Also without mkdocs: to pages of the folder, generated ones and figures; anchors to
    headings."""
    texts = {str(f.relative_to(DOCS)): f.read_text() for f in DOCS.rglob("*.md")} | pages
    wrong = []
    for path, text in texts.items():
        plain = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", plain):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            found = (DOCS / path).parent.joinpath(file).resolve() if file else DOCS / path
            inside = str(found.relative_to(DOCS)) if found.is_relative_to(DOCS) else ""
            if (inside not in texts and not (inside and found.exists())) or (
                anchor and anchor not in headings(texts[inside])
            ):
                wrong.append((path, target))
    assert wrong == []


def test_every_page_is_in_the_navigation(pages):
    nav = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2]
    missing = [name for name in [*(f.name for f in DOCS.glob("*.md")), *pages] if name not in nav]
    assert missing == []


def test_every_environment_variable_is_described():
    """Those of the package by name, wherever they stand; others where the environment is read by a
    name."""
    from jtorch._src.start.variables import OTHERS, VARIABLES, page

    assert (DOCS / "environment.md").read_text() == page()  # else: python -m tools.docs_site
    own, foreign = set(), set()
    for file in (ROOT / "jtorch").rglob("*.py"):
        if file.name != "variables.py":
            text = file.read_text()
            own |= set(re.findall(r"JTORCH_[A-Z0-9_]*[A-Z0-9]", text))
            foreign |= set(
                re.findall(r"(?:environ(?:\.get\(|\[)|getenv\()[\"']([A-Z][A-Z0-9_]+)[\"']", text)
            )
    assert own == {v.name for v in VARIABLES}
    told = {name for v in OTHERS for name in v.name.split(", ")}
    assert foreign - own - told == set()


def test_links_to_other_sites_are_checked_by_a_command(tmp_path, capsys):
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    from tools import links

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path in ("/there", "/refuses-heads") else 404)
            self.end_headers()

        def do_HEAD(self):
            self.send_response(200 if self.path == "/there" else 405)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        root = f"http://127.0.0.1:{server.server_port}"
        page = tmp_path / "page.md"
        page.write_text(f"[a]({root}/there#part), <{root}/refuses-heads>, `[code]({root}/no-link)`")
        assert links.main([str(page)]) == 0
        page.write_text(f"{page.read_text()} [b]({root}/gone)")
        assert links.main([str(page)]) == 1
        assert links.main(["--if-online", str(page)]) == 1
    finally:
        server.shutdown()
        server.server_close()
    assert links.main([str(page), "--timeout", "1"]) == 1
    assert links.main(["--if-online", str(page), "--timeout", "1"]) == 0
    assert f"{root}/gone: 404 Not Found (in page.md)\n2 of 3" in capsys.readouterr().out


def test_the_plots_show_what_was_measured():
    """Each row of the plots has bars as long as its times, and is shown on a page."""
    import json

    from tools import figures

    measured = json.loads((DOCS / "figures" / "measured.json").read_text())
    assert len(set(figures.SPEED) & set(measured)) >= 5 and set(figures.START) <= set(measured)
    drawn = figures.bars(
        "A plot",
        {"one": {"deferred": 1.0, "torch": 2.0}, "two": {"jit": 4.0, "unknown": 9.0}},
        "{:.1f}".format,
        "",
    )
    assert [float(w) for w in re.findall(r'<rect x="262" y="\d+" width="([\d.]+)"', drawn)] == [
        82.5,
        165.0,
        330.0,
    ]
    assert "jtorch: 1.0" in drawn and "unknown" not in drawn
    pages = "".join(f.read_text() for f in DOCS.glob("*.md"))
    assert all(f"figures/{f.name}" in pages for f in (DOCS / "figures").glob("*.svg"))


def test_the_figures_are_as_they_are_drawn():
    assert (
        subprocess.run(
            [sys.executable, str(ROOT / "tools" / "figures.py"), "--check"], check=False
        ).returncode
        == 0
    )


def test_the_site_builds(tmp_path):
    pytest.importorskip("material", reason="the extra docs is not installed")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "reference" / "nn.html").exists()
