"""Checking gradients against finite differences."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jtorch
from jtorch import Tensor

from .engine import grad as tape_grad
from .grad_mode import enable_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """Raised by ``gradcheck`` and ``gradgradcheck``: an analytical gradient is wrong."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
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
    """Whether the gradients of ``func`` at ``inputs`` agree with central differences, for every input that requires grad.

    Raises:
        GradcheckError: if they do not, with ``raise_exception``.
        ValueError: if no input requires grad.

    Differs from torch: ``fast_mode`` compares whole Jacobians too; complex numbers are compared as pairs of real ones.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    del fast_mode
    if masked:
        raise NotImplementedError(
            "gradcheck(masked=True) is not offered by jtorch: it is for sparse inputs, whose gradients are dense here"
        )
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    check = _Check(func, given, eps, atol, rtol, nondet_tol)
    try:
        with enable_grad():
            check.inputs_fit()
            if not check.outputs_differentiable():
                return True
            if check_backward_ad:
                check.backward(check_grad_dtypes)
                check.multiplies_by_gradient()
                if check_undefined_grad:
                    check.undefined_gradients()
                if check_batched_grad:
                    check.batched(forward=False)
            if check_forward_ad:
                check.forward()
                if check_batched_forward_grad:
                    check.batched(forward=True)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class _Check:
    """One call of ``gradcheck``: the function, its inputs, and the numerical Jacobian once it is known."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float) -> None:
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.checked = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
        self._numerical: list[list[np.ndarray]] | None = None

    def inputs_fit(self) -> None:
        """Raises torch's errors, and warnings, for inputs that cannot be checked."""
        if not self.checked:
            raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
        for i, x in enumerate(self.inputs):
            if not isinstance(x, Tensor) or not x.requires_grad:
                continue
            if x.dtype not in (jtorch.float64, jtorch.complex128):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely fail if "
                    "all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )
            if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
                    "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
                )
            x.retain_grad()  # type: ignore[attr-defined]

    def outputs(self) -> list[Tensor]:
        """The differentiable outputs, computed anew."""
        found = self.func(*self.inputs)
        return [o for o in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(o, Tensor) and o._aval.differentiable]

    def outputs_differentiable(self) -> bool:
        """Whether an output requires grad; if none does, checks that none depends on the inputs.

        Raises:
            GradcheckError: if one does.
        """
        if any(o.requires_grad for o in self.outputs()):
            return True
        if any(np.any(block != 0) for row in self.numerical() for block in row):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return False

    # ---- Jacobians: real arrays [elements of the input, elements of the output] ----------------------------------------------------

    def numerical(self) -> list[list[np.ndarray]]:
        """For each checked input, for each output, the Jacobian by central differences."""
        if self._numerical is None:
            with jtorch.no_grad():
                self._numerical = [self._differences(x) for x in self.checked]
        return self._numerical

    def _differences(self, x: Tensor) -> list[np.ndarray]:
        data = x.data
        rows: list[list[np.ndarray]] = []
        for place in np.ndindex(*x.shape):
            before = data[place].clone()
            for unit in (1.0, 1j) if x.dtype.is_complex else (1.0,):
                data[place] = before + unit * self.eps
                above = [_flat(o) for o in self.outputs()]
                data[place] = before - unit * self.eps
                below = [_flat(o) for o in self.outputs()]
                rows.append([(a - b) / (2 * self.eps) for a, b in zip(above, below, strict=True)])
            data[place] = before
        if not rows:
            return [np.zeros((0, _flat(o).size)) for o in self.outputs()]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    def analytical(self, output: Tensor) -> list[np.ndarray]:
        """For each checked input, the Jacobian of one output by ``backward``, element by element."""
        columns: list[list[np.ndarray]] = [[] for _ in self.checked]
        for direction in _directions(output):
            found = self.gradients(output, direction)
            for column, g, x in zip(columns, found, self.checked, strict=True):
                column.append(_flat(jtorch.zeros_like(x) if g is None else g))
        return [np.stack(c, axis=1) if c else np.zeros((_flat(x).size, 0)) for c, x in zip(columns, self.checked, strict=True)]

    def gradients(self, output: Tensor, direction: Tensor | None) -> tuple[Any, ...]:
        """Gradients of the checked inputs; None where there is none."""
        if not output.requires_grad:
            return (None,) * len(self.checked)
        return tape_grad([output], self.checked, [direction], retain_graph=True, allow_unused=True)

    # ---- checks --------------------------------------------------------------------------------------------------------------------

    def backward(self, check_dtypes: bool) -> None:
        """Compares the Jacobians, and those of a second walk with the first."""
        for i, output in enumerate(self.outputs()):
            if check_dtypes:
                self._dtypes(output)
            first, second = self.analytical(output), self.analytical(output)
            for a, b in zip(first, second, strict=True):
                if np.any(np.abs(a - b) > self.nondet_tol):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                        f"values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was "
                        f"{self.nondet_tol}."
                    )
            self.compare(first, i, "")

    def compare(self, found: Sequence[np.ndarray], i: int, prefix: str) -> None:
        """Compares the Jacobians of one output with the numerical ones.

        Raises:
            GradcheckError: where they differ.
        """
        for j, (a, row) in enumerate(zip(found, self.numerical(), strict=True)):
            n = row[i]
            if not np.allclose(a, n, rtol=self.rtol, atol=self.atol):
                raise GradcheckError(
                    f"{prefix}Jacobian mismatch for output {i} with respect to input {j},\nnumerical:{jtorch.from_numpy(n)}\n"
                    f"analytical:{jtorch.from_numpy(a)}\n"
                )

    def _dtypes(self, output: Tensor) -> None:
        for g, x in zip(self.gradients(output, jtorch.ones_like(output)), self.checked, strict=True):
            if g is not None and g.dtype is not x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")

    def multiplies_by_gradient(self) -> None:
        """A gradient of zero must give zero, of the input's shape and dtype."""
        outputs = [o for o in self.outputs() if o.requires_grad]
        found = tape_grad(outputs, self.checked, [jtorch.zeros_like(o) for o in outputs], allow_unused=True)
        for g, x in zip(found, self.checked, strict=True):
            if g is None:
                continue
            if np.any(_flat(g) != 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype is not x.dtype:
                raise GradcheckError("grad is incorrect type")
            if g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    def undefined_gradients(self) -> None:
        """With several outputs, one without a gradient must count as one with zeros."""
        if len(self.outputs()) < 2:
            return
        for i in range(len(self.outputs())):
            outputs = self.outputs()
            if not outputs[i].requires_grad:
                continue
            try:
                self.gradients(outputs[i], jtorch.zeros_like(outputs[i]))
            except RuntimeError as error:
                raise GradcheckError("Expected backward function to handle undefined output grads.") from error

    def batched(self, forward: bool) -> None:
        """The same Jacobians under ``vmap``."""
        for i, output in enumerate(self.outputs()):
            directions = list(_directions(output))
            if not directions or not output.requires_grad:
                continue
            try:
                if forward:
                    found = self._jacfwd()[i]
                else:
                    walk = jtorch.func.vmap(lambda v, o=output: tuple(self._filled(o, v)))
                    found = [np.stack([_flat(r) for r in rows], axis=1) for rows in walk(jtorch.stack(directions))]
            except RuntimeError as error:
                raise GradcheckError(f"While computing batched gradients, got: {error}") from error
            self.compare(found, i, "While computing batched gradients: ")

    def _filled(self, output: Tensor, direction: Tensor) -> list[Tensor]:
        found = self.gradients(output, direction)
        return [jtorch.zeros_like(x) if g is None else g for g, x in zip(found, self.checked, strict=True)]

    def forward(self) -> None:
        """Compares the Jacobians by forward derivatives."""
        for i, found in enumerate(self._jacfwd()):
            self.compare(found, i, "While computing forward derivatives: ")

    def _jacfwd(self) -> list[list[np.ndarray]]:
        """For each output, for each checked input, the Jacobian in forward mode."""
        chosen = {id(x) for x in self.checked}

        def of_checked(*own: Tensor) -> tuple[Tensor, ...]:
            rest = iter(own)
            found = self.func(*[next(rest) if id(x) in chosen else x for x in self.inputs])
            outputs = found if isinstance(found, (tuple, list)) else (found,)
            return tuple([o for o in outputs if isinstance(o, Tensor) and o._aval.differentiable])

        primals = tuple([x.detach() for x in self.checked])
        rows: list[list[np.ndarray]] = []
        for k, x in enumerate(primals):
            columns = []
            for direction in _directions(x):
                tangents = tuple([direction if j == k else jtorch.zeros_like(p) for j, p in enumerate(primals)])
                columns.append([_flat(t) for t in jtorch.func.jvp(of_checked, primals, tangents)[1]])
            rows.append([np.stack(c) for c in zip(*columns, strict=True)])
        return [list(column) for column in zip(*rows, strict=True)]


def _flat(t: Tensor) -> np.ndarray:
    """The elements as real numbers; complex ones as pairs."""
    a = t.detach().cpu().numpy().reshape(-1)  # type: ignore[attr-defined]
    if np.iscomplexobj(a):
        a = np.stack([a.real, a.imag], axis=-1).reshape(-1)
    return a.astype(np.float64)


def _directions(t: Tensor) -> Any:
    """One unit direction for each element; for complex ones, the real and the imaginary one."""
    for k in range(t.numel()):
        for unit in (1.0, 1j) if t.dtype.is_complex else (1.0,):
            flat = np.zeros(t.numel(), t.dtype.np)
            flat[k] = unit
            yield jtorch.from_numpy(flat.reshape(tuple(t.shape))).to(t.device)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
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
    """Whether the second derivatives of ``func`` agree with central differences of its gradients."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if grad_outputs is None:
        with enable_grad():
            found = func(*given)
        outputs = [o for o in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(o, Tensor) and o._aval.differentiable]
        directions = tuple([_random_like(o, gen_non_contig_grad_outputs) for o in outputs])
    else:
        directions = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(given)
    wanted = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    @enable_grad()
    def gradients(*args: Any) -> tuple[Any, ...]:
        own = args[:count]
        # An input that was given as it is would, being a leaf, collect what belongs to the derivative's own arguments.
        own = tuple([x.view_as(x) if i in wanted else x for i, x in enumerate(own)])
        found = func(*own)
        outputs = [o for o in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(o, Tensor) and o._aval.differentiable]
        pairs = [(o, g) for o, g in zip(outputs, args[count:], strict=True) if o.requires_grad]
        got = tape_grad([o for o, _ in pairs], [own[i] for i in wanted], [g for _, g in pairs], create_graph=True, allow_unused=True)
        return tuple([g for g in got if g is not None])

    return gradcheck(
        gradients,
        given + directions,
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
        masked=masked or None,
    )


def _random_like(t: Tensor, non_contiguous: bool) -> Tensor:
    found = jtorch.randn_like(t.detach())  # type: ignore[attr-defined]
    if non_contiguous and t.dim() > 0:
        found = jtorch.stack([found, found], -1)[..., 0]
    return found.requires_grad_()


class _Callable(types.ModuleType):
    """The module as a function too.

    In torch ``autograd.gradcheck`` is the function, and the name of this module. Importing the module binds that name to it, so it is both.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
