"""The host tier: kernels run by NumPy, without a compiler. Part of the engine, floor 1; it knows
JAX's primitives and no ops."""

from .recipes import Recipe as Recipe
from .recipes import Unstaged as Unstaged
from .recipes import packed as packed
from .recipes import recipe_of as recipe_of
from .recipes import unpacked as unpacked
from .rules import Equation as Equation
from .rules import rule as rule
from .staging import Program as Program
from .staging import stage as stage
