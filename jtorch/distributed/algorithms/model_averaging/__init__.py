"""Averages of parameters over processes, every few steps."""
