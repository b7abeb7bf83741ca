"""Weights of layers that round them each time, and compute with floats."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn

_UNROUNDED: dict[str, Any] = {
    "qscheme": torch.per_tensor_affine, "dtype": torch.quint8, "scale": 1.0, "zero_point": 0,
}  # fmt: skip
_STORED = (torch.quint8, torch.qint8, torch.quint4x2, torch.qint32)
_BY_CHANNEL = (torch.per_channel_affine, torch.per_channel_affine_float_qparams)
_BOUNDS = {
    torch.quint8: (torch.uint8, 0, 255),
    torch.qint8: (torch.int8, -128, 127),
    torch.qint32: (torch.int32, -(2**31), 2**31 - 1),
}


def _kept(value: Any, dtype: Any, device: Any) -> torch.Tensor:
    """A number as a tensor of ``dtype``, or a copy of a tensor."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return torch.tensor(value, dtype=dtype, device=device)


def _name_grid(module: Any, name: str, given: dict[str, Any], device: Any, schemes: Any) -> None:
    """Gives a module the scheme, dtype, scale, zero point and axis of its weight ``name``.

    Raises:
        AssertionError: for schemes that the module does not know.
    """
    scheme, dtype = given["qscheme"], given["dtype"]
    setattr(module, f"{name}_qscheme", scheme)
    setattr(module, f"{name}_dtype", dtype)
    if scheme not in schemes:
        raise AssertionError(
            f"qscheme: {scheme} is not supported in reference quantized {module._get_name()}"
        )
    scale, zero, axis = given.get("scale", 1.0), given.get("zero_point", 0), 0
    if dtype not in _STORED:
        scale, zero = 1.0, 0
    elif scheme in _BY_CHANNEL:
        axis = given["axis"]
    module.register_buffer(f"{name}_scale", _kept(scale, torch.float, device))
    module.register_buffer(f"{name}_zero_point", _kept(zero, torch.int, device))
    module.register_buffer(f"{name}_axis", _kept(axis, torch.int, device))
    setattr(module, f"{name}_axis_int", int(axis))


def _quantized(weight: Any, scheme: Any, dtype: Any, scale: Any, zero: Any, axis: int) -> Any:
    """A weight on its grid; of halves for ``torch.float16``.

    Raises:
        ValueError: for dtypes and schemes that have no grid.
    """
    if dtype is torch.float16:
        return weight.to(dtype)
    if scheme is torch.per_tensor_affine and dtype in _BOUNDS:
        return torch.quantize_per_tensor(weight, scale, zero, dtype)
    if scheme in _BY_CHANNEL and dtype in _STORED:
        return torch.quantize_per_channel(weight, scale, zero, axis, dtype)
    raise ValueError(f"Unsupported dtype and qscheme: {dtype}, {scheme}")


def _rounded(weight: Any, scheme: Any, dtype: Any, scale: Any, zero: Any, axis: int) -> Any:
    """A weight rounded to its grid; as it is without one."""
    if scheme is not torch.per_tensor_affine and scheme not in _BY_CHANNEL:
        return weight
    # Halves are not dequantised but widened, as PyTorch's `dequantize` does it.
    found = _quantized(weight, scheme, dtype, scale, zero, axis)
    return found.float() if dtype is torch.float16 else found.dequantize()


def _grid_of(module: Any, name: str) -> tuple[Any, ...]:
    ends = ("qscheme", "dtype", "scale", "zero_point", "axis_int")
    return tuple(getattr(module, f"{name}_{end}", None) for end in ends)


class ReferenceQuantizedModule(nn.Module):
    """Base of layers that round their ``weight`` to a grid each time and compute with floats."""

    weight: Any
    weight_scale: torch.Tensor
    weight_zero_point: torch.Tensor
    weight_axis: torch.Tensor
    weight_qscheme: Any
    weight_dtype: Any
    weight_axis_int: int

    def _init_weight_qparams(self, weight_qparams: dict[str, Any] | None, device: Any) -> None:
        given = weight_qparams or _UNROUNDED
        _name_grid(self, "weight", given, device, (None, torch.per_tensor_affine, *_BY_CHANNEL))
        self.is_decomposed: bool = given.get("is_decomposed", False)
        self.weight_quant_min: int | None = given.get("quant_min")
        self.weight_quant_max: int | None = given.get("quant_max")

    def _decomposed(self) -> tuple[Any, list[Any], str]:
        """The integers of the weight, the rest of the arguments and the end of the operators'
        names."""
        by_channel = self.weight_qscheme in _BY_CHANNEL
        if self.weight_dtype not in _BOUNDS or (
            not by_channel and self.weight_qscheme is not torch.per_tensor_affine
        ):
            raise ValueError(
                f"Unsupported dtype and qscheme: {self.weight_dtype}, {self.weight_qscheme}"
            )
        dtype, low, high = _BOUNDS[self.weight_dtype]
        if self.weight_quant_min is not None and self.weight_quant_max is not None:
            low, high = self.weight_quant_min, self.weight_quant_max
        axis = [self.weight_axis_int] if by_channel else []
        rest = [self.weight_scale, self.weight_zero_point, *axis, low, high, dtype]
        end = "per_channel" if by_channel else "per_tensor"
        quantize = getattr(torch.ops.quantized_decomposed, f"quantize_{end}")
        return quantize(self.weight, *rest), rest, end

    def get_weight(self) -> torch.Tensor:
        """The weight, rounded."""
        if self.is_decomposed and self.weight_qscheme is not None:
            ints, rest, end = self._decomposed()
            return getattr(torch.ops.quantized_decomposed, f"dequantize_{end}")(ints, *rest)
        return _rounded(self.weight, *_grid_of(self, "weight"))

    def get_quantized_weight(self) -> torch.Tensor:
        """The weight on its grid."""
        if self.is_decomposed:
            return self._decomposed()[0]
        return _quantized(self.weight, *_grid_of(self, "weight"))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight_qscheme"] = self.weight_qscheme
        destination[prefix + "weight_dtype"] = self.weight_dtype
        if self.weight_qscheme is not None:
            destination[prefix + "weight_scale"] = self.weight_scale
            destination[prefix + "weight_zero_point"] = self.weight_zero_point
            if self.weight_qscheme is torch.per_channel_affine:
                destination[prefix + "weight_axis"] = self.weight_axis

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        names = ["qscheme", "dtype"]
        if state_dict[prefix + "weight_qscheme"] is not None:
            names += ["scale", "zero_point"]
        for name in names:
            setattr(self, f"weight_{name}", state_dict.pop(f"{prefix}weight_{name}"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)


def _with_weights(made: Any, mod: Any) -> Any:
    """A layer with the weight and bias of another."""
    made.weight = nn.Parameter(mod.weight.detach())
    if mod.bias is not None:
        made.bias = nn.Parameter(mod.bias.detach())
    return made
