"""What torch calls the nodes of its graph: ``MulBackward0``.

Most names are the operation's in capitals. Where torch has several derivatives for one function they are numbered; functions that torch
composes of others carry the name of the last of them, although they are one node here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def camel(name: str) -> str:
    """``log_softmax`` as ``LogSoftmax``; a letter after a digit is a capital too: ``Log1P``."""
    words = "".join(w[:1].upper() + w[1:] for w in name.strip("_").split("_"))
    return re.sub(r"\d[a-z]", lambda m: m[0].upper(), words)


class Made:
    """The call that a node records: what was given for its parameters, the avals of its operands, and which of these require grad."""

    def __init__(self, node: Any) -> None:
        info = node.call.extra
        self.layout: dict[str, Any] = {p.name: entry for p, entry in zip(info.op.params, info.layout, strict=False)}
        self.avals = node.avals
        self.needs = [e is not None for e in node.edges]
        self.namespace: str = info.op.namespace

    def given(self, name: str) -> Any:
        """A fixed argument's value, ``"T"`` for a tensor, None where nothing was given."""
        entry = self.layout.get(name)
        return getattr(entry, "value", entry)


Rule = Callable[[Made], str]


def _along(name: str) -> Rule:
    """A reduction: another derivative where dimensions are given."""
    return lambda made: f"{name}Backward{0 if made.given('dim') is None else 1}"


def _operand(name: str, argument: str, tensor: int, number: int) -> Rule:
    """``name`` with one number if ``argument`` is a tensor, another if it is a Python number."""
    return lambda made: f"{name}Backward{tensor if made.layout.get(argument) == 'T' else number}"


def _quotient(made: Made) -> str:
    if made.given("rounding_mode"):
        return "DivBackward2"
    return "DivBackward0" if made.layout.get("input") == "T" else "MulBackward0"  # a number divided: by the reciprocal


def _power(made: Made) -> str:
    if made.layout.get("exponent") != "T":
        return "PowBackward0"
    return "PowBackward1" if made.layout.get("input", made.layout.get("self")) == "T" else "PowBackward2"


def _product(made: Made) -> str:
    (a, b), (left, right) = (v.shape for v in made.avals[:2]), made.needs[:2]
    if len(a) == 1 and len(b) == 1:
        return "DotBackward0"
    if len(a) == 2 and len(b) == 1:
        return "MvBackward0"
    if len(a) == 2 and len(b) == 2:
        return "MmBackward0"
    if len(a) == 1 and len(b) == 2:
        return "SqueezeBackward4"
    # A single matrix before a batch is multiplied with it folded and transposed, and the result is copied into order.
    single = len(a) == 2 or (len(a) == 3 and a[0] == 1 and b[0] > 1)
    if single and len(b) > 2 and left:
        return "CloneBackward0" if right or 0 not in b else "TransposeBackward0"
    return "UnsafeViewBackward0"


def _linear(made: Made) -> str:
    a, b = made.avals[0].ndim, made.avals[1].ndim
    if len(made.avals) > 2:
        return "AddmmBackward0" if a == 2 else "ViewBackward0"
    if b == 1:
        return {1: "DotBackward0", 2: "MvBackward0"}.get(a, "UnsafeViewBackward0")
    return {1: "SqueezeBackward4", 2: "MmBackward0"}.get(a, "UnsafeViewBackward0")


def _inner(made: Made) -> str:
    return "ViewBackward0" if made.avals[0].ndim and made.avals[1].ndim else "MulBackward0"


def _reduced(none: str | Rule) -> Rule:
    """The name of a loss: that of its reduction."""
    ends = {"mean": "MeanBackward0", "sum": "SumBackward0", "batchmean": "DivBackward0"}
    return lambda made: ends.get(str(made.given("reduction") or "mean")) or (none if isinstance(none, str) else none(made))


def _entropy(made: Made) -> str:
    """Of class indices or probabilities, with smoothed labels or without."""
    none, mean = made.given("reduction") == "none", made.given("reduction") in (None, "mean")
    if made.avals[1].differentiable:
        return "DivBackward1" if mean else "NegBackward0"
    if made.given("label_smoothing"):
        return "AddBackward0"
    return _likelihood(made, none and made.avals[0].ndim == 4)


def _likelihood(made: Made, plain: bool = False) -> str:
    n = made.avals[0].ndim
    if n < 3:
        return "NllLossBackward0"
    return "ViewBackward0" if made.given("reduction") == "none" and (n != 4 or plain) else "NllLoss2DBackward0"


def _pad(made: Made) -> str:
    mode = made.given("mode") or "constant"
    n = len(made.given("pad") or ()) // 2
    return {"reflect": f"ReflectionPad{n}DBackward0", "replicate": f"ReplicationPad{n}DBackward0", "circular": "CopySlices"}.get(
        str(mode), "ConstantPadNdBackward0"
    )


def _interpolate(made: Made) -> str:
    kinds = {"nearest": "Nearest", "nearest-exact": "NearestExact", "bilinear": "Bilinear", "bicubic": "Bicubic", "linear": "Linear"}
    mode, n = str(made.given("mode") or "nearest"), made.avals[0].ndim - 2
    if mode == "area":
        return "SqueezeBackward1" if n == 1 else f"AdaptiveAvgPool{n}DBackward0"
    antialias = "Aa" if made.given("antialias") else ""
    return f"Upsample{kinds.get(mode, mode.capitalize())}{n}D{antialias}Backward0"


def _convolution(n: int) -> Rule:
    def rule(made: Made) -> str:
        if made.avals[0].ndim == n + 1:
            return "SqueezeBackward1"
        return "AddBackward0" if made.avals[0].torch_dtype.is_complex else "ConvolutionBackward0"

    return rule


def _complex(made: Made) -> bool:
    return made.avals[0].torch_dtype.is_complex


def _transform(real: str, dims: str = "dim") -> Rule:
    """A Fourier transform of complex numbers, or of real ones: then ``real`` if it is along one dimension only."""

    def rule(made: Made) -> str:
        if _complex(made):
            return "FftC2CBackward0"
        several = made.given(dims)
        if several is None:
            several = made.given("s") or range(made.avals[0].ndim)
        return real if isinstance(several, int) or len(several) == 1 else "FftC2CBackward0"

    return rule


def _fft(made: Made) -> str:
    return "FftC2CBackward0" if _complex(made) else "FftR2CBackward0"


def _matrix_norm(made: Made) -> str:
    order = made.given("ord")
    if order in (None, "fro"):
        return "LinalgVectorNormBackward0"
    if made.given("keepdim") and order in ("nuc", 2, -2):
        return "PermuteBackward0"
    return "SumBackward1" if order == "nuc" else "AmaxBackward0" if float(order) > 0 else "AminBackward0"


def _condition(made: Made) -> str:
    order = made.given("p")
    return "SqueezeBackward1" if order in (None, 2, -2) else "MulBackward0" if order == "nuc" else "NanToNumBackward0"


def _distances(made: Made) -> str:
    mode = made.given("compute_mode")
    many = max(v.shape[-2] for v in made.avals[:2]) > 25
    product = many if mode in (None, "use_mm_for_euclid_dist_if_necessary") else mode == "use_mm_for_euclid_dist"
    return "ViewBackward0" if product and made.given("p") in (None, 2) else "CdistBackward0"


def _spectrogram(made: Made) -> str:
    if not made.given("return_complex") and (made.given("return_complex") is False or not _complex(made)):
        return "ViewAsRealBackward0"
    return "SqueezeBackward4" if made.avals[0].ndim == 1 else "TransposeBackward1"


def _attention(made: Made) -> str:
    mask = made.layout.get("attn_mask") == "T" and made.needs[3]
    fused = made.avals[0].ndim == 4 and made.layout.get("keep") != "T" and not mask
    return "ScaledDotProductFlashAttentionForCpuBackward0" if fused else "UnsafeViewBackward0"


def _power_of_matrix(made: Made) -> str:
    n = made.given("n")
    return {0: "CopyBackwards", 1: "CloneBackward0"}.get(n, "MmBackward0" if made.avals[0].ndim == 2 else "UnsafeViewBackward0")


def _recurrent(made: Made) -> str:
    if made.given("bidirectional"):
        return "CatBackward0"
    return "TransposeBackward1" if made.given("batch_first") else "StackBackward0"


def _filled(made: Made) -> str:
    return "FillBackward3" if made.layout.get("value") == "T" else "FillBackward2"


def _is(name: str) -> Rule:
    return lambda _: name


_SAME = {
    "AddBackward0": "accumulate alpha_dropout gru_cell",
    "AsStridedBackward0": "as_strided_part memory",
    "ClampMinBackward0": "clip_min",
    "CatBackward0": "column_stack hstack vstack dstack row_stack concatenate vander",
    "DiagEmbedBackward0": "diagflat",
    "DivBackward0": "true_divide divide softsign nanmean local_response_norm",
    "EluBackward0": "selu",
    "FftC2RBackward0": "hfft hfft2 hfftn irfft irfft2 irfftn",
    "FftR2CBackward0": "rfft rfft2 rfftn",
    "FlipBackward0": "fliplr flipud",
    "GatherBackward0": "take_along_dim",
    "HardtanhBackward0": "relu6",
    "Col2ImBackward0": "fold",
    "NotImplemented": "floor_divide drawn_without_rule",
    "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0": "fake_quantize",
    "FakeQuantizePerChannelAffineCachemaskBackward0": "fake_quantize_per_channel_affine",
    "ReluBackward0": "rnn_relu_cell",
    "TanhBackward0": "rnn_tanh_cell",
    "ToDenseBackward0": "coo_dense",
    "SparseMaskBackward0": "coo_pick",
    "AdaptiveMaxPool2DBackward0": "adaptive_max_pool2d_with_indices",
    "AdaptiveMaxPool3DBackward0": "adaptive_max_pool3d_with_indices",
    "LinalgCholeskyExBackward0": "cholesky_ex",
    "LinalgCrossBackward0": "cross",
    "LinalgDetBackward0": "det",
    "LinalgEigBackward0": "eig eigvals",
    "LinalgEighBackward0": "eigh eigvalsh",
    "LinalgHouseholderProductBackward0": "householder_product orgqr",
    "LinalgInvExBackward0": "inv inv_ex inverse",
    "LinalgLuBackward0": "lu",
    "LinalgLuFactorExBackward0": "lu_factor lu_factor_ex",
    "LinalgLuSolveBackward0": "lu_solve",
    "LinalgMatrixExpBackward0": "matrix_exp",
    "LinalgPinvBackward0": "pinverse pinv",
    "LinalgQrBackward0": "qr",
    "LinalgSlogdetBackward0": "slogdet",
    "LinalgSolveExBackward0": "solve solve_ex",
    "LinalgSolveTriangularBackward0": "solve_triangular",
    "LinalgSvdBackward0": "svd svdvals",
    "LinalgVectorNormBackward0": "vector_norm",
    "LogSigmoidBackward0": "logsigmoid",
    "IndexBackward0": "index_flat",
    "IndexPutBackward0": "index_put_flat masked_write",
    "MaxBackward0": "max_dim",
    "MaxBackward1": "max_all",
    "MaxPool2DWithIndicesBackward0": "max_pool2d",
    "MaxPool3DWithIndicesBackward0": "max_pool3d",
    "MedianBackward0": "median_all",
    "MedianBackward1": "median_dim",
    "MinBackward0": "min_dim",
    "MinBackward1": "min_all",
    "MulBackward0": "multiply outer ger dropout rms_norm lstm_cell",
    "NanmedianBackward0": "nanmedian_all",
    "NanmedianBackward1": "nanmedian_dim",
    "NativeBatchNormBackward0": "batch_norm_train batch_norm_eval batch_norm",
    "NativeGroupNormBackward0": "group_norm",
    "NativeLayerNormBackward0": "layer_norm",
    "NormalBackward3": "drawn",
    "PermuteBackward0": "movedim moveaxis",
    "PowBackward1": "float_power",
    "PreluKernelBackward0": "prelu",
    "RepeatBackward0": "tile",
    "RollBackward0": "fftshift ifftshift",
    "SelectBackward0": "select_at",
    "SliceBackward0": "slice_at",
    "SortBackward0": "msort",
    "PowBackward0": "square lp_pool1d lp_pool2d lp_pool3d",
    "SqueezeBackward1": "avg_pool1d max_pool1d adaptive_avg_pool1d adaptive_max_pool1d max_unpool1d adaptive_max_pool1d_with_indices "
    "max_pool1d_with_indices",
    "SqueezeBackward4": "quantile nanquantile",
    "StackBackward0": "combinations cartesian_prod",
    "SubBackward0": "subtract tanhshrink diff",
    "SumBackward1": "cosine_similarity",
    "UnsafeViewBackward0": "kron",
    "ViewBackward0": "view_shape tensordot multi_dot repeat_interleave_each",
    "MulBackward1": "trapezoid_dx ndtr",
    "DivBackward1": "trapezoid_x cumulative_trapezoid_x",
    "CumsumBackward0": "cumulative_trapezoid_dx",
}

NAMES: dict[str, Rule] = {name: _is(label.strip()) for label, names in _SAME.items() for name in names.split()}
NAMES |= {f"conv{t}{n}d": _convolution(n) for t in ("", "_transpose") for n in (1, 2, 3)}
NAMES |= {
    name: (lambda _, name=name: f"Special{camel(name)}Backward0")
    for name in ("i0e", "i1", "i1e", "xlog1py", "entr", "ndtri", "log_ndtr", "erfcx")
}
NAMES |= {
    "clamp": lambda made: f"ClampBackward{0 if 'T' in (made.layout.get('min'), made.layout.get('max')) else 1}",
    "clamp_max": _operand("ClampMax", "max", 1, 0),
    "clamp_min": _operand("ClampMin", "min", 1, 0),
    "cross_entropy": _entropy,
    "nll_loss": _likelihood,
    "div": _quotient,
    "fft": _fft, "fft2": _transform("FftR2CBackward0"), "fftn": _transform("FftC2CBackward0"),
    "ifft": lambda made: "FftC2CBackward0" if _complex(made) else "ConjBackward0",
    "ifft2": _transform("ConjBackward0"), "ifftn": _transform("FftC2CBackward0"),
    "ihfft": _is("ConjBackward0"), "ihfft2": _transform("ConjBackward0"), "ihfftn": _transform("ConjBackward0"),
    "fmod": _operand("Fmod", "other", 1, 0),
    "grid_sampler": lambda made: f"GridSampler{made.avals[0].ndim - 2}DBackward0",
    "index_fill": _operand("IndexFill", "value", 1, 0),
    "inner": _inner,
    "interpolate": _interpolate,
    "adaptive_avg_pool2d": lambda made: (
        "MeanBackward1" if made.given("output_size") in (1, (1,), (1, 1)) else "AdaptiveAvgPool2DBackward0"
    ),
    "adaptive_avg_pool3d": lambda made: (
        "MeanBackward1" if made.given("output_size") in (1, (1,), (1, 1, 1)) else "AdaptiveAvgPool3DBackward0"
    ),
    "kl_div": _reduced(lambda made: "MulBackward0" if made.given("log_target") else "SubBackward0"),
    "l1_loss": _reduced("AbsBackward0"),
    "lerp": _operand("Lerp", "weight", 1, 0),
    "linear": _linear,
    "margin_ranking_loss": _reduced("ClampMinBackward0"),
    "cosine_embedding_loss": _reduced("AddBackward0"),
    "hinge_embedding_loss": _reduced("AddBackward0"),
    "poisson_nll_loss": _reduced(lambda made: "AddBackward0" if made.given("full") else "SubBackward0"),
    "gaussian_nll_loss": _reduced(lambda made: "AddBackward0" if made.given("full") else "MulBackward0"),
    "multilabel_soft_margin_loss": _reduced("DivBackward0"),
    "smooth_l1_loss": lambda made: _reduced("AbsBackward0")(made) if made.given("beta") == 0 else "SmoothL1LossBackward0",
    "bilinear": lambda made: "AddBackward0" if len(made.avals) > 3 else "ViewBackward0",
    "cdist": _distances,
    "cholesky": lambda made: "CholeskyBackward0" if made.namespace == "torch" else "LinalgCholeskyExBackward0",
    "cond": _condition,
    "copysign": _operand("Copysign", "other", 0, 1),
    "ctc_loss": lambda made: "WhereBackward0" if made.given("zero_infinity") else "CtcLossBackward0",
    "copy": _is("CopyBackwards"),
    "diag": lambda made: "DiagEmbedBackward0" if made.avals[0].ndim == 1 else "DiagonalBackward0_copy",
    "fill": _filled,
    "imag": _is("SelectBackward0"),
    "real": _is("SelectBackward0"),
    "istft": lambda made: "SqueezeBackward1" if made.avals[0].ndim == 2 else "DivBackward0",
    "logdet": lambda made: "AddBackward0" if _complex(made) else "WhereBackward0",
    "attention": _attention,
    "corrcoef": lambda made: "DivBackward0" if made.avals[0].ndim < 2 or made.avals[0].shape[0] == 1 else "ClampBackward1",
    "cov": _is("SqueezeBackward0"),
    "rnn": _recurrent,
    "rnn_packed": lambda made: "ViewBackward0" if made.given("mode") == "LSTM" else "CatBackward0",
    "zeta": lambda made: f"SpecialZetaBackward{0 if made.layout.get('input') == made.layout.get('other') == 'T' else 1}",
    "gamma_drawn": _is("StandardGammaBackward0"),
    "matrix_norm": _matrix_norm,
    "matrix_power": _power_of_matrix,
    "scatter": lambda made: f"ScatterBackward{0 if made.layout.get('src') == 'T' else 1}",
    "stft": _spectrogram,
    "unfold": lambda made: "UnfoldBackward0" if made.namespace == "Tensor" else "Im2ColBackward0",
    "vecdot": lambda made: "VdotBackward0" if made.avals[0].ndim == made.avals[1].ndim == 1 else "SumBackward1",
    "masked_fill": _operand("MaskedFill", "value", 1, 0),
    "matmul": _product,
    "mean": _along("Mean"),
    "pad": _pad,
    "pow": _power,
    "prod": _along("Prod"),
    "remainder": _operand("Remainder", "other", 1, 0),
    "round": lambda made: f"RoundBackward{1 if made.given('decimals') else 0}",
    "rsub": _operand("Rsub", "other", 0, 1),
    "sort": lambda made: f"SortBackward{1 if made.given('stable') else 0}",
    "squeeze": lambda made: f"SqueezeBackward{ {type(None): 0, int: 1}.get(type(made.given('dim')), 2) }",
    "std": _is("StdBackward0"),
    "sub": lambda made: "SubBackward0" if made.layout.get("input") == "T" else "RsubBackward1",
    "sum": _along("Sum"),
}  # fmt: skip


#: Views that are made in place have derivatives of their own in torch.
INPLACE_VIEWS = {
    "AsStridedBackward0": "AsStridedBackward1",
    "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
    "TBackward0": "TBackward1",
    "TransposeBackward0": "TransposeBackward1",
    "UnsqueezeBackward0": "UnsqueezeBackward1",
}


def name_of(node: Any) -> str:
    """The name of a node that has none of its own."""
    info = node.call.extra
    rule = NAMES.get(info.name.strip("_"))
    return f"{camel(info.name)}Backward0" if rule is None else rule(Made(node))


def named(result: Any, name: str) -> Any:
    """A result whose node is called ``name``: that of a function which this package composes of others. Each of several, too."""
    for t in result if isinstance(result, (tuple, list)) else (result,):
        node = getattr(t, "_node", None)
        if node is not None:
            node.label = name
    return result


def written(t: Any, name: str) -> Any:
    """A tensor after an in-place change that torch calls ``name``. What was written through a view is the base's, under another name."""
    return named(t, name) if t._al is None or t._al.base is None else t


def plain_name(name: str) -> str:
    """A node's name as torch's messages about saved tensors and views give it: ``Mul``."""
    return re.sub(r"Backward\d*$", "", name)
