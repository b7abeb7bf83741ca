"""The texts of layers and functions of the package in archives (``forwards.txt``)."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jtorch as torch

from .texts import literal

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


class Form(NamedTuple):
    """How a layer or function is written.

    Attributes:
        must: what its attributes or arguments must be.
        given: the parameters of a layer.
        text: the result.
    """

    must: list[list[str]]
    given: list[str]
    text: str


@cache
def _lines() -> list[str]:
    return Path(__file__).with_name("forwards.txt").read_text().splitlines()


@cache
def plain() -> set[str]:
    """Functions of ``nn.functional`` that take what their operators do."""
    return {name for line in _lines() if line.startswith("=") for name in line[1:].split()}


@cache
def _forms(mark: str) -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for line in _lines():
        if line.startswith(("#", "=")) or not line or line.startswith(">") != (mark == ">"):
            continue
        name, must, text = [part.strip() for part in line.removeprefix(">").split("|")]
        name, _, given = name.partition("(")
        form = Form(
            [m.split("=") for m in must.split()],
            given.rstrip(")").replace(",", " ").split() or ["input"],
            text,
        )
        found.setdefault(name.strip(), []).append(form)
    return found


def _value(x: Any, name: str) -> str | None:
    """The text of an attribute, None if it has none."""
    if name == "reduction" and isinstance(x, str):
        return str(_REDUCTIONS[x]) if x in _REDUCTIONS else None
    if isinstance(x, (tuple, list)):
        items = [_value(i, "") for i in x if i is not None]
        return (
            f"[{', '.join(map(str, items))}]"
            if None not in items and len(items) == len(x)
            else None
        )
    try:
        return literal(x)
    except NotImplementedError:
        return None


def _filled(text: str, texts: Mapping[str, str | None]) -> str:
    return re.sub(r"\$(\w+)", lambda m: str(texts[m[1]]), text)


def of_layer(module: Any, name: str) -> Form | None:
    """How the call of a layer is written, None if there is no text for it."""
    for form in _forms("").get(name, []):
        if not all(str(getattr(module, k)) == v for k, v in form.must):
            continue
        texts: dict[str, str | None] = {}
        for repeats, word in re.findall(r"\$(\d?)(\w+)", form.text):
            x = getattr(module, word)
            if repeats and isinstance(x, (int, float)):
                x = [x] * int(repeats)
            made = f"self.{word}" if isinstance(x, torch.Tensor) else _value(x, word)
            texts[repeats + word] = made
        if None not in texts.values():
            return form._replace(text=_filled(form.text, texts))
    return None


def of_method(
    module: Any, name: str, args: list[ast.expr], options: list[ast.keyword]
) -> ast.expr | None:
    """The call of a method of a layer, None if there is no text for it."""
    form = of_layer(module, f"quantized.QFunctional.{name}")
    if form is None:
        return None
    texts = dict(zip(form.given, [f"({ast.unparse(a)})" for a in args], strict=False))
    texts.update({str(k.arg): f"({ast.unparse(k.value)})" for k in options})
    if name == "cat":
        texts.setdefault("dim", "0")
    if set(texts) != set(form.given):
        return None
    text = re.sub(r"\b(\w+)\b", lambda m: texts.get(m[1], m[1]), form.text)
    return ast.parse(text, mode="eval").body


def of_call(
    function: Callable[..., Any], args: list[ast.expr], options: list[ast.keyword]
) -> ast.expr | None:
    """The call of a function of ``nn.functional`` that its operator takes otherwise, None if there
    is no text for it."""
    for form in _forms(">").get(function.__name__, []):
        try:
            bound = inspect.signature(function).bind(
                *args, **{k.arg: k.value for k in options if k.arg is not None}
            )
        except (TypeError, ValueError):
            return None
        bound.apply_defaults()
        texts: dict[str, str] = {}
        for word, x in bound.arguments.items():
            if not isinstance(x, ast.expr):
                made = _value(x, word)
            elif word == "reduction":
                made = _value(x.value, word) if isinstance(x, ast.Constant) else None
            else:
                made = f"({ast.unparse(x)})"
            texts[word] = made or ""
        wanted = re.findall(r"\$(\w+)", form.text)
        known = all(texts.get(k, "").strip("()") == v for k, v in form.must)
        said = {*wanted, *[k for k, _ in form.must]}
        if known and said >= set(texts) and all(texts[w] for w in wanted):
            return ast.parse(_filled(form.text, texts), mode="eval").body
    return None
