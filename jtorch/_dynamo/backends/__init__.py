"""Backends of ``torch.compile``."""
