"""Checking gradients against finite differences."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch
from jtorch import Tensor

from . import forward_ad
from .engine import grad as tape_grad
from .grad_mode import MODE, enable_grad
from .jacobians import (
    Differences,
    Part,
    analytical,
    forward,
    numerical_jacobians,
    parts_of_inputs,
    parts_of_outputs,
    tensors_of,
    tuple_of,
)
from .sparse_inputs import dense, dimensions, is_sparse, values, whole

if TYPE_CHECKING:
    from .._src.facts.kinds import Operands, Values


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

#: PyTorch's names of these.
_iter_tensors = tensors_of
_get_numerical_jacobian = numerical_jacobians


def _batched(function: Callable[..., object], vectors: Tensor) -> tuple[Tensor, ...]:
    """``function`` of all vectors at once, which may call any ``Function``."""
    MODE.batching += 1
    try:
        return jtorch.func.vmap(function)(vectors)
    finally:
        MODE.batching -= 1


class GradcheckError(RuntimeError):
    """Raised by ``gradcheck`` and ``gradgradcheck``: an analytical gradient is wrong."""


NONDETERMINISTIC = """

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""
UNDEFINED = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)
MAY_BREAK = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by "
    "default, but it may break existing callers of "
    "this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)

#: The first words are PyTorch's, which programs match.
BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation. "
    "check_batched_grad=False leaves that out."
)
BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD. "
    "check_batched_forward_grad=False leaves that out."
)


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func`` at ``inputs`` agree with central differences, for every
    input that requires grad.

    Args:
        eps: how far inputs are moved for the differences.
        nondet_tol: how much two walks back may differ.
        check_undefined_grad: also walk back with gradients that are missing or zero.
        check_grad_dtypes: gradients must have the dtype of their inputs.
        check_batched_grad, check_batched_forward_grad: also walk under ``vmap``.
        check_forward_ad, check_backward_ad: which modes to check.
        fast_mode: compare one random projection of each Jacobian instead of all its elements.
        masked: for sparse inputs, whether only their specified elements count.

    Raises:
        GradcheckError: if they do not, with ``raise_exception``.
        ValueError: if no input requires grad.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(lambda x: x * x, x)
        True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    check = _Check(func, tuple_of(inputs), eps, atol, rtol, nondet_tol, bool(masked))
    try:
        with enable_grad():
            check.inputs_fit()
            check.outputs_fit()
            if not check.outputs_differentiable(check_forward_ad):
                return True
            if check_backward_ad:
                for part in parts_of_outputs(check.outputs()):
                    check.backward(part, check_grad_dtypes, fast_mode)
            if check_forward_ad:
                for part in parts_of_inputs(check.checked):
                    check.forward(part, check_grad_dtypes, fast_mode)
            if check_batched_forward_grad:
                check.batched_forward()
            if check_backward_ad:
                if check_batched_grad:
                    check.batched()
                check.multiplies_by_gradient()
                if check_undefined_grad:
                    check.undefined_gradients()
            if check_forward_ad and check_undefined_grad:
                check.undefined_tangents()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


#: A kernel that comes to be compiled between two walks differs once: so often they are compared
#: again.
AGAIN = 3


class _Check:
    """One call of ``gradcheck``: the function, its inputs, and its finite differences."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        masked: bool,
    ) -> None:
        self.func, self.inputs = func, inputs
        self.atol, self.rtol, self.nondet_tol = atol, rtol, nondet_tol
        self.checked = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
        twins = {} if masked else {id(x): whole(x) for x in self.checked if is_sparse(x)}
        moving = tuple([twins.get(id(x), x) for x in inputs])
        self.differences = Differences(lambda: tuple_of(func(*moving)), eps, twins)

    def inputs_fit(self) -> None:
        """Raises torch's errors, and warnings, for inputs that cannot be checked."""
        for i, x in enumerate(self.inputs):
            if not isinstance(x, Tensor) or not x.requires_grad:
                continue
            if x.dtype not in (jtorch.float64, jtorch.complex128):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or "
                    "complex. This check will likely fail if all the inputs are not of double "
                    "precision floating point or complex. ",
                    stacklevel=4,
                )
            content = values(x)
            if not all(
                s > 0 or n <= 1 for s, n in zip(content.stride(), content.shape, strict=True)
            ):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports "
                    "inputs that are non-overlapping to be able to compute the numerical gradients "
                    "correctly. You should call .contiguous on the input before passing it to "
                    "gradcheck."
                )
            x.retain_grad()
        if not self.checked:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them "
                "have requires_grad=True."
            )

    def outputs_fit(self) -> None:
        """Raises torch's error for outputs in other layouts."""
        for o in self.every_output():
            if isinstance(o, Tensor) and o.layout is not jtorch.strided:
                kind = "MKLDNN" if o.layout is jtorch._mkldnn else "Sparse"
                way = f"{Tensor.to_dense.__name__}(masked_grad=...)"
                raise ValueError(
                    f"{kind} output is not supported at gradcheck yet. Please call {way} on the "
                    "output of fn for gradcheck."
                )

    def every_output(self) -> tuple[Tensor, ...]:
        """All outputs, computed anew."""
        return tuple_of(self.func(*self.inputs))

    def outputs(self) -> list[Tensor]:
        """The differentiable outputs, computed anew."""
        return [o for o in self.every_output() if o.requires_grad]

    def outputs_differentiable(self, forward_too: bool) -> bool:
        """Whether an output requires grad; if none does, checks that none depends on the inputs.

        Raises:
            GradcheckError: if one does.
        """
        if any(o.requires_grad for o in self.every_output()):
            return True
        del forward_too
        for x in self.checked:
            for j, o in enumerate(self.every_output()):
                if self.differences.jacobian(x, j, o, Part()).ne(0).any():
                    raise GradcheckError("Numerical gradient for function expected to be zero")
        return False

    def places(self) -> list[int]:
        """Where the differentiable outputs stand among all."""
        return [j for j, o in enumerate(self.every_output()) if o.requires_grad]

    # ---- backward --------------------------------------------------------------------------------

    def gradients(self, output: Tensor, direction: Tensor) -> tuple[Tensor, ...]:
        """Gradients of the checked inputs; None where there is none."""
        return tape_grad([output], self.checked, [direction], retain_graph=True, allow_unused=True)

    def backward(self, part: Part, check_dtypes: bool, fast: bool) -> None:
        """Compares the Jacobians, and those of a second walk with the first."""
        outputs, places = self.outputs(), self.places()
        if fast:
            self._backward_fast(part, outputs, places, check_dtypes)
            return
        for i, (output, place) in enumerate(zip(outputs, places, strict=True)):
            found = self._consistent(output, part, check_dtypes)
            for j, (a, x) in enumerate(zip(found, self.checked, strict=True)):
                n = self.differences.jacobian(x, place, output, part)
                if a.numel() and not self._close(a, n, self.atol):
                    raise GradcheckError(self._mismatch(i, j, part, n, a, output.dtype.is_complex))

    def _consistent(self, output: Tensor, part: Part, check_dtypes: bool) -> list[Tensor]:
        """The Jacobians of one output by walks back.

        Raises:
            GradcheckError: if a second time gives others, or gradients do not fit their inputs.
        """
        # what is compiled as a whole the second time may round otherwise
        with jtorch.execution("immediate"):
            first, types_fit, sizes_fit = analytical(self.gradients, output, self.checked, part)
            second, _, _ = analytical(self.gradients, output, self.checked, part)
            for _ in range(AGAIN):
                if not (types_fit and sizes_fit and self._differ(first, second)):
                    break
                first, second = second, analytical(self.gradients, output, self.checked, part)[0]
        if not types_fit and check_dtypes:
            raise GradcheckError("Gradient has dtype mismatch")
        if not sizes_fit:
            raise GradcheckError("Analytical gradient has incorrect size")
        self._same_twice(first, second)
        return first

    def _differ(self, first: Operands, second: Operands) -> bool:
        """Whether two walks back differ by more than may be."""
        return any(
            a is not None
            and b is not None
            and a.numel()
            and float((dense(a) - dense(b)).abs().max()) > self.nondet_tol
            for a, b in zip(first, second, strict=True)
        )

    def _same_twice(self, first: Sequence[object], second: Sequence[object]) -> None:
        """Raises torch's error if two walks back differ by more than may be."""
        if self._differ(first, second):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values, although analytical gradient matches "
                f"numerical gradient.The tolerance for nondeterminism was {self.nondet_tol}."
                + NONDETERMINISTIC
            )

    def _close(self, a: Tensor, n: Tensor, atol: float) -> bool:
        both = jtorch.promote_types(a.dtype, n.dtype)
        return bool(jtorch.allclose(a.to(both), n.to(both), self.rtol, atol))

    @staticmethod
    def _mismatch(
        i: int,
        j: int,
        part: Part,
        n: object,
        a: object,
        is_complex: bool,
        forward_mode: bool = False,
    ) -> str:
        prefix = (
            (
                f"While considering the {part.name} part of complex "
                f"{'inputs' if forward_mode else 'outputs'} only, "
            )
            if is_complex
            else ""
        )
        mode = "computed with forward mode " if forward_mode else ""
        return (
            f"{prefix}Jacobian {mode}mismatch for output {i} with respect to input {j},\n"
            f"numerical:{n}\n"
            f"analytical:{a}\n"
        )

    def _vectors(self, outputs: Sequence[Tensor]) -> tuple[Values, list[Tensor]]:
        """Random directions of the inputs (pairs for complex ones) and of the outputs, the same in
        every run."""
        generator = jtorch.Generator()

        def unit(t: Tensor, dtype: jtorch.dtype) -> Tensor:
            v = jtorch.rand(self.differences.count(t), generator=generator).to(dtype)
            return v / v.norm()

        us = []
        for x in self.checked:
            real = x.dtype.to_real()
            us.append((unit(x, real), unit(x, real)) if x.dtype.is_complex else unit(x, real))
        return us, [unit(o, o.dtype.to_real()) for o in outputs]

    def _backward_fast(
        self, part: Part, outputs: Sequence[Tensor], places: Sequence[int], check_dtypes: bool
    ) -> None:
        us, vs = self._vectors(outputs)
        starts = [
            (v * part.unit(o)).to(o.dtype).reshape(o.shape)
            for o, v in zip(outputs, vs, strict=True)
        ]
        with jtorch.execution("immediate"):
            walks = [self.gradients(o, start) for o, start in zip(outputs, starts, strict=True)]
            for o, start, walk in zip(outputs, starts, walks, strict=True):
                self._same_twice(walk, self.gradients(o, start))
        for j, (x, u) in enumerate(zip(self.checked, us, strict=True)):
            for i, (output, place, v) in enumerate(zip(outputs, places, vs, strict=True)):
                g = walks[i][j]
                if g is not None and check_dtypes and g.dtype is not x.dtype:
                    raise GradcheckError("Gradient has dtype mismatch")
                flat = self.differences.taken(
                    x, (jtorch.zeros(x.shape, dtype=x.dtype) if g is None else dense(g)).reshape(-1)
                )
                n = (self.differences.along(x, u, place, output, part) * v).sum()
                if isinstance(u, tuple):
                    a = (flat.real * u[0]).sum() + 1j * (flat.imag * u[1]).sum()
                    scale = float(u[0].sum()) + float(u[1].sum())
                else:
                    a, scale = (flat * u).sum(), float(u.sum())
                if not self._close(a, n, self.atol * scale * float(v.sum())):
                    message = self._mismatch(
                        i, j, part, n.item(), a.item(), output.dtype.is_complex
                    )
                    slow = self._consistent(output, part, False)[j]
                    raise GradcheckError(
                        message
                        + self._in_slow_mode(
                            slow, self.differences.jacobian(x, place, output, part)
                        )
                    )

    def _in_slow_mode(self, a: Tensor, n: Tensor) -> str:
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
            "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more "
            "background \n"
            "about fast mode. Below, we recompute numerical and analytical jacobians in slow "
            "mode:\n"
            "\n"
            "Numerical:\n"
            f" {n}\n"
            "Analytical:\n"
            f"{a}\n"
            f"\nThe max per-element difference (slow mode) is: {(n - a).abs().max()}.\n"
        )
        if self._close(a, n, self.atol):
            text += (
                "Fast gradcheck failed but element-wise differences are small. This means that "
                "the\n"
                "test might've passed in slow_mode!"
            )
        return text

    def multiplies_by_gradient(self) -> None:
        """A gradient of zero must give zero, of the input's shape and dtype."""
        outputs = self.outputs()
        found = tape_grad(
            outputs, self.checked, [jtorch.zeros_like(o) for o in outputs], allow_unused=True
        )
        for g, x in zip(found, self.checked, strict=True):
            if g is None:
                continue
            self._laid_like(g, x)
            if not dense(g).eq(0).all():
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype is not x.dtype:
                raise GradcheckError("grad is incorrect type")
            if g.device != x.device:
                raise GradcheckError("grad is incorrect device")
            if g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    @staticmethod
    def _laid_like(g: Tensor, x: Tensor) -> None:
        """Raises torch's errors for a sparse gradient of another layout or other dimensions than
        its input."""
        if not is_sparse(g):
            return
        if g.layout is not x.layout:
            raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
        kind = str(g.layout).removeprefix("torch.").replace("_coo", "")
        for name, got, want in zip(("sparse", "dense"), dimensions(g), dimensions(x), strict=True):
            if got != want:
                raise GradcheckError(
                    f"grad is {kind} tensor, but has incorrect {name}_dim {got}, expected {want}"
                )

    def undefined_gradients(self) -> None:
        """Missing gradients, of all outputs and of one at a time, must count as zeros."""
        count = len(self.outputs())
        for missing in [set(range(count)), *({i} for i in range(count if count > 1 else 0))]:
            outputs = [
                _without_gradient(o) if i in missing else o for i, o in enumerate(self.outputs())
            ]
            try:
                found = tape_grad(
                    outputs,
                    self.checked,
                    [jtorch.zeros_like(o) for o in outputs],
                    allow_unused=True,
                )
            except RuntimeError as error:
                warnings.warn(MAY_BREAK, stacklevel=4)
                raise GradcheckError(
                    f"Expected backward function to handle undefined output grads. {UNDEFINED}"
                ) from error
            if any(g is not None and not dense(g).eq(0).all() for g in found):
                warnings.warn(MAY_BREAK, stacklevel=4)
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are "
                    f"undefined or zero. {UNDEFINED}"
                )

    def batched(self) -> None:
        """The same gradients under ``vmap``."""
        for i, output in enumerate(self.outputs()):
            vectors = jtorch.stack([jtorch.randn_like(output.detach()) for _ in range(2)])

            def walk(v: Tensor, output: Tensor = output) -> tuple[Tensor, ...]:
                found = self.gradients(output, v)
                return tuple(
                    [
                        jtorch.zeros_like(x) if g is None else g
                        for g, x in zip(found, self.checked, strict=True)
                    ]
                )

            try:
                found = _batched(walk, vectors)
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\n{BATCHED}"
                ) from error
            expected = [
                jtorch.stack(column) for column in zip(*[walk(v) for v in vectors], strict=True)
            ]
            self._same_batched(found, expected, i, False)

    def _same_batched(
        self, found: Sequence[Tensor], expected: Sequence[Tensor], i: int, forward_mode: bool
    ) -> None:
        for j, (got, want) in enumerate(zip(found, expected, strict=True)):
            if not jtorch.allclose(got, want):
                raise GradcheckError(
                    f"\nFor output {j if forward_mode else i} and input {j}:\n"
                    f"\nwalking {'forward' if forward_mode else 'back'} under vmap gives other "
                    "gradients than walking once for each vector.\n"
                    "\nGot:\n"
                    f"{got}\n"
                    "\nExpected:\n"
                    f"{want}\n\n"
                    f"{BATCHED_FORWARD if forward_mode else BATCHED}"
                )

    # ---- forward ---------------------------------------------------------------------------------

    def forward(self, part: Part, check_dtypes: bool, fast: bool) -> None:
        """Compares the Jacobians by forward derivatives."""
        us = self._vectors(())[0] if fast else [None] * len(self.checked)
        outputs, places = self.outputs(), self.places()
        for j, (x, u) in enumerate(zip(self.checked, us, strict=True)):
            found = forward(
                self.func, self.inputs, x, places, part, None if u is None else part.of(u)
            )
            for i, (output, place, a) in enumerate(zip(outputs, places, found, strict=True)):
                if check_dtypes and a.dtype is not jtorch.promote_types(output.dtype, output.dtype):
                    raise GradcheckError("Forward AD gradient has dtype mismatch.")
                n = self.differences.forward(
                    x, place, output, part, None if u is None else part.of(u)
                )
                if a.numel() and not self._close(
                    a, n, self.atol if u is None else self.atol * float(part.of(u).sum())
                ):
                    raise GradcheckError(
                        self._mismatch(i, j, part, n, a, x.dtype.is_complex, forward_mode=True)
                    )

    def batched_forward(self) -> None:
        """The same forward derivatives under ``vmap``."""
        for x in self.checked:
            vectors = jtorch.stack([jtorch.randn_like(x.detach()) for _ in range(2)])

            def push(t: Tensor, x: Tensor = x) -> tuple[Tensor, ...]:
                with forward_ad.dual_level():
                    own = forward_ad.make_dual(x.detach(), t)
                    inputs = [
                        own if y is x else y.detach() if isinstance(y, Tensor) else y
                        for y in self.inputs
                    ]
                    pairs = [
                        forward_ad.unpack_dual(o)
                        for o in tuple_of(self.func(*inputs))
                        if o is not None
                    ]
                    return tuple([jtorch.zeros_like(p) if d is None else d for p, d in pairs])

            try:
                found = _batched(push, vectors)
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\n{BATCHED_FORWARD}"
                ) from error
            expected = [
                jtorch.stack(column) for column in zip(*[push(v) for v in vectors], strict=True)
            ]
            self._same_batched(found, expected, 0, True)

    def undefined_tangents(self) -> None:
        """An input without a tangent must count as one with zeros."""

        def tangents(left_out: int | None, zeros: int) -> list[Tensor | None]:
            with forward_ad.dual_level():
                own, j = [], 0
                for x in self.inputs:
                    if any(x is c for c in self.checked):
                        t = (
                            jtorch.zeros_like(x.detach())
                            if j == zeros
                            else jtorch.ones_like(x.detach())
                        )
                        own.append(
                            x.detach() if j == left_out else forward_ad.make_dual(x.detach(), t)
                        )
                        j += 1
                    else:
                        own.append(x)
                outs = [
                    o
                    for o in tuple_of(self.func(*own))
                    if isinstance(o, Tensor) and o._aval.differentiable
                ]
                return [forward_ad.unpack_dual(o).tangent for o in outs]

        for j in range(len(self.checked)):
            for i, (a, b) in enumerate(zip(tangents(None, j), tangents(j, j), strict=True)):
                if a is not None and b is not None and not jtorch.allclose(a, b):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {i} when input: "
                        f"{self.checked[j]} has an undefined tangent value.  Got: {a} but "
                        f"expected: {b}"
                    )


class _Missing(jtorch.autograd.Function):
    """A tensor whose gradient gets lost."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """The tensor."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, g: Tensor) -> None:
        """No gradient."""


def _without_gradient(t: Tensor) -> Tensor:
    return _Missing.apply(t)


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the second derivatives of ``func`` agree with central differences of its gradients;
    arguments as those of ``gradcheck``.

    Args:
        grad_outputs: gradients of the outputs to start with; random ones by default, not contiguous
            with ``gen_non_contig_grad_outputs``.
        check_fwd_over_rev, check_rev_over_rev: whether to differentiate the gradients forward, or
            backward.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(lambda x: x * x * x, x)
        True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_rev_over_rev to be True"
        )
    given = tuple_of(inputs)
    if grad_outputs is None:
        with enable_grad():
            outputs = [o for o in tuple_of(func(*given)) if o.requires_grad]
        vectors = tuple([_random_like(o, gen_non_contig_grad_outputs) for o in outputs])
    else:
        vectors = tuple_of(grad_outputs)
    count = len(given)
    wanted = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    @enable_grad()
    def gradients(*args: Tensor) -> tuple[Tensor, ...]:
        own = [
            x.requires_grad_() if i in wanted and not x.requires_grad else x
            for i, x in enumerate(args[:count])
        ]
        outputs = [o for o in tuple_of(func(*own)) if o.requires_grad]
        got = tape_grad(
            outputs,
            [own[i] for i in wanted],
            list(args[count:]),
            create_graph=True,
            allow_unused=True,
        )
        return tuple([g for g in got if g is not None])

    return gradcheck(
        gradients,
        given + vectors,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_like(t: Tensor, non_contiguous: bool) -> Tensor:
    """Numbers between -1 and 1, drawn as torch draws them: the program goes on with the same random
    numbers."""
    dtype = t.dtype if t.is_floating_point() or t.is_complex() else jtorch.double
    return jtorch.testing.make_tensor(
        t.shape,
        dtype=dtype,
        device=t.device,
        low=-1,
        high=1,
        requires_grad=True,
        noncontiguous=non_contiguous,
    )


class _Callable(types.ModuleType):
    """The module as a function too.

    In torch ``autograd.gradcheck`` is the function, and the name of this module. Importing the
    module binds that name to it, so it is both.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
