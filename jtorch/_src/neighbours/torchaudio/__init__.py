"""The operators that torchaudio has in C++, on NumPy's arrays: entered in ``torch.ops.torchaudio``
when torchaudio is imported.

torchaudio states their derivatives itself, in Python, where they have one. Its decoder of CTC on
CUDA is not here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ....core import Tensor
from ....library import Library
from . import filters, paths

_library: Library | None = None
#: What torchaudio's own loader finds in place of its files.
_HERE = ("_torchaudio", "libtorchaudio")


def _array(x: Tensor) -> np.ndarray:
    return np.asarray(x.detach().resolve_conj().cpu())


def _lfilter_core_loop(
    input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor
) -> object:
    x, coefficients, out = (
        _array(input_signal_windows),
        _array(a_coeff_flipped),
        _array(padded_output_waveform),
    )
    rest = coefficients.shape[1] - 1
    made = filters.recursion(
        x - coefficients[:, -1:] * out[..., rest:], coefficients[:, :-1], out[..., :rest]
    )
    padded_output_waveform[..., rest:] = input_signal_windows.new_tensor(made)
    return padded_output_waveform


def _overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Any
) -> tuple[object, object, object]:
    x, before = _array(temp), _array(last_in)
    change = np.diff(x, axis=1, prepend=before[:, None])
    made = filters.recursion(change, np.full((len(x), 1), -0.995), _array(last_out)[:, None])
    output_waveform.copy_(waveform.new_tensor(_array(waveform) * 0.5 + made * 0.75))
    if x.shape[1]:
        last_in.copy_(temp[:, -1])
        last_out.copy_(waveform.new_tensor(made[:, -1]))
    return last_in, last_out, output_waveform


def _rnnt_loss_forward(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused_log_softmax: bool,
) -> tuple[object, object]:
    costs, slopes = paths.transducer(
        _array(logits),
        _array(targets),
        _array(logit_lengths),
        _array(target_lengths),
        blank,
        clamp,
        fused_log_softmax,
    )
    return logits.new_tensor(costs), logits.new_tensor(slopes)


def _forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[object, object]:
    path = paths.alignment(
        _array(log_probs), _array(targets), _array(input_lengths), _array(target_lengths), blank
    )
    return targets.new_tensor(path), log_probs.detach()


#: Schema -> function of tensors.
_TENSORS: dict[str, Callable[..., object]] = {
    ("_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) "
     "padded_output_waveform) -> Tensor(a!)"):
        _lfilter_core_loop,
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, "
    "Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))": _overdrive_core_loop,
    "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, "
    "int blank, float clamp, bool fused_log_softmax) -> (Tensor, Tensor)": _rnnt_loss_forward,
    ("forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
     "int blank) -> (Tensor, Tensor)"):
        _forced_align,
}  # fmt: skip


def define() -> None:
    """Enters the operators; once."""
    global _library
    if _library is not None:
        return
    _library = made = Library("torchaudio", "FRAGMENT")
    for schema, kernel in _TENSORS.items():
        made.impl(made.define(schema), kernel, "CompositeExplicitAutograd")
    facts = Library("_torchaudio", "FRAGMENT")
    facts.impl(
        facts.define("is_align_available() -> bool"), lambda: True, "CompositeExplicitAutograd"
    )
    facts.impl(facts.define("cuda_version() -> int?"), lambda: None, "CompositeExplicitAutograd")


def adapt(module: ModuleType) -> None:
    """Tells ``torchaudio._extension.utils`` that the libraries with these operators are loaded."""
    define()
    elsewhere = module._load_lib

    def _load_lib(lib: str) -> bool:
        return lib in _HERE or elsewhere(lib)

    module._load_lib = _load_lib
    asked = ModuleType("torchaudio.lib._torchaudio")  # what older versions import in its place
    vars(asked).update(
        is_align_available=lambda: True, is_rir_available=lambda: False, cuda_version=lambda: None
    )
    sys.modules.setdefault(asked.__name__, asked)
