"""The host tier: kernels run by NumPy, without a compiler. Part of the engine, floor 1; it knows JAX's primitives and no ops."""

from .rules import Equation as Equation
from .rules import rule as rule
from .staging import Program as Program
from .staging import Unstaged as Unstaged
from .staging import stage as stage
