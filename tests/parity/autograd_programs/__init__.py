"""Small programs about automatic differentiation, run on PyTorch and here;
``test_autograd_words.py`` compares what they give.

Each function makes the programs of one family for one of the two modules. They are short and
nameless: what is returned or raised is the whole point.
"""

from __future__ import annotations

from .checks import checks
from .forward import forward
from .functions import functions
from .hooks import hooks
from .nodes import nodes
from .walks import walks

FAMILIES = (hooks, walks, functions, forward, checks, nodes)
