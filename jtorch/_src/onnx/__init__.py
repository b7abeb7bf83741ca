"""What ``torch.onnx.export`` does: the operators of an exported program, translated to ONNX with
the functions of ``onnxscript``. Loaded by the first export, since it needs packages that jtorch can
do without: ``onnx``, ``onnx_ir``, ``onnxscript``."""
