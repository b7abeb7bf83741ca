"""Changing the memory format of convolution weights."""

from __future__ import annotations

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module


def _convert(module: Module, kinds: tuple[type, ...], memory_format: object) -> Module:
    for found in module.modules():
        if isinstance(found, kinds):
            found.weight.data = found.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: object) -> Module:
    """Gives the weights of all (transposed) 2-dim convolutions in ``module`` the strides of
    ``memory_format``."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: object) -> Module:
    """Gives the weights of all (transposed) 3-dim convolutions in ``module`` the strides of
    ``memory_format``."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
