"""Layers written out so that each of their steps can be observed: ``LSTM``, ``LSTMCell`` and
``MultiheadAttention``. They compute with floats until they are converted."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from ._attention import MultiheadAttention as MultiheadAttention
from ._rnn import LSTM as LSTM
from ._rnn import LSTMCell as LSTMCell
from ._rnn import _LSTMLayer as _LSTMLayer
from ._rnn import _LSTMSingleLayer as _LSTMSingleLayer

# Where files of whole models name the classes.
MultiheadAttention.__module__ = f"{__name__}.modules.activation"
for _class in (LSTM, LSTMCell, _LSTMLayer, _LSTMSingleLayer):
    _class.__module__ = f"{__name__}.modules.rnn"

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
__getattr__ = _refusals.missing(__name__)
