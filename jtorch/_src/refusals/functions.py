"""Everything of PyTorch's functions and methods that is left out: one list, with the reason of
each. Using one raises NotImplementedError.

The entries keep PyTorch's names and parameters, so that programs can import, override and inspect
them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..facts.devices import FACTORIES
from ..facts.dtypes import bfloat16
from ..facts.errors import not_offered
from ..keeping import code as _code_cache
from ..protocol.overridable import specialise
from ..protocol.withheld import give_signature

if TYPE_CHECKING:
    from ..facts.kinds import Named


_QUANTISED = (
    "it is an entry of PyTorch's kernels for quantised tensors; use the layers of "
    "torch.ao.nn.quantized, or the function without the prefix"
)
_FBGEMM = (
    "it is an entry of FBGEMM, PyTorch's library of quantised matrix products on Intel processors"
)
_MKLDNN = "it is an entry of MKL-DNN, which XLA stands in for; use the function without the prefix"
_CUDNN = (
    "it is an entry of cuDNN, which XLA calls where it is faster; use the function without the "
    "prefix"
)
_MIOPEN = (
    "it is an entry of MIOpen, which XLA calls where it is faster; use the function without the "
    "prefix"
)
_TORCHSCRIPT = "it is part of TorchScript's compiler, whose place jax.jit and jtorch.compile take"
_EXPORT = "it marks symbolic sizes for PyTorch's exporter; sizes are numbers here"
_SPARSE_KERNEL = (
    "it is a kernel of PyTorch's sparse backend; use the public function that it stands under"
)
_NESTED = "only nested tensors have it: make them with torch.nested"
_HALF_COMPLEX = "JAX has no complex numbers of half precision"
_FIRST_CLASS_DIMS = (
    "it indexes by first-class dimensions, which are left out; use Tensor.__getitem__"
)
_VIEW_REPLAY = (
    "it replays a view on another base, which PyTorch's functionalisation needs; views are "
    "recorded otherwise here"
)
_PHILOX = (
    "it draws from CUDA's generator by its key; use Tensor.normal_ and Tensor.uniform_ with a "
    "generator"
)
_DTENSOR = "it builds PyTorch's DTensor; arrays carry their sharding themselves here"
_PICKLING = "it is a part of PyTorch's pickling; use Tensor.__reduce_ex__ or save"
_SCALED = (
    "it multiplies float8 blocks by their scales in one CUDA kernel; multiply by the scales and "
    "use matmul or grouped_mm"
)
_DEVICE = "XLA has no such device"

_RNN_CELL = """input, hx, w_ih, w_hh, b_ih, b_hh, packed_ih, packed_hh, col_offsets_ih, \
col_offsets_hh, scale_ih, scale_hh, zero_point_ih,
    zero_point_hh"""
_SCALES = (
    "mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, "
    "swizzle_b=None, bias=None"
)

#: Reason -> names with their parameters, one a line.
LEFT_OUT: dict[str, str] = {
    _QUANTISED: f"""
        choose_qparams_optimized(input, numel, n_bins, ratio, bit_width)
        empty_quantized(size, qtensor, *, memory_format=None, dtype=None, layout=None, \
device=None, pin_memory=False, requires_grad=False)
        quantized_batch_norm(input, weight, bias, mean, var, eps, output_scale, output_zero_point)
        quantized_gru(*args, **kwargs)
        quantized_lstm(*args, **kwargs)
        quantized_gru_cell({_RNN_CELL})
        quantized_lstm_cell({_RNN_CELL})
        quantized_rnn_relu_cell({_RNN_CELL})
        quantized_rnn_tanh_cell({_RNN_CELL})
        quantized_max_pool1d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)
        quantized_max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)
        quantized_max_pool3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)
    """,
    _FBGEMM: """
        fbgemm_linear_fp16_weight(input, packed_weight, bias, output=None)
        fbgemm_linear_fp16_weight_fp32_activation(input, packed_weight, bias, output=None)
        fbgemm_linear_int8_weight(input, weight, packed, col_offsets, weight_scale, \
weight_zero_point, bias)
        fbgemm_linear_int8_weight_fp32_activation(input, weight, packed, col_offsets, \
weight_scale, weight_zero_point, bias)
        fbgemm_linear_quantize_weight(input)
        fbgemm_pack_gemm_matrix_fp16(input)
        fbgemm_pack_quantized_matrix(input, K=None, N=None)
    """,
    _MKLDNN: """
        mkldnn_adaptive_avg_pool2d(input, output_size, *, out=None)
        mkldnn_convolution(input, weight, bias, padding, stride, dilation, groups)
        mkldnn_linear_backward_weights(grad_output, input, weight, bias_defined)
        mkldnn_max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)
        mkldnn_max_pool3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)
        mkldnn_rnn_layer(input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, \
batch_sizes, mode, hidden_size,
            num_layers, has_biases, bidirectional, batch_first, train)
    """,
    _CUDNN: """
        cudnn_affine_grid_generator(theta, N, C, H, W)
        cudnn_batch_norm(input, weight, bias, running_mean, running_var, training, \
exponential_average_factor, epsilon, *, out=None)
        cudnn_convolution(input, weight, padding, stride, dilation, groups, benchmark, \
deterministic, allow_tf32, *, out=None)
        cudnn_convolution_add_relu(input, weight, z, alpha, bias, stride, padding, dilation, groups)
        cudnn_convolution_relu(input, weight, bias, stride, padding, dilation, groups)
        cudnn_convolution_transpose(input, weight, padding, output_padding, stride, dilation, \
groups, benchmark, deterministic, allow_tf32)
        cudnn_grid_sampler(input, grid)
        cudnn_is_acceptable(input)
    """,
    _MIOPEN: """
        miopen_batch_norm(input, weight, bias, running_mean, running_var, training, \
exponential_average_factor, epsilon)
        miopen_convolution(input, weight, bias, padding, stride, dilation, groups, benchmark, \
deterministic)
        miopen_convolution_add_relu(input, weight, z, alpha, bias, stride, padding, dilation, \
groups)
        miopen_convolution_relu(input, weight, bias, stride, padding, dilation, groups)
        miopen_convolution_transpose(input, weight, bias, padding, output_padding, stride, \
dilation, groups, benchmark, deterministic)
        miopen_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, deterministic, \
zero_infinity)
        miopen_depthwise_convolution(input, weight, bias, padding, stride, dilation, groups, \
benchmark, deterministic)
        miopen_rnn(input, weight, weight_stride0, hx, cx, mode, hidden_size, num_layers, \
batch_first, dropout, train,
            bidirectional, batch_sizes, dropout_state)
    """,
    _TORCHSCRIPT: """
        import_ir_module(*args, **kwargs)
        import_ir_module_from_buffer(*args, **kwargs)
        merge_type_from_type_comment(*args, **kwargs)
        parse_ir(*args, **kwargs)
        parse_schema(*args, **kwargs)
        parse_type_comment(*args, **kwargs)
        unify_type_list(*args, **kwargs)
    """,
    _EXPORT: """
        _functional_sym_constrain_range(size, min, max, dep_token)
        _make_dep_token(*, memory_format=None, dtype=None, layout=None, device=None, \
pin_memory=False, requires_grad=False)
    """,
    _SPARSE_KERNEL: """
        native_norm(input, p=2, dim=None, keepdim=False, dtype=None)
        Tensor._sparse_mask_projection(self, mask, accumulate_matches=False)
        Tensor._to_dense(self, dtype=None, masked_grad=None)
        Tensor._to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None)
        Tensor._to_sparse_bsc(self, blocksize, dense_dim=None)
        Tensor._to_sparse_bsr(self, blocksize, dense_dim=None)
        Tensor._to_sparse_csc(self, dense_dim=None)
        Tensor._to_sparse_csr(self, dense_dim=None)
    """,
    _NESTED: """
        Tensor._nested_tensor_size(self)
        Tensor._nested_tensor_storage_offsets(self)
        Tensor._nested_tensor_strides(self)
        Tensor.to_padded_tensor(self, padding, output_size=None)
    """,
    _HALF_COMPLEX: """
        Tensor.chalf(self, *, memory_format=None)
    """,
    _FIRST_CLASS_DIMS: """
        Tensor.index(self, positions, dims)
    """,
    _VIEW_REPLAY: """
        Tensor._view_func(self, new_base)
        Tensor._view_func_unsafe(self, new_base, symint_visitor_fn=None, tensor_visitor_fn=None)
        Tensor._rev_view_func_unsafe(self, new_base)
    """,
    _PHILOX: """
        Tensor._philox_normal_(self, key, mean=0, std=1)
        Tensor._philox_uniform_(self, key, low=0, high=1)
    """,
    _DTENSOR: """
        Tensor._dtensor__new__(cls, local_tensor, spec, requires_grad)
    """,
    _PICKLING: """
        Tensor._reduce_ex_internal(self, proto)
    """,
    _SCALED: f"""
        nn.functional.scaled_grouped_mm({_SCALES}, offs=None, output_dtype=bfloat16, \
contraction_dim=(), use_fast_accum=False)
    """,
    _DEVICE: """
        Tensor.ipu(self, device=None, non_blocking=False, memory_format=None)
        Tensor.mtia(self, device=None, non_blocking=False, memory_format=None)
        Tensor.xpu(self, device=None, non_blocking=False, memory_format=None)
    """,
}  # fmt: skip


def entries() -> dict[str, tuple[str, str]]:
    """Path (``int_repr``, ``Tensor.qscheme``) -> its parameters as text, and the reason."""
    found = {}
    for reason, lines in LEFT_OUT.items():
        text = ""
        for line in lines.strip().splitlines():  # parameters may go on in the next line
            text = f"{text} {line.strip()}".strip()
            if text.endswith(")"):
                path, _, parameters = text[:-1].partition("(")
                found[path] = (parameters, reason)
                text = ""
    return found


def _refuser(path: str, like: Callable[..., object], reason: str) -> Callable[..., object]:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise not_offered(path if path.startswith("Tensor.") else f"torch.{path}", reason)

    refuse.__doc__ = (
        f"Not offered: {reason}.\n\nRaises:\n    NotImplementedError: always, with the reason."
    )
    made = specialise(refuse, f"torch.{path}")
    signature = inspect.signature(like)
    give_signature(made, signature)
    if "pin_memory" in signature.parameters and not path.startswith("Tensor."):
        FACTORIES.add(made)
    return made


def public() -> dict[str, Callable[..., object]]:
    """The callables by path, each of which asks handlers first and then raises."""
    found = entries()
    signatures: Named = {"bfloat16": bfloat16}
    text = "".join(
        f"def f{i}({parameters}): ...\n" for i, (parameters, _) in enumerate(found.values())
    )
    exec(_code_cache.compiled(text, "<signatures of what is not offered>"), signatures)
    return {
        path: _refuser(path, signatures[f"f{i}"], reason)
        for i, (path, (_, reason)) in enumerate(found.items())
    }
