"""Derivatives as operators stand with the functions, where operators are but names: here each name
is looked up."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import jtorch as torch
from jtorch._src.aten import derivatives, formulas
from jtorch._src.aten.overloads import OpOverload
from jtorch._src.ops import _derivatives
from jtorch._src.ops._derivatives import STATED, Stated

FOLDERS = [Path(inspect.getfile(torch)).parent / "_src" / name for name in ("ops", "composites")]
STATING = [
    path
    for folder in FOLDERS
    for path in sorted(folder.glob("*.py"))
    if "_derivatives import" in path.read_text()
]


def operator(path: str) -> OpOverload:
    packet, _, overload = path.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


def test_many_functions_state_their_derivative() -> None:
    assert len(STATING) > 40
    assert sum(len(s.operators) for s in STATED) > 250


def test_no_operator_has_two_derivatives() -> None:
    operators = [path for s in STATED for path in s.operators]
    assert sorted(set(operators)) == sorted(operators)


@pytest.mark.parametrize("stated", STATED, ids=lambda s: s.operators[0])
def test_formulas_take_what_their_operator_has(stated: Stated) -> None:
    for path in stated.operators:
        schema = operator(path)._schema
        results = {"result", "result_"} | {f"result{i}" for i in range(1, len(schema.returns))}
        known = (
            {"g", "grads", "node", "wants"}
            | results
            | {n for a in schema.arguments for n in (a.name, f"{a.name}_")}
        )
        for operands, formula in stated.formulas.items():
            assert set(operands.split("__")) <= {a.name for a in schema.arguments}
            names = [
                p.name
                for p in inspect.signature(formula).parameters.values()
                if p.default is p.empty
            ]
            assert set(names) <= known, path


@pytest.mark.parametrize("path", STATING, ids=lambda path: path.stem)
def test_operators_and_parts_that_formulas_name_exist(path: Path) -> None:
    named = 0
    tree = ast.parse(path.read_text())
    matrices = {  # where ``A`` is a parameter
        n
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef) and any(a.arg == "A" for a in f.args.args)
        for n in ast.walk(f)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or (
            node in matrices and ast.unparse(node).startswith("A.")
        ):
            continue
        if isinstance(node.value, ast.Name) and node.value.id == "D":
            assert callable(getattr(formulas, node.attr)), ast.unparse(node)
            named += 1
        elif (
            isinstance(node.value, ast.Attribute)
            and isinstance(node.value.value, ast.Name)
            and node.value.value.id in ("A", "aten")
        ):
            assert isinstance(operator(f"{node.value.attr}.{node.attr}"), OpOverload), ast.unparse(
                node
            )
            named += 1
    assert named


#: Operands that have no derivative: places, conditions, and what PyTorch does not differentiate by.
CONSTANT = {
    "atol",
    "attn_mask",
    "condition",
    "index",
    "indices",
    "mask",
    "noise",
    "pos_weight",
    "rtol",
    "running_mean",
    "running_var",
}
CONSTANT_OF = (
    {
        name: {"target", "weight"}
        for name in ("nll_loss_forward.default", "nll_loss2d_forward.default")
    }
    | {
        name: {"weight"}
        for name in ("binary_cross_entropy.default", "binary_cross_entropy_with_logits.default")
    }
    | {"soft_margin_loss.default": {"target"}}
)


@pytest.mark.parametrize("stated", STATED, ids=lambda s: s.operators[0])
def test_all_operands_that_have_a_derivative_have_a_formula(stated: Stated) -> None:
    having = {name for operands in stated.formulas for name in operands.split("__")}
    for path in stated.operators:
        operands = {a.name for a in operator(path)._schema.arguments if "Tensor" in str(a.type)}
        # others would get none, in silence
        assert operands - having <= CONSTANT | CONSTANT_OF.get(path, set()), path


def test_a_name_that_was_called_is_the_operator_itself() -> None:
    given = _derivatives._Operators()
    assert isinstance(given.mul.Tensor, _derivatives._Overload)
    assert given.mul.Tensor(torch.tensor([2.0]), torch.tensor([3.0])).item() == 6
    assert given.mul.Tensor is torch.ops.aten.mul.Tensor


def test_the_first_who_asks_reads_what_is_stated() -> None:
    found = derivatives.rules()
    assert found is derivatives.rules()
    assert {path for s in STATED for path in s.operators} <= found.keys()
