"""Which strides make several indices mean one place."""

from __future__ import annotations

import itertools

import numpy as np

from jtorch._src.facts.layouts import coincide, last_written


def test_places_that_coincide() -> None:
    for shape in itertools.product((0, 1, 2, 3), (1, 2, 3), (1, 2)):
        for strides in itertools.product((0, 1, 2, 3, 4), repeat=3):
            places = np.zeros(shape, int)
            for d, step in enumerate(strides):
                places = places + np.moveaxis((np.arange(shape[d]) * step).reshape(-1, 1, 1), 0, d)
            several = np.unique(places).size != places.size
            assert coincide(shape, strides) == several, (shape, strides)
            if several:
                last = last_written(shape, strides)
                flat = places.reshape(-1)
                assert (flat[last] == places).all()  # the same place
                assert np.unique(last).size == np.unique(flat).size  # and one index for each
