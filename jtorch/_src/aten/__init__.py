"""Operators: ATen names and schemas for the public functions, and ``__torch_dispatch__`` on modes
and wrapper classes.

A public function whose operands include a wrapper, or that is called inside a dispatch mode, comes
here (``lowering.below``) and is written with operators. Each operator is remembered by autograd
(``recording``), shown to modes and classes (``calling``), and at the bottom run on plain tensors
(``kernels``). Plain tensors outside modes never come here; the first class or mode loads the
package.
"""
