"""Random numbers: PyTorch's own streams, and JAX's keys under the same names. Floor 3."""
