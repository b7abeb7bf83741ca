"""The work that is measured: each program once in PyTorch's terms, and once in JAX's where a
contest wants it."""
