"""PyTorch's file formats. Floor 4; ``jtorch.serialization`` has the public functions."""
