"""Public functions have docstrings that show an example and say what comes out: its shapes, or what
it is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import jtorch
from jtorch._src.bind.cores import COMPOSITES
from jtorch._src.bind.everything import PUBLIC
from jtorch._src.ops._declare import OPS
from jtorch._src.protocol import shared_arguments
from jtorch._src.refusals import functions as _not_offered

#: Functions that nothing comes out of.
RETURN_NOTHING = frozenset(
    """Tensor.__setstate__ Tensor._clear_non_serializable_cached_data Tensor._fix_weakref
    Tensor.backward Tensor.record_stream Tensor.retain_grad _assert sym_constrain_range
    _validate_sparse_coo_tensor_args _validate_sparse_compressed_tensor_args
    _validate_sparse_csr_tensor_args _validate_sparse_csc_tensor_args
    _validate_sparse_bsr_tensor_args _validate_sparse_bsc_tensor_args""".split()
)

#: In-place forms, made of another function, which their docstring names.
_INPLACE = re.compile(
    r"In-place form of ``\w+``\.\n\n\s*(?:The result of ``torch\.([\w.]+)``, where|The tensor "
    r"becomes the view of its memory that ``([\w.]+)`` gives, where)"
)
#: Functions that PyTorch has removed, or that are refused here.
_REFUSES = re.compile(r"Raises:\s+\w+: always")
_SECTION = re.compile(r"^\s*(Shapes|Returns): *\S", re.MULTILINE)
#: How a first sentence begins that names the result and is no order to the tensor.
_NAMED = re.compile(
    r"(``|The |An? |Whether |How many |Each |All |One |What |True|False|Copies |Views |Tensors? )"
)


def _names_result(path: str, doc: str) -> bool:
    if _SECTION.search(doc):
        return True
    if path in OPS:  # the result of a kernel is a tensor, which has a shape
        return False
    last = path.rpartition(".")[2]
    return _NAMED.match(doc.strip()) is not None or (last.endswith("_") and not last.endswith("__"))


def _written() -> dict[str, str]:
    """The docstrings that were written for one function, by that of the kernel or the shortest of
    the paths that share them."""
    shortest: dict[str, str] = {}
    for path in sorted(PUBLIC, key=lambda p: (p not in OPS, len(p), p), reverse=True):
        doc = PUBLIC[path].__doc__ or ""
        if not _INPLACE.match(doc) and not _REFUSES.search(doc):
            shortest[doc or path] = path
    return {path: PUBLIC[path].__doc__ or "" for path in shortest.values()}


WRITTEN = _written()


def test_there_is_an_example() -> None:
    assert sorted(path for path, doc in WRITTEN.items() if ">>>" not in doc) == []


def test_it_is_said_what_comes_out() -> None:
    silent = {path for path, doc in WRITTEN.items() if not _names_result(path, doc)}
    assert sorted(silent - RETURN_NOTHING) == []
    assert sorted(RETURN_NOTHING - silent) == []


def test_kernels_say_what_dtypes_they_take() -> None:
    assert (
        sorted(path for path, doc in WRITTEN.items() if path in OPS and "Dtypes: " not in doc) == []
    )


def test_no_declaration_escapes() -> None:
    """What is declared public is found under its path, so that the tests above have seen it."""
    for declared in (*OPS.values(), *COMPOSITES):
        path = (
            declared.name
            if declared.namespace == "torch"
            else f"{declared.namespace}.{declared.name}"
        )
        assert declared.namespace == "_C" or path in PUBLIC, path
    assert len(WRITTEN) > 900


def test_inplace_forms_name_the_function_that_they_are_made_of() -> None:
    sources = {
        path: match[1] or match[2]
        for path, made in PUBLIC.items()
        if (match := _INPLACE.match(made.__doc__ or ""))
    }
    assert len(sources) > 100
    for path, source in sources.items():
        assert source in PUBLIC and source not in sources, path


def test_only_what_is_refused_says_that_it_always_raises() -> None:
    always = {path for path, made in PUBLIC.items() if _REFUSES.search(made.__doc__ or "")}
    assert set(_not_offered.public()) <= always
    for path in always:
        first = (PUBLIC[path].__doc__ or "").split(maxsplit=1)[0]
        assert first in ("Not", "Removed:", "Elements"), path


def test_methods_show_the_docstring_of_the_function() -> None:
    assert ">>> torch.sqrt(" in (jtorch.sqrt.__doc__ or "")
    assert _own(jtorch.Tensor.sqrt) == _own(jtorch.sqrt)


def _own(made: object) -> str:
    """A docstring but for the lines that functions with an argument get and those without it do
    not."""
    return re.sub(
        rf"^ *out: {re.escape(shared_arguments.shared(())['out'])}\n",
        "",
        made.__doc__ or "",
        flags=re.MULTILINE,
    )


def _classes() -> list[type]:
    from jtorch import nn, optim
    from jtorch.optim import lr_scheduler
    from jtorch.utils.data import DataLoader

    found = [DataLoader]
    for space, base in (
        (nn, nn.Module),
        (optim, optim.Optimizer),
        (lr_scheduler, lr_scheduler.LRScheduler),
    ):
        members = [getattr(space, name) for name in dir(space) if not name.startswith("_")]
        found += [kind for kind in members if isinstance(kind, type) and issubclass(kind, base)]
    return sorted(set(found), key=lambda kind: kind.__name__)


def _described(doc: str) -> set[str]:
    """The names that the section of arguments of a docstring has something to say about."""
    section = re.search(r"^( *)Args:\n((?:\1 +.*\n?)+)", inspect.cleandoc(doc), re.MULTILINE)
    entries = re.findall(
        r"^    ([\w*][\w*, ]*): +\S.{3,}", section[2] if section else "", re.MULTILINE
    )
    return {name.strip("* ") for entry in entries for name in entry.split(",")}


def test_classes_describe_every_argument() -> None:
    silent = {}
    for kind in _classes():
        arguments = list(inspect.signature(kind.__init__).parameters)[1:]
        if missing := set(arguments) - _described(kind.__dict__.get("__doc__") or ""):
            silent[kind.__name__] = sorted(missing)
    assert silent == {}
    assert len(_classes()) > 180


def test_no_argument_is_described_that_is_not_there() -> None:
    invented = {}
    for kind in _classes():
        arguments = set(inspect.signature(kind.__init__).parameters)
        if extra := _described(kind.__doc__ or "") - arguments:
            invented[kind.__name__] = sorted(extra)
    assert invented == {}


#: The functions, methods and classes that packages name most, by where they are.
MOST_USED = {
    "torch": """
        FloatTensor Generator LongTensor Size Tensor abs add all allclose any arange argmax argsort
        as_tensor autocast bmm cat cdist chunk clamp compile concat cos cumsum device diag div dtype
        einsum empty empty_like enable_grad equal exp eye finfo flip floor from_numpy full full_like
        gather get_default_dtype index_select inference_mode is_floating_point is_grad_enabled
        is_tensor isfinite isinf isnan linspace load log logsumexp manual_seed matmul max maximum
        mean meshgrid min mm mul multinomial nan_to_num no_grad nonzero norm ones ones_like pow prod
        rand rand_like randint randn randn_like randperm relu repeat_interleave reshape round save
        searchsorted sigmoid sign sin softmax sort split sqrt stack std sum tanh tensor topk
        transpose triu unique unsqueeze view_as_real where zeros zeros_like
    """,
    "torch.nn": """
        AdaptiveAvgPool2d BatchNorm1d BatchNorm2d Conv1d Conv2d Conv3d ConvTranspose2d
        CrossEntropyLoss DataParallel Dropout ELU Embedding GELU GroupNorm Identity LSTM LayerNorm
        LeakyReLU Linear MSELoss MaxPool2d Module ModuleDict ModuleList MultiheadAttention Parameter
        ReLU Sequential SiLU Sigmoid Softmax Tanh
    """,
    "Tensor": """
        abs add add_ all amax any argmax backward bool byte chunk clamp clamp_ clamp_min clone
        contiguous copy_ cos cpu cumsum detach dim div div_ double exp expand expand_as fill_
        flatten flip float gather index_select int is_contiguous is_floating_point item log long
        masked_fill masked_fill_ matmul max mean min mul mul_ narrow new_empty new_ones new_zeros
        nonzero norm normal_ numel numpy permute pow prod repeat repeat_interleave requires_grad_
        reshape scatter_ scatter_add_ sigmoid sin size softmax sort split sqrt square squeeze std
        stride sum t to tolist topk transpose type type_as unbind unfold uniform_ unique unsqueeze
        view view_as zero_
    """,
    "Module": """
        add_module apply buffers children eval forward load_state_dict modules named_children
        named_modules named_parameters parameters register_buffer register_forward_hook
        register_forward_pre_hook register_parameter state_dict train zero_grad
    """,
    "torch.cuda": """
        current_device device_count empty_cache is_available
    """,
    "torch.nn.functional": """
        conv2d cross_entropy gelu interpolate layer_norm linear log_softmax logsigmoid mse_loss
        normalize one_hot pad relu scaled_dot_product_attention sigmoid softmax softplus
    """,
    "torch.utils.data": """
        DataLoader Dataset IterableDataset
    """,
    "torch.optim": """
        Adam Optimizer
    """,
    "torch.autograd": """
        Function grad
    """,
    "torch.nn.init": """
        constant_ kaiming_normal_ kaiming_uniform_ normal_ uniform_ xavier_uniform_ zeros_
    """,
    "ctx": """
        save_for_backward
    """,
    "torch.distributed": """
        ReduceOp all_gather all_reduce barrier broadcast get_rank get_world_size is_available
        is_initialized
    """,
    "torch.nn.parallel": """
        DistributedDataParallel
    """,
    "torch.backends.mps": """
        is_available
    """,
    "torch.nn.utils": """
        clip_grad_norm_
    """,
    "torch.nn.utils.rnn": """
        pad_sequence
    """,
    "torch.distributions": """
        Normal
    """,
}
_ROOTS = {
    "torch": jtorch, "Tensor": jtorch.Tensor, "Module": jtorch.nn.Module,
    "Optimizer": jtorch.optim.Optimizer, "ctx": jtorch.autograd.function.FunctionCtx,
}  # fmt: skip


def _most_used() -> dict[str, Callable[..., object]]:
    found = {}
    for place, names in MOST_USED.items():
        first, *rest = place.split(".")
        for name in names.split():
            made = _ROOTS[first]
            for part in (*rest, name):
                made = getattr(made, part)
            found[f"{place}.{name}"] = made
    return found


def _told(made: object) -> set[str]:
    """The arguments that a docstring describes; in-place forms name the function that describes
    them."""
    doc = getattr(made, "__doc__", None) or ""
    source = _INPLACE.match(doc)
    return _described(PUBLIC[source[1] or source[2]].__doc__ or "") if source else _described(doc)


def test_the_most_used_names_describe_every_argument() -> None:
    silent = {}
    for name, made in _most_used().items():
        arguments = set(inspect.signature(made).parameters) - {"self"}
        if missing := arguments - _told(made):
            silent[name] = sorted(missing)
    assert silent == {}
    assert len(_most_used()) == 300


@pytest.mark.parametrize(
    "space", [jtorch.nn, jtorch.optim, jtorch.utils.data], ids=lambda space: space.__name__
)
def test_classes_that_programs_make_describe_every_argument(space) -> None:
    silent, seen = {}, 0
    for name in space.__all__ if hasattr(space, "__all__") else dir(space):
        made = getattr(space, name)
        if not inspect.isclass(made) or name.startswith("_") or issubclass(made, BaseException):
            continue
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        arguments = {
            n for n, p in inspect.signature(made).parameters.items() if p.kind not in variable
        }
        seen += bool(arguments)
        if missing := arguments - set(_described(made.__doc__ or "")):
            silent[name] = sorted(missing)
    assert silent == {} and seen > 5


def test_the_most_used_names_describe_no_argument_that_is_not_there() -> None:
    invented = {}
    for name, made in _most_used().items():
        others = [
            getattr(jtorch, name.rpartition(".")[2], made),
            getattr(jtorch.Tensor, name.rpartition(".")[2], made),
        ]
        # method and function share what is said
        same = [m for m in others if _own(m) == _own(made) and callable(m)]
        arguments = {p for m in (made, *same) for p in inspect.signature(m).parameters}
        if extra := _described(made.__doc__ or "") - arguments:
            invented[name] = sorted(extra)
    assert invented == {}


def test_arguments_that_many_have_are_told_by_those_that_have_them() -> None:
    """One statement serves all of them, where a docstring describes arguments at all."""
    lines = {
        name: set(_described(made.__doc__ or ""))
        for name, made in (("f", jtorch.add), ("m", jtorch.Tensor.add))
    }
    assert "out" in lines["f"] and "out" not in lines["m"]
    assert "where ``input`` does" in (jtorch.zeros_like.__doc__ or "") and "the default device" in (
        jtorch.zeros.__doc__ or ""
    )
    written = [
        path
        for path in (Path(jtorch.__file__).parent / "_src").rglob("*.py")
        if path.name != "shared_arguments.py"
    ]
    assert not [
        path
        for path in written
        if f"        out: {shared_arguments.shared(())['out']}" in path.read_text()
    ]


def test_help_says_what_a_tensor_is() -> None:
    assert {"dtype", "shape", "device", "requires_grad", "recorded"} <= set(
        re.findall(r"\w+", jtorch.Tensor.__doc__ or "")
    )
    assert "_v" not in (jtorch.Tensor.__doc__ or "")
