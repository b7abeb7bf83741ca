"""Functions that are written with other public functions, by family."""
