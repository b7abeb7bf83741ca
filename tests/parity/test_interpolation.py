"""Bytes resized to the last digit as PyTorch does, and the words for what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

TARGETS: list[dict[str, Any]] = [
    {"size": (11, 5)}, {"scale_factor": 1.7}, {"scale_factor": 0.4}, {"size": (7, 30)},
    {"scale_factor": 1.1}, {"scale_factor": 2.3, "recompute_scale_factor": True}, {"size": (1, 3)},
]  # fmt: skip


def _outcome(package: Any, image: np.ndarray, **options: Any) -> np.ndarray | str:
    try:
        return package.nn.functional.interpolate(package.tensor(image), **options).numpy()
    except (NotImplementedError, RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("align_corners", [None, True])
@pytest.mark.parametrize(
    ("mode", "antialias"),
    [
        ("bilinear", False),
        ("bilinear", True),
        ("bicubic", False),
        ("bicubic", True),
        ("lanczos", True),
    ],
)
def test_bytes_are_rounded_alike(mode: str, antialias: bool, align_corners: bool | None) -> None:
    rng = np.random.default_rng(0)
    for i, target in enumerate(TARGETS[::2] if align_corners else TARGETS):
        # PyTorch has other loops from five channels on
        image = rng.integers(0, 256, (2, 1 + i % 5, 7, 9)).astype(np.uint8)
        options = {"mode": mode, "antialias": antialias, "align_corners": align_corners, **target}
        np.testing.assert_array_equal(
            _outcome(jtorch, image, **options),
            _outcome(torch, image, **options),
            err_msg=str(options),
        )


@pytest.mark.parametrize("dtype", ["uint8", "int32", "bool"])
@pytest.mark.parametrize(
    ("mode", "n"),
    [
        ("linear", 1),
        ("bilinear", 2),
        ("bicubic", 2),
        ("trilinear", 3),
        ("nearest", 1),
        ("nearest", 2),
        ("nearest", 3),
        ("nearest-exact", 2),
    ],
)
def test_other_types_and_sizes_are_refused_in_the_same_words(mode: str, n: int, dtype: str) -> None:
    for size in (3, 4, 0, -1):
        for antialias in (False, True) if mode in ("bilinear", "bicubic") else (False,):
            image = np.zeros((1, 2, *(4,) * n), dtype)
            options = {"mode": mode, "size": size, "antialias": antialias}
            np.testing.assert_array_equal(
                _outcome(jtorch, image, **options),
                _outcome(torch, image, **options),
                err_msg=str(options),
            )


def test_an_antialiased_dimension_of_the_same_size_is_copied() -> None:
    image = np.random.default_rng(0).random((1, 2, 7, 9)).astype(np.float32)
    for mode in ("bilinear", "bicubic", "lanczos"):
        options = {"mode": mode, "antialias": True, "scale_factor": (1.1, 2.0)}
        np.testing.assert_allclose(
            _outcome(jtorch, image, **options),
            _outcome(torch, image, **options),
            rtol=1e-5,
            atol=1e-6,
        )
