"""Modules that compute their activations again, or keep them on the host."""
