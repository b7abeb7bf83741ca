"""Exceptions of PyTorch's code generator, for programs that catch them; none is raised here."""

from __future__ import annotations

from jtorch._dynamo.exc import BackendCompilerFailed


class InductorError(BackendCompilerFailed):
    """Generating code failed."""


class CppCompileError(RuntimeError):
    """The C++ compiler failed."""


class SubprocException(Exception):
    """A worker that compiles failed."""
