"""An observer that counts values in bins, and leaves out those at the ends whose loss costs less
than coarser steps would."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import jtorch as torch

from ._observer_bases import _EPS, UniformQuantizationObserverBase, _options
from .utils import is_per_tensor

_F = np.float32
_STEP = 1e-5


class HistogramObserver(UniformQuantizationObserverBase):
    """Counts values in bins of even width; the grid is for the part of them whose rounding costs
    least.

    Args:
        bins: how many bins there are.

    Raises:
        NotImplementedError: for schemes with a grid for each channel, and dynamic quantisation.
    """

    histogram: torch.Tensor
    min_val: torch.Tensor
    max_val: torch.Tensor

    def __init__(
        self,
        bins: int = 2048,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: Any = None,
        quant_max: Any = None,
        factory_kwargs: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric and "
                "torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic,
            **kwargs,
        )  # fmt: skip
        self.bins = bins
        self.upsample_rate = 16
        self.dst_nbins = 2 ** torch.iinfo(dtype).bits
        options = _options(factory_kwargs)
        self.register_buffer("histogram", torch.zeros(bins, **options))
        self.register_buffer("min_val", torch.tensor(float("inf"), **options))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **options))

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """Counts a value's elements, and gives the value back."""
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach()
        low, high = torch.aminmax(x)
        if torch.isinf(low) or torch.isinf(high):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            return x_orig
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, low, high)
            return x_orig
        new_low, new_high = torch.min(self.min_val, low), torch.max(self.max_val, high)
        counts = torch.histc(x, self.bins, min=float(new_low), max=float(new_high))
        if new_low == self.min_val and new_high == self.max_val:
            counts = self.histogram + counts
        else:
            counts = counts + self._moved(new_low, new_high)
        self._set(counts, new_low, new_high)
        return x_orig

    def _set(self, counts: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> None:
        self.histogram.resize_(counts.shape)
        self.histogram.copy_(counts)
        for buffer, value in ((self.min_val, low), (self.max_val, high)):
            buffer.resize_(value.shape)
            buffer.copy_(value)

    def reset_histogram(self, x: Any, min_val: Any, max_val: Any) -> None:
        """Begins anew with the counts of one value."""
        counts = torch.histc(x.to(torch.float32), self.bins, min=float(min_val), max=float(max_val))
        self._set(counts, min_val, max_val)

    def _moved(self, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        """The counts so far in the bins of a wider range."""
        old_low, old_high = self.min_val, self.max_val
        if old_low == old_high:
            at = torch.histc(old_low, self.bins, min=float(low), max=float(high))
            return at * torch.sum(self.histogram)
        rate, bins = self.upsample_rate, self.bins
        fine = self.histogram.repeat_interleave(rate) / rate
        width = (old_high - old_low) / (bins * rate)
        middles = torch.linspace(float(old_low), float(old_high), bins * rate + 1)[:-1]
        edges = torch.linspace(float(low), float(high), bins + 1)
        at = torch.bucketize(middles + 0.5 * width, edges, right=True) - 1
        return torch.bincount(at.clamp(0, bins - 1), weights=fine, minlength=bins)

    def calculate_qparams(self) -> Any:
        """Scale and zero point for the part of the range that costs least."""
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            warnings.warn(
                "must run observer before calling calculate_qparams.                              "
                "      Returning default scale and zero point ",
                stacklevel=2,
            )
            return torch.tensor([1.0]), torch.tensor([0])
        if self.bins != len(self.histogram):
            raise AssertionError(
                "The number of bins in histogram should be equal to the number of bins supplied "
                "while making this observer"
            )
        return self._calculate_qparams(*self._non_linear_param_search())

    def _norms(self, counts: np.ndarray, width: np.float32, start: int, end: int) -> float:
        """The squared error of rounding all counts to the steps of a part of the bins."""
        step = _F(width * (end - start + 1) / self.dst_nbins)
        if step == 0:
            return 0.0
        last = self.dst_nbins - 1
        begin = ((np.arange(self.bins) - start).astype(_F) * width).astype(_F)
        stop = begin + width
        at_begin = np.clip(np.floor(begin / step), 0, last)
        at_stop = np.clip(np.floor(stop / step), 0, last)
        density = counts / width
        half = _F(step / 2)

        def cubes(low: Any, high: Any) -> Any:
            return density * ((high * high * high - low * low * low) / _F(3))

        found = cubes(begin - (at_begin + _F(0.5)) * step, half)
        found = found + (at_stop - at_begin - 1) * cubes(-half, half)
        found = found + cubes(-half, stop - (at_stop * step + half))
        return float(np.sum(found, dtype=_F))

    def _non_linear_param_search(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The bounds to keep: the ends are moved inwards, the one whose bins hold less first, until
        the error grows."""
        counts = self.histogram.detach().cpu().numpy().astype(_F)
        width = _F(((self.max_val - self.min_val) / self.bins).item())
        total, sums = counts.sum(dtype=_F), np.cumsum(counts, dtype=_F)
        alpha, beta, start, end, least = 0.0, 1.0, 0, self.bins - 1, float("inf")
        while alpha < beta:
            next_alpha, next_beta = alpha + _STEP, beta - _STEP
            low, high = _F(next_alpha) * total, _F(next_beta) * total
            left = start + int(np.searchsorted(sums[start:end], low, side="left"))
            above = int(np.searchsorted(sums[start + 1 : end + 1], high, side="right"))
            right = start + above
            next_start, next_end = start, end
            if left - start > end - right:
                next_start, alpha = left, next_alpha
            else:
                next_end, beta = right, next_beta
            if (next_start, next_end) == (start, end):
                continue
            error = self._norms(counts, width, next_start, next_end)
            if error > least:
                break
            least, start, end = error, next_start, next_end
        step = torch.tensor(width.item())
        return self.min_val + step * start, self.min_val + step * (end + 1)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        for name in ("min_val", "max_val"):
            key = prefix + name
            old = (version is None or version < 3) and key in state_dict
            if old and state_dict[key].shape == torch.Size([0]):
                state_dict[key] = torch.tensor(float("inf" if name == "min_val" else "-inf"))
            if key in state_dict:
                getattr(self, name).resize_(state_dict[key].shape)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def reset_min_max_vals(self) -> None:
        """Forgets the range."""
        self.min_val.copy_(torch.tensor(float("inf")))
        self.max_val.copy_(torch.tensor(float("-inf")))

    def extra_repr(self) -> str:
        """The range."""
        return f"min_val={self.min_val}, max_val={self.max_val}"
