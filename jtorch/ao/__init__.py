"""Quantisation, of which only what does nothing without it is offered."""
