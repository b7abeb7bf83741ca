"""Where tensors meet JAX, DLPack and Python, and devices run in order. Floor 3."""
