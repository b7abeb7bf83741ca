"""What declarations state of functions beside computing them, and that those who serve all
functions read it there."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

import jtorch as torch
from jtorch._src.aten import declared
from jtorch._src.ops import _declare
from jtorch._src.ops._declare import Array, Number, Op
from jtorch._src.ops._facts import schemas


def _outs(*dtypes):
    return tuple(torch.empty(0, dtype=d) for d in dtypes)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda a, out: torch.linalg.tensorinv(a.reshape(2, 2, 2, 2), out=out),
            "tensorinv: Expected result",
        ),
        (
            lambda a, out: torch.linalg.tensorsolve(a.reshape(2, 2, 2, 2), a[:2, :2], out=out),
            "tensorsolve: Expected result",
        ),
        (lambda a, out: torch.linalg.matrix_power(a, 2, out=out), "matrix_power: Expected result"),
        (lambda a, out: torch.linalg.pinv(a, out=out), "linalg.pinv: Expected result"),
        (
            lambda a, out: torch.linalg.eigvals(a, out=out),
            "torch.linalg.eigvals: Expected eigenvalues",
        ),
        (
            lambda a, out: torch.linalg.lstsq(
                a, a, out=(out, *_outs(torch.float32, torch.int64, torch.float32))
            ),
            "torch.linalg.lstsq: Expected solution",
        ),
    ],
)
def test_functions_name_the_result_that_cannot_be_cast_to_out(call, words):
    with pytest.raises(
        RuntimeError,
        match=words
        + " to be safely castable from (Complex)?Float dtype, but got \\w+ with dtype Int",
    ):
        call(torch.eye(4), torch.empty(0, dtype=torch.int32))


def test_composites_refuse_an_out_of_another_dtype_in_their_words():
    a, words = torch.eye(4), "Expected out tensor to have dtype float, but got double instead"
    double = torch.empty(0, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=words):
        torch.linalg.matrix_power(a, 2, out=double)
    with pytest.raises(RuntimeError, match=words):
        torch.linalg.ldl_factor(a, out=(double, *_outs(torch.int32)))
    with pytest.raises(RuntimeError, match=words):
        torch.linalg.ldl_factor_ex(a, out=(double, *_outs(torch.int32, torch.int32)))
    with pytest.raises(RuntimeError, match=words):
        torch.linalg.ldl_solve(a, torch.arange(1, 5, dtype=torch.int32), a, out=double)


def test_truth_is_written_into_bytes_too_but_not_into_other_numbers():
    x = torch.tensor([True, False])
    assert torch.any(x, dim=0, out=torch.empty((), dtype=torch.uint8)).item() == 1
    with pytest.raises(RuntimeError, match="all only supports bool tensor for result, got: Int"):
        torch.all(x, dim=0, out=torch.empty((), dtype=torch.int32))


@pytest.mark.parametrize("kind", ["cpu", "cuda", "xpu"])
def test_autocast_treats_all_names_of_a_function_alike(kind):
    from jtorch.amp.policies import table

    found = table(kind)
    assert found[torch.concat] == found[torch.concatenate] == found[torch.cat] == "widest"
    assert (
        found[torch.Tensor.__matmul__]
        == found[torch.matmul]
        == found[torch.linalg.matmul]
        == "lower"
    )
    assert (
        found.get(torch.arccos)
        == found.get(torch.Tensor.arccos)
        == found.get(torch.acos)
        == (None if kind == "cpu" else "float32")
    )
    assert (
        found.get(torch.Tensor.__rpow__)
        == found.get(torch.pow)
        == (None if kind == "cpu" else "float32")
    )
    assert found[torch.inner] == ("matrices" if kind == "cpu" else "lower")
    assert torch.add not in found


def test_all_files_of_the_package_are_installed():
    root = Path(torch.__file__).parent
    with (root.parent / "pyproject.toml").open("rb") as file:
        globs = tomllib.load(file)["tool"]["setuptools"]["package-data"]["jtorch"]
    data = {
        p.relative_to(root)
        for p in root.rglob("*")
        if p.is_file() and p.suffix not in (".py", ".pyc")
    }
    assert Path("_src/aten/schemas.txt") in data
    assert data <= {p.relative_to(root) for g in globs for p in root.glob(g)}


def test_operators_that_are_written_with_others_are_so_under_all_names():
    from jtorch._src.aten.composite_operators import is_composite

    ops = torch.ops.aten
    implicit = (
        ops.softmax.int,
        *[
            o.default
            for o in (
                ops.special_softmax,
                ops.outer,
                ops.ger,
                ops.vstack,
                ops.row_stack,
                ops.matrix_exp,
                ops.prelu,
            )
        ],
    )
    of_their_own = [
        o.default
        for o in (
            ops._softmax,
            ops.linalg_matrix_exp,
            ops._prelu_kernel,
            ops.pixel_shuffle,
            ops.addmm,
        )
    ]
    assert [o for o in implicit if not is_composite(o)] == []
    assert [o for o in of_their_own if is_composite(o)] == []


def test_each_overload_of_an_operator_is_stated_once() -> None:
    table = (Path(torch.__file__).parent / "_src" / "aten" / "schemas.txt").read_text().splitlines()
    heads = [line.partition("(")[0] for line in (*declared.declared(), *table)]
    assert len(heads) > 1000
    assert [head for head, count in Counter(heads).items() if count > 1] == []


@pytest.mark.parametrize(
    ("items", "lines"),
    [
        (
            (".Tensor",),
            [
                (
                    "made.Tensor(Tensor self, Tensor other, *, float eps=1., str? mode=None) -> "
                    "Tensor ; _ =Tensor_out"
                )
            ],
        ),
        (
            (".Scalar ;",),
            ["made.Scalar(Tensor self, Scalar other, *, float eps=1., str? mode=None) -> Tensor"],
        ),
        (
            ("(Tensor self) -> Tensor ; _", "other"),
            ["made(Tensor self) -> Tensor ; _", "other(Tensor self) -> Tensor ; _"],
        ),
        (
            ("other. ; =out",),
            ["other(Tensor self, Tensor other, *, float eps=1., str? mode=None) -> Tensor ; =out"],
        ),
        ((), []),
        (
            ("(int n, ...) -> Tensor",),
            [
                (
                    "made(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                    "device=None, bool? pin_memory=None) -> Tensor"
                )
            ],
        ),
    ],
)
def test_what_a_declaration_says_of_its_operators(items: tuple[str, ...], lines: list[str]) -> None:
    def made(
        input: Array, other: Array | Number, *, eps: float = 1.0, mode: str | None = None
    ) -> Array:
        raise NotImplementedError

    record = Op(
        "made",
        schemas(*items)(made),
        _declare._params_of(made),
        inplace=True,
        out=True,
        aten="made.Tensor",
    )
    assert list(declared.lines_of(record)) == lines
