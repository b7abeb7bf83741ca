"""Schemas of operators that only exporters meet, in the notation of ``schema.py``."""

TABLE = """cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, \
float label_smoothing=0.0) -> Tensor
nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
log_sigmoid(Tensor self) -> Tensor
mT(Tensor(a) self) -> Tensor(a)
mH(Tensor(a) self) -> Tensor(a)
numpy_T(Tensor(a) self) -> Tensor(a)
_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, \
float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)
_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, \
float momentum, float eps) -> (Tensor, Tensor, Tensor)"""
