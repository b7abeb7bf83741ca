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
    """The call that a node records: what was given for its parameters, and the avals of its operands."""

    def __init__(self, layout: dict[str, Any], avals: Any) -> None:
        self.layout, self.avals = layout, avals

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


def _power(made: Made) -> str:
    if made.layout.get("exponent") != "T":
        return "PowBackward0"
    return "PowBackward1" if made.layout.get("input", made.layout.get("self")) == "T" else "PowBackward2"


def _product(made: Made) -> str:
    a, b = made.avals[0].ndim, made.avals[1].ndim
    if (a, b) == (1, 1):
        return "DotBackward0"
    if (a, b) == (2, 1):
        return "MvBackward0"
    if (a, b) == (2, 2):
        return "MmBackward0"
    return "SqueezeBackward4" if a == 1 or (b == 1 and a == 3) else "UnsafeViewBackward0"


def _linear(made: Made) -> str:
    if made.avals[0].ndim == 2:
        return "AddmmBackward0" if len(made.avals) > 2 else "MmBackward0"
    return "ViewBackward0" if len(made.avals) > 2 else "UnsafeViewBackward0"


def _reduced(none: str) -> Rule:
    """The name of a loss: that of its reduction."""
    ends = {"mean": "MeanBackward0", "sum": "SumBackward0"}
    return lambda made: ends.get(str(made.given("reduction") or "mean"), none)


def _pad(made: Made) -> str:
    mode = made.given("mode") or "constant"
    n = len(made.given("pad") or ()) // 2
    return {"reflect": f"ReflectionPad{n}DBackward0", "replicate": f"ReplicationPad{n}DBackward0", "circular": "CopySlices"}.get(
        str(mode), "ConstantPadNdBackward0"
    )


def _interpolate(made: Made) -> str:
    kinds = {"nearest": "Nearest", "nearest-exact": "NearestExact", "bilinear": "Bilinear", "bicubic": "Bicubic", "linear": "Linear"}
    mode = str(made.given("mode") or "nearest")
    return f"Upsample{kinds.get(mode, mode.capitalize())}{made.avals[0].ndim - 2}DBackward0"


def _transform(made: Made) -> str:
    return "FftC2CBackward0" if made.avals[0].torch_dtype.is_complex else "FftR2CBackward0"


def _is(name: str) -> Rule:
    return lambda _: name


_SAME = {
    "AddBackward0": "accumulate alpha_dropout gaussian_nll_loss bilinear",
    "ClampMinBackward0": "clip_min",
    "CatBackward0": "column_stack hstack vstack dstack row_stack concatenate vander",
    "ConvolutionBackward0": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "DiagEmbedBackward0": "diagflat",
    "DivBackward0": "true_divide divide softsign nanmean local_response_norm",
    "EluBackward0": "selu",
    "FftC2RBackward0": "hfft hfft2 hfftn irfft irfft2 irfftn",
    "FftR2CBackward0": "rfft rfft2 rfftn",
    "FlipBackward0": "fliplr flipud",
    "GatherBackward0": "take_along_dim",
    "HardtanhBackward0": "relu6",
    "Im2ColBackward0": "unfold_blocks",
    "LinalgCholeskyExBackward0": "cholesky cholesky_ex",
    "LinalgCrossBackward0": "cross",
    "LinalgDetBackward0": "det",
    "LinalgEigBackward0": "eig eigvals",
    "LinalgEighBackward0": "eigh eigvalsh",
    "LinalgHouseholderProductBackward0": "householder_product",
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
    "MaskedSelectBackward0": "index_flat masked_select",
    "MaxBackward0": "max_dim",
    "MaxBackward1": "max_all",
    "MaxPool2DWithIndicesBackward0": "max_pool2d",
    "MaxPool3DWithIndicesBackward0": "max_pool3d",
    "MedianBackward0": "median_all",
    "MedianBackward1": "median_dim",
    "MinBackward0": "min_dim",
    "MinBackward1": "min_all",
    "MulBackward0": "multiply outer ger dropout rms_norm",
    "NanmedianBackward0": "nanmedian_all",
    "NanmedianBackward1": "nanmedian_dim",
    "NativeBatchNormBackward0": "batch_norm_train batch_norm_eval batch_norm",
    "NativeGroupNormBackward0": "group_norm",
    "NativeLayerNormBackward0": "layer_norm",
    "NormalBackward3": "drawn",
    "PermuteBackward0": "movedim moveaxis",
    "PowBackward0": "square",
    "PowBackward1": "float_power",
    "PreluKernelBackward0": "prelu",
    "RepeatBackward0": "tile",
    "RollBackward0": "fftshift ifftshift",
    "ScaledDotProductFlashAttentionForCpuBackward0": "attention",
    "SortBackward0": "msort",
    "SqueezeBackward1": "avg_pool1d max_pool1d adaptive_avg_pool1d adaptive_max_pool1d max_unpool1d cond",
    "SqueezeBackward4": "quantile nanquantile",
    "StackBackward0": "combinations cartesian_prod",
    "SubBackward0": "subtract tanhshrink diff",
    "SumBackward1": "cosine_similarity",
    "UnsafeViewBackward0": "kron tensordot",
    "ViewBackward0": "view_shape einsum",
    "WhereBackward0": "logdet",
}

NAMES: dict[str, Rule] = {name: _is(label.strip()) for label, names in _SAME.items() for name in names.split()}
NAMES |= {
    name: (lambda _, name=name: f"Special{camel(name)}Backward0")
    for name in ("i0e", "i1", "i1e", "xlog1py", "entr", "ndtri", "log_ndtr", "erfcx")
}
NAMES |= {
    "clamp": lambda made: f"ClampBackward{0 if 'T' in (made.layout.get('min'), made.layout.get('max')) else 1}",
    "clamp_max": _operand("ClampMax", "max", 1, 0),
    "clamp_min": _operand("ClampMin", "min", 1, 0),
    "cross_entropy": lambda made: "NllLossBackward0" if made.avals[0].ndim < 3 else "NllLoss2DBackward0",
    "div": lambda made: "DivBackward2" if made.given("rounding_mode") else "DivBackward0",
    "fft": _transform, "fft2": _transform, "fftn": _transform, "ifft": _transform, "ifft2": _transform, "ifftn": _transform,
    "fmod": _operand("Fmod", "other", 1, 0),
    "grid_sampler": lambda made: f"GridSampler{made.avals[0].ndim - 2}DBackward0",
    "index_fill": _operand("IndexFill", "value", 1, 0),
    "inner": _product,
    "interpolate": _interpolate,
    "adaptive_avg_pool2d": lambda made: (
        "MeanBackward1" if made.given("output_size") in (1, (1,), (1, 1)) else "AdaptiveAvgPool2DBackward0"
    ),
    "adaptive_avg_pool3d": lambda made: (
        "MeanBackward1" if made.given("output_size") in (1, (1,), (1, 1, 1)) else "AdaptiveAvgPool3DBackward0"
    ),
    "kl_div": _reduced("MulBackward0"),
    "l1_loss": _reduced("AbsBackward0"),
    "lerp": _operand("Lerp", "weight", 1, 0),
    "linear": _linear,
    "margin_ranking_loss": _reduced("ClampMinBackward0"),
    "cosine_embedding_loss": _reduced("AddBackward0"),
    "hinge_embedding_loss": _reduced("AddBackward0"),
    "poisson_nll_loss": _reduced("SubBackward0"),
    "masked_fill": _operand("MaskedFill", "value", 1, 0),
    "matmul": _product,
    "mean": _along("Mean"),
    "pad": _pad,
    "pow": _power,
    "prod": _along("Prod"),
    "remainder": _operand("Remainder", "other", 1, 0),
    "round": lambda made: f"RoundBackward{1 if made.given('decimals') else 0}",
    "rsub": _operand("Rsub", "other", 0, 1),
    "sort": _is("SortBackward0"),
    "split_sizes": _is("SplitWithSizesBackward0"),
    "squeeze": lambda made: f"SqueezeBackward{ {type(None): 0, int: 1}.get(type(made.given('dim')), 2) }",
    "std": _is("StdBackward0"),
    "sum": _along("Sum"),
}  # fmt: skip


def name_of(node: Any) -> str:
    """The name of a node that has none of its own."""
    info = node.call.extra
    rule = NAMES.get(info.name.strip("_"))
    if rule is None:
        return f"{camel(info.name)}Backward0"
    return rule(Made({p.name: entry for p, entry in zip(info.op.params, info.layout, strict=False)}, node.avals))


def plain_name(name: str) -> str:
    """A node's name as torch's messages about saved tensors and views give it: ``Mul``."""
    return re.sub(r"Backward\d*$", "", name)
