"""Benchmarks: ``python -m benchmarks.table`` prints the side-by-side table; ``asv run`` in this
folder keeps histories."""
