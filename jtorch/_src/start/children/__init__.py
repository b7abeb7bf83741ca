"""What a program under ``python -m jtorch`` hands to the Python processes that it starts (decision
0078)."""

from __future__ import annotations

import os
import sys


def hand_on() -> None:
    """Lets ``import torch`` mean jtorch in processes of this Python that are started with this
    environment.

    The folder of this module comes first on their path, so that Python reads its ``sitecustomize``
    when it starts.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    others = [
        part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and part != here
    ]
    os.environ["PYTHONPATH"] = os.pathsep.join([here, *others])
    os.environ["JTORCH_CHILDREN"] = sys.prefix
