"""What arguments mean that many functions have: docstrings describe the others, and get these lines
when callables are made. Floor 0."""

from __future__ import annotations

from collections.abc import Container, Iterable


def _lines(text: str) -> dict[str, str]:
    """What is said of each name."""
    return dict(line.split(": ", 1) for line in text.strip().splitlines())


_OF_ALL = _lines("out: a tensor that the result is written into, and that is returned.")
_OF_FACTORIES = _lines("""
layout: ``torch.strided``; others are refused.
device: where the result lies; the default device if it is None.
pin_memory: whether the memory is to be page-locked, for copies to an accelerator.
requires_grad: whether autograd records what is done with the result.
""")
#: Of factories that take what is not said from another tensor.
_OF_LIKE = _OF_FACTORIES | _lines("""
dtype: the dtype of the result; that of ``input`` if it is None.
layout: ``torch.strided``, or None for that of ``input``.
device: where the result lies; where ``input`` does if it is None.
memory_format: how the result lies in memory; ``torch.preserve_format`` is as ``input`` does.
""")


def shared(names: Container[str]) -> dict[str, str]:
    """The descriptions that functions with parameters of these names share."""
    if not all(name in names for name in _OF_FACTORIES):
        return _OF_ALL
    return _OF_ALL | (_OF_LIKE if "memory_format" in names and "input" in names else _OF_FACTORIES)


def completed(doc: str | None, names: Iterable[str]) -> str | None:
    """A docstring whose section of arguments, if it has one, describes shared ones too, as far as
    it leaves them out.

    Example:
        >>> from jtorch._src.protocol.shared_arguments import completed
        >>> print(completed("Doubles.\\n\\nArgs:\\n    x: a number.\\n", ("x", "out")))
        Doubles.
        <BLANKLINE>
        Args:
            x: a number.
            out: a tensor that the result is written into, and that is returned.
        <BLANKLINE>
    """
    if doc is None or (at := doc.find("Args:\n")) < 0 or doc[:at].rpartition("\n")[2].strip():
        return doc
    indent = doc[:at].rpartition("\n")[2] + "    "
    begin = at + len("Args:\n")
    end = doc.find("\n\n", begin - 1)
    end = len(doc.rstrip()) if end < 0 else end
    section = f"\n{doc[begin:end]}" if end > begin else ""
    lines = shared(tuple(names))
    missing = [
        f"{indent}{n}: {lines[n]}"
        for n in names
        if n in lines and f"\n{indent}{n}: " not in section
    ]
    return (
        doc[:begin]
        + "\n".join([*([doc[begin:end]] if section else []), *missing])
        + doc[max(end, begin - 1) :]
        if missing
        else doc
    )
