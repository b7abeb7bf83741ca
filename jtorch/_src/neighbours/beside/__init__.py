"""The top-level modules that PyTorch's wheel brings beside ``torch``: imported by their own names
once ``torch`` means jtorch."""
