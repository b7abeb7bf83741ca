"""Other packages that reach below PyTorch's functions, and what PyTorch's wheel brings beside
``torch``."""
