"""Compressed sparse layouts: the dtype of indices through conversions, and taking over the size of
another tensor."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:Sparse")]

LAYOUTS = ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def _made(
    n: Any,
    layout: str,
    dtype: str,
    rows: Any = ((0, 1, 2, 0), (3, 0, 4, 0), (0, 0, 0, 5), (6, 0, 0, 0)),
) -> Any:
    blocks = {"blocksize": (2, 2)} if layout[7] == "b" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = n.tensor(rows, dtype=n.float32).to_sparse(layout=getattr(n, layout), **blocks)
        starts, others = _places(found)
        kind = getattr(n, dtype)
        return n.sparse_compressed_tensor(
            starts.to(kind), others.to(kind), found.values(), found.shape, layout=found.layout
        )


def _places(t: Any) -> tuple[Any, Any]:
    by_row = "sr" in str(t.layout)
    return (t.crow_indices(), t.col_indices()) if by_row else (t.ccol_indices(), t.row_indices())


def _shown(f: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            t = f()
        except (RuntimeError, NotImplementedError) as error:
            return type(error).__name__, str(error)[:150]
    return (
        str(t.layout),
        tuple(t.shape),
        t.dense_dim(),
        str(t.dtype),
        [(str(p.dtype), p.tolist()) for p in _places(t)],
        t.values().tolist(),
    )


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_conversions_keep_the_dtype_of_indices(source: str, target: str, dtype: str) -> None:
    blocks = {"blocksize": (2, 2)} if target[7] == "b" else {}
    found, wanted = (
        _shown(lambda n=n: _made(n, source, dtype).to_sparse(layout=getattr(n, target), **blocks))
        for n in (jtorch, torch)
    )
    assert found == wanted


SMALL = ((0, 2), (0, 0))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_size_of_a_template(layout: str, dtype: str) -> None:
    found, wanted = (
        _shown(
            lambda n=n: _made(n, layout, "int64").resize_as_sparse_(_made(n, layout, dtype, SMALL))
        )
        for n in (jtorch, torch)
    )
    assert found == wanted


@pytest.mark.parametrize("layout", LAYOUTS)
def test_more_places_than_before_hold_zeros(layout: str) -> None:
    t = _made(jtorch, layout, "int64", SMALL)
    values = t.values().flatten().tolist()
    big = _made(jtorch, layout, "int64")
    t.resize_as_sparse_(big)
    assert t.shape == big.shape
    assert [p.tolist() for p in _places(t)] == [p.tolist() for p in _places(big)]
    flat = t.values().flatten().tolist()
    assert flat[: len(values)] == values
    assert not any(flat[len(values) :])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "call",
    [
        "t.resize_as_sparse_(n.eye(2).to_sparse())",
        "t.resize_as_sparse_(n.eye(2))",
        (
            "t.resize_as_sparse_(n.eye(2).to_sparse_csr() if 'csc' in str(t.layout) else "
            "n.eye(2).to_sparse_csc())"
        ),
        "t.sparse_resize_((5, 5), 2, 0)",
        "t.sparse_resize_and_clear_((5, 5), 2, 0)",
    ],
)
def test_what_is_refused(layout: str, call: str) -> None:
    found, wanted = (
        _shown(lambda n=n: eval(call, {"n": n, "t": _made(n, layout, "int64")}))
        for n in (jtorch, torch)
    )
    assert found == wanted


def test_dense_dimensions_batches_and_nothing() -> None:
    """What has dense dimensions keeps them in blocks too, batches may be of empty matrices, and
    what is like them has their dimensions."""

    def programs(n: Any) -> Any:
        for layout in LAYOUTS:
            blocks = {"blocksize": (2, 1)} if layout[7] == "b" else {}
            for shape, dense in (
                ((4, 6, 3), 1),
                ((2, 4, 6), 0),
                ((2, 2, 2, 2, 2), 1),
                ((4, 0), 0),
                ((0, 4, 6), 0),
                ((2, 0, 6), 0),
            ):
                of = (
                    (
                        n.arange(max(4, int(torch.Size(shape).numel()))).reshape(-1)[
                            : torch.Size(shape).numel()
                        ]
                        % 3
                    )
                    .float()
                    .reshape(shape)
                )

                def made(
                    of: Any = of, layout: str = layout, dense: int = dense, blocks: Any = blocks
                ) -> Any:
                    return of.to_sparse(layout=getattr(n, layout), dense_dim=dense, **blocks)

                yield made
                yield lambda made=made: n.zeros_like(made())
                if len(shape) - dense == 2:
                    yield lambda of=of, layout=layout, blocks=blocks: of.to_sparse(2).to_sparse(
                        layout=getattr(n, layout), **blocks
                    )

    for number, (ours, theirs) in enumerate(zip(programs(jtorch), programs(torch), strict=True)):
        assert _shown(ours) == _shown(theirs), number
    for one, other in (("float32", "float64"), ("float64", "complex64"), ("int64", "float32")):
        dtypes = {str((n.ones((), dtype=getattr(n, one)).to_sparse() * x).dtype) for n in (jtorch,
            torch) for x in (
            n.ones((), dtype=getattr(n, other)),
            n.ones((), dtype=getattr(n, other)).to_sparse())}  # fmt: skip
        assert len(dtypes) == 1, (one, other)
