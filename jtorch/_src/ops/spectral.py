"""Short-time Fourier transforms: ``stft`` and ``istft``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.warned_once import warn_once
from ._declare import Array, guard, op
from ._facts import schemas
from ._nodes import Made
from ._numeric import scalar_name
from .fft import _c2c, _c2r, _complex, _over_xla, _r2c, _scaled
from .padding import pad

if TYPE_CHECKING:
    from ...core import Tensor


def _shown(x: Array, prefix: str) -> str:
    """A tensor as torch's messages show it."""
    name = dtypes.from_np(x.dtype).legacy
    return f"{prefix}{name.removesuffix('Tensor')}Type" if prefix == "CPU" else f"torch.{name}"


def _call(
    name: str,
    input: Array,
    prefix: str,
    given_window: Array | None,
    /,
    **arguments: int | bool | str | None,
) -> str:
    """The call as torch's messages quote it."""
    shown = []
    for key, value in arguments.items():
        if key == "window":
            value = (
                None
                if given_window is None
                else f"{_shown(given_window, '')}{{{list(given_window.shape)}}}"
            )
        shown.append(f"{key}={value if value is None or isinstance(value, str) else int(value)}")
    return f"{name}({_shown(input, prefix)}{list(input.shape)}, {', '.join(shown)}) "


def _frames(x: Array, size: int, hop: int) -> Array:
    """Windows of ``size`` every ``hop`` elements of the last dimension: ``(..., frames, size)``."""
    count = 1 + (x.shape[-1] - size) // hop
    if size % hop:
        return jnp.take(x, np.arange(count)[:, None] * hop + np.arange(size), -1)
    # Slices of blocks: their transpose is a sum of padded blocks, where that of a gather would be a
    # scatter.
    parts = size // hop
    blocks = x[..., : (count - 1 + parts) * hop].reshape(*x.shape[:-1], count - 1 + parts, hop)
    return jnp.concatenate([blocks[..., p : p + count, :] for p in range(parts)], -1)


def _overlap_add(frames: Array, hop: int) -> Array:
    """The transpose of ``_frames``."""
    count, size = frames.shape[-2:]
    length = size + hop * (count - 1)
    lead = frames.shape[:-2]
    if size % hop:
        places = np.arange(count)[:, None] * hop + np.arange(size)
        return jnp.zeros((*lead, length), frames.dtype).at[..., places].add(frames)
    parts = size // hop
    total = None
    for p in range(parts):
        block = frames[..., p * hop : (p + 1) * hop].reshape(*lead, count * hop)
        config = [(0, 0, 0)] * len(lead) + [(p * hop, (parts - 1 - p) * hop, 0)]
        shifted = lax.pad(block, jnp.zeros((), frames.dtype), config)
        total = shifted if total is None else total + shifted
    assert total is not None
    return total


def _centred(window: Array, size: int) -> Array:
    """``window`` in the middle of ``size`` zeros."""
    left = (size - window.shape[0]) // 2
    return lax.pad(window, jnp.zeros((), window.dtype), [(left, size - window.shape[0] - left, 0)])


def _common(x: Array, window: Array) -> tuple[Array, Array]:
    target = dtypes.promote_types(dtypes.from_np(x.dtype), dtypes.from_np(window.dtype)).np
    return x.astype(target), window.astype(target)


def _node_of_stft(made: Made) -> str:
    if not made.given("return_complex") and (
        made.given("return_complex") is False or not made.is_complex
    ):
        return "ViewAsRealBackward0"
    return "SqueezeBackward4" if made.avals[0].ndim == 1 else "TransposeBackward1"


def _warn_of_window(window: Any) -> None:
    if window is None:
        others = " or ".join(f"torch.{kind}_window" for kind in ("hann", "hamming"))
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to "
            f"cause spectral leakage. Other windows such as {others} are recommended to reduce "
            "spectral leakage.To suppress this warning and use a rectangular window, explicitly "
            "set `window=torch.ones(n_fft, device=<device>)`."
        )


@op(
    aten="stft",
    strides="columns if return_complex",
    native=False,
    home="functional",
    node=_node_of_stft,
    autocast="cpu float32",
    dispatched="in parts",
    warns=_warn_of_window,
)
@schemas(
    "(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
    "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? "
    "align_to_window=None) -> Tensor",
    ".center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
    "window=None, bool center=True, "
    'str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? '
    "return_complex=None, bool? align_to_window=None) -> Tensor",
)
def stft(
    input: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: Any = True,  # PyTorch only asks whether it is true, and how to pad only then
    pad_mode: Any = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Array:
    """Fourier transforms of overlapping windows of a signal, ``hop_length`` (a quarter of
    ``n_fft``) apart.

    Shapes: input (B, L) or (L) -> (B, F, T) or (F, T), of real parts and imaginary parts in a last
    dimension unless ``return_complex``; F is ``n_fft // 2 + 1`` if ``onesided`` (the default for
    real input), else ``n_fft``.

    Dtypes: float32, float64, complex64 and complex128; the result is complex, or real without
    ``return_complex``.

    Raises:
        RuntimeError: for other dtypes, if lengths do not fit together, or ``return_complex`` is
            missing for a real signal.

    Example:
        >>> import jtorch as torch
        >>> signal = torch.tensor([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0])
        >>> torch.stft(
        ...     signal, 4, hop_length=4, center=False, window=torch.ones(4), return_complex=True
        ... ).abs()
        tensor([[0., 0.],
                [2., 2.],
                [0., 0.]])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    is_complex = jnp.iscomplexobj(input) or (window is not None and jnp.iscomplexobj(window))
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    if center:
        wide = input.reshape((1,) * (3 - input.ndim) + input.shape)
        padded = pad(wide, (n_fft // 2, n_fft // 2), pad_mode)
        input = padded.reshape(padded.shape[-input.ndim :])
    quoted = _call(
        "stft", input, "", window, n_fft=n_fft, hop_length=hop, win_length=length, window=None,
        normalized=normalized, onesided=onesided, return_complex=return_complex,
        align_to_window=align_to_window,
    )  # fmt: skip
    _check_stft(quoted, input, n_fft, hop, length, window)
    half = not is_complex if onesided is None else onesided
    if half and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if input.dtype.itemsize < 4:
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {scalar_name(input.dtype)}")
    signal = input[None] if input.ndim == 1 else input
    if align_to_window and not center:
        amount = (n_fft - length) // 2
        signal = lax.pad(signal, jnp.zeros((), signal.dtype), [(0, 0, 0), (amount, amount, 0)])
    frames = _frames(signal, n_fft, hop)
    if window is not None or length < n_fft:
        full = jnp.ones(length, input.dtype) if window is None else window
        frames, full = _common(frames, _centred(full, n_fft))
        frames = frames * full.reshape(1, 1, -1)
    scale = float(1 / np.sqrt(n_fft)) if normalized else 1.0
    spectra = (
        _scaled(_r2c(frames, (2,)), scale)
        if half
        else _c2c(_complex(frames), (2,), "ortho" if normalized else None, False)
    )
    result = jnp.swapaxes(spectra, 1, 2)
    result = result[0] if input.ndim == 1 else result
    return (
        result
        if return_complex in (True, None)
        else jnp.stack([jnp.real(result), jnp.imag(result)], -1)
    )


def _check_stft(
    quoted: str, input: Array, n_fft: int, hop: int, length: int, window: Array | None
) -> None:
    if dtypes.from_np(input.dtype).category < dtypes.FLOATING:
        raise RuntimeError(f"{quoted}: expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{quoted}: expected a 1D or 2D tensor")
    if not 0 < n_fft <= input.shape[-1]:
        raise RuntimeError(
            f"{quoted}: expected 0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}"
        )
    if hop <= 0:
        raise RuntimeError(f"{quoted}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(
            f"{quoted}: expected 0 < win_length <= n_fft, but got win_length={length}"
        )
    if window is not None and window.shape != (length,):
        raise RuntimeError(
            f"{quoted}: expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {list(window.shape)}"
        )


def _warn_of_inverse(
    input: Tensor, n_fft: int, hop_length: int | None, center: bool, length: int | None, window: Any
) -> None:
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the "
            "same window used by stft to make the inversion lossless.To suppress this warning and "
            "use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )
    if length is not None and input.ndim > 1:
        hop = n_fft // 4 if hop_length is None else hop_length
        start = n_fft // 2 if center else 0
        if start + length > n_fft + hop * (input.shape[-1] - 1):
            warn_once(
                "The length of signal is shorter than the length parameter. Result is being padded "
                "with zeros in the tail. Please check your center and hop_length settings."
            )


@op(
    aten="istft",
    native=("istft",),
    home="functional",
    node=lambda made: "SqueezeBackward1" if made.ndims[0] == 2 else "DivBackward0",
    dispatched="in parts",
    warns=_warn_of_inverse,
)
def istft(
    input: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Array:
    """The signal whose ``stft`` is nearest to ``input``: windows are added up where they overlap,
    and divided by their squares' sum.

    Shapes: input (B, F, T) or (F, T), complex -> (B, L) or (L).

    Dtypes: complex64 and complex128 -> real, or complex if ``return_complex``.

    Raises:
        RuntimeError: for real tensors, if lengths do not fit together, or the windows leave a gap.
        IndexError: for fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> signal, window = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.ones(2)
        >>> spectrum = torch.stft(signal, 2, hop_length=1, window=window, return_complex=True)
        >>> torch.istft(spectrum, 2, hop_length=1, window=window)
        tensor([1., 2., 3., 4.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    quoted = _call(
        "istft", input, "CPU", window, n_fft=n_fft, hop_length=hop, win_length=size, window=None,
        center=center, normalized=normalized, onesided=onesided, length=length,
        return_complex=return_complex,
    )  # fmt: skip
    if not jnp.iscomplexobj(input):
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if input.ndim < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim - 1}, "
            f"{input.ndim}], but got -3)"
        )
    half = n_fft != input.shape[-2] if onesided is None else onesided
    _check_istft(quoted, input, n_fft, hop, size, window, half, return_complex)
    spectra = jnp.swapaxes(input[None] if input.ndim == 2 else input, 1, 2)
    real = np.float32 if input.dtype == np.complex64 else np.float64
    full = _centred(jnp.ones(size, real) if window is None else window, n_fft)
    norm = "ortho" if normalized else None
    if return_complex:
        frames = _c2c(spectra, (2,), norm, True)
    else:
        if not half:
            spectra = spectra[..., : n_fft // 2 + 1]
        short = n_fft // 2 + 1 - spectra.shape[2]
        spectra = lax.pad(
            spectra, jnp.zeros((), spectra.dtype), [(0, 0, 0), (0, 0, 0), (0, short, 0)]
        )
        frames = _c2r(spectra, 2, n_fft, _over_xla(norm, True, n_fft))
    frames, full = _common(frames, full)
    signal = _overlap_add(frames * full.reshape(1, 1, -1), hop)
    squares = jnp.broadcast_to(full * full, (frames.shape[1], n_fft))
    envelope = _overlap_add(squares, hop)
    expected = signal.shape[1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else expected - n_fft // 2 if center else expected
    signal, envelope = signal[:, start:end], envelope[start:end]
    if not envelope.size:
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    guard(
        jnp.min(jnp.abs(envelope)) < 1e-11,
        RuntimeError,
        f"{quoted}window overlap add min: 1\n[ CPUBoolType{{{{}}}} ]",
    )
    signal = signal / envelope[None]
    if end > expected:
        signal = lax.pad(
            signal, jnp.zeros((), signal.dtype), [(0, 0, 0), (0, end - start - signal.shape[1], 0)]
        )
    return signal[0] if input.ndim == 2 else signal


def _check_istft(
    quoted: str,
    input: Array,
    n_fft: int,
    hop: int,
    size: int,
    window: Array | None,
    half: bool,
    return_complex: bool,
) -> None:
    if not input.size:
        raise RuntimeError(f"{quoted}: input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"{quoted}: expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}"
        )
    rows = input.shape[-2]
    if half and n_fft // 2 + 1 != rows:
        raise RuntimeError(
            f"{quoted}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft / 2 + 1 when onesided=True, but got {rows}"
        )
    if not half and n_fft != rows:
        raise RuntimeError(
            f"{quoted}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft when onesided=False, but got {rows}"
        )
    if not 0 < hop <= size:
        raise RuntimeError(f"{quoted}: expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{quoted}: expected 0 < win_length <= n_fft")
    if window is not None and window.shape != (size,):
        raise RuntimeError(
            f"{quoted}: Invalid window shape. window has to be 1D and length of `win_length`"
        )
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and jnp.iscomplexobj(window):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
