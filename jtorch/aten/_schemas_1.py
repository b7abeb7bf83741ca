"""Facts: the signatures of ATen operators from ``__and__`` to ``flipud``."""

from __future__ import annotations

#: One operator a line; ``schema.py`` tells the notation.
TABLE = """\
__and__.Scalar(Tensor self, Scalar other) -> Tensor
__and__.Tensor(Tensor self, Tensor other) -> Tensor
__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
__ixor__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
__ixor__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
__lshift__.Tensor(Tensor self, Tensor other) -> Tensor ; =Tensor_out
__lshift__.Scalar(Tensor self, Scalar other) -> Tensor ; =Scalar_out
__or__.Tensor(Tensor self, Tensor other) -> Tensor
__or__.Scalar(Tensor self, Scalar other) -> Tensor
__rshift__.Tensor(Tensor self, Tensor other) -> Tensor ; =Tensor_out
__rshift__.Scalar(Tensor self, Scalar other) -> Tensor ; =Scalar_out
__xor__.Tensor(Tensor self, Tensor other) -> Tensor
__xor__.Scalar(Tensor self, Scalar other) -> Tensor
_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor ; =out
_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor ; =out
_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor ; =out
_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor ; =out
_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor ; =out
_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)
_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype, ScalarType cpu_dtype) -> \
  Tensor(a)
_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, \
  float eps) -> (Tensor, Tensor, Tensor, Tensor)
_batch_norm_with_update.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float \
  momentum, float eps, *, Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd, Tensor(g!) reserve) -> (Tensor(d!), \
  Tensor(e!), Tensor(f!), Tensor(g!))
_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor ; =out
_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor ; =out
_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)
_conj(Tensor(a) self) -> Tensor(a)
_conj_physical(Tensor self) -> Tensor ; =out
_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool \
  transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor
_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, \
  SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor ; =out
_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> \
  (Tensor, Tensor) ; =out:out0,out1
_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool \
  zero_infinity=False) -> (Tensor, Tensor) ; =Tensor_out:out0,out1
_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()
_dimI(Tensor self) -> int
_dimV(Tensor self) -> int
_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor ; =out
_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? \
  per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor) ; \
  =out:out0,out1,out2,out3
_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool \
  sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, \
  Tensor) ; =out:out0,out1,out2,out3
_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor ; =out
_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor ; =out
_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor ; =out
_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor
_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)
_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, bool[2] output_mask) -> \
  (Tensor, Tensor)
_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor ; _ =out
_indices(Tensor(a) self) -> Tensor(a)
_is_all_true(Tensor self) -> Tensor
_is_any_true(Tensor self) -> Tensor
_is_zerotensor(Tensor self) -> bool
_lazy_clone(Tensor self) -> Tensor
_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()
_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots) ; =result:result,LU,pivots
_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors) ; \
  =eigenvalues:eigenvalues,eigenvectors
_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots) ; =sign:sign,logabsdet,LU,pivots
_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor \
  info) ; =result:result,LU,pivots,info
_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh) ; \
  =U:U,S,Vh
_local_scalar_dense(Tensor self) -> Scalar
_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor ; =out
_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor ; =out
_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
  memory_format=None) -> Tensor
_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, \
  float momentum, float eps) -> (Tensor, Tensor, Tensor)
_native_batch_norm_legit.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool \
  training, float momentum, float eps, *, Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd) -> (Tensor(d!), Tensor(e!), \
  Tensor(f!))
_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, \
  Tensor, Tensor) ; =no_stats_out:out,save_mean,save_invstd
_neg_view(Tensor(a) self) -> Tensor(a)
_nested_tensor_size(Tensor self) -> Tensor ; =out
_nested_tensor_storage_offsets(Tensor self) -> Tensor ; =out
_nested_tensor_strides(Tensor self) -> Tensor ; =out
_nnz(Tensor self) -> int
_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor ; =out
_pdist_forward(Tensor self, float p=2.) -> Tensor ; =out
_philox_normal_(Tensor(a!) self, Tensor key, float mean=0., float std=1.) -> Tensor(a!)
_philox_uniform_(Tensor(a!) self, Tensor key, float low=0., float high=1.) -> Tensor(a!)
_prelu_kernel(Tensor self, Tensor weight) -> Tensor
_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)
_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor ; =out
_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool \
  is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)
_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, \
  Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)
_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor \
  logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, \
  Tensor grad_value)
_softmax(Tensor self, int dim, bool half_to_float) -> Tensor ; =out
_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor ; =out:grad_input
_sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor ; =out
_standard_gamma(Tensor self, Generator? generator=None) -> Tensor ; =out
_standard_gamma_grad(Tensor self, Tensor output) -> Tensor ; =out
_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool \
  non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor ; =out
_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor ; =sparse_dim_out
_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor ; =out
_to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor ; =out
_to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor ; =out
_to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor ; =out
_to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor ; =out
_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor ; \
  =out
_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor) ; \
  =out:out0,out1,out2
_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
_unsafe_view(Tensor self, SymInt[] size) -> Tensor ; =out
_values(Tensor(a) self) -> Tensor(a)
_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor) ; =out:out0,out1
abs(Tensor self) -> Tensor ; _ =out
absolute(Tensor self) -> Tensor ; _ =out
acos(Tensor self) -> Tensor ; _ =out
acosh(Tensor self) -> Tensor ; _ =out
adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor ; =out
adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor ; =out
adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor ; =out
adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)
adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor) ; =out:out,indices
adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor ; =grad_input:grad_input
adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor) ; =out:out,indices
add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor ; _ =out
add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; _ =Scalar_out
addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; _ =out
addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor ; _ =out
addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor ; _ =out
addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; _ =out
addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; =dtype_out
addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; _ =out
addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; _ =out
adjoint(Tensor(a) self) -> Tensor(a)
affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor ; =out
alias(Tensor(a) self) -> Tensor(a)
alias_copy(Tensor self) -> Tensor ; =out
all(Tensor self) -> Tensor ; =all_out
all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor ; =out
all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor ; =dims_out
allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool
alpha_dropout(Tensor input, float p, bool train) -> Tensor
alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor ; =out
amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor ; =out
aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max) ; =out:min,max
angle(Tensor self) -> Tensor ; =out
any(Tensor self) -> Tensor ; =all_out
any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor ; =out
any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor ; =dims_out
arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
  Tensor
arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
arccos(Tensor self) -> Tensor ; _ =out
arccosh(Tensor self) -> Tensor ; _ =out
arcsin(Tensor self) -> Tensor ; _ =out
arcsinh(Tensor self) -> Tensor ; _ =out
arctan(Tensor self) -> Tensor ; _ =out
arctan2(Tensor self, Tensor other) -> Tensor ; _ =out
arctanh(Tensor self) -> Tensor ; _ =out
argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor ; =out
argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor ; =out
argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor ; =stable_out
argwhere(Tensor self) -> Tensor
as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a) ; _
as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor ; =out
as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor ; =out
asin(Tensor self) -> Tensor ; _ =out
asinh(Tensor self) -> Tensor ; _ =out
atan(Tensor self) -> Tensor ; _ =out
atan2(Tensor self, Tensor other) -> Tensor ; _ =out
atanh(Tensor self) -> Tensor ; _ =out
atleast_1d(Tensor self) -> Tensor
atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]
atleast_2d(Tensor self) -> Tensor
atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]
atleast_3d(Tensor self) -> Tensor
atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]
avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) \
  -> Tensor ; =out
avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, \
  int? divisor_override=None) -> Tensor ; =out
avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool \
  count_include_pad, int? divisor_override) -> Tensor ; =grad_input:grad_input
avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, \
  int? divisor_override=None) -> Tensor ; =out
avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool \
  count_include_pad, int? divisor_override) -> Tensor ; =grad_input:grad_input
baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; _ =out
baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; =dtype_out
bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, \
  float eps, bool cudnn_enabled) -> Tensor
bernoulli(Tensor self, *, Generator? generator=None) -> Tensor ; =out
bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)
bernoulli.float_out(Tensor self, float p=0.5, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)
bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor ; _ =Tensor_out
bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor
binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor ; =out
binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor ; \
  =grad_input:grad_input
binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor \
  ; =out
bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor ; =out
binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor ; =out
bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor ; =Scalar_Tensor_out
bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor ; _ =Tensor_Scalar_out
bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor ; =Scalar_Tensor_out
bitwise_not(Tensor self) -> Tensor ; _ =out
bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor ; =Scalar_Tensor_out
bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor ; _ =Tensor_Scalar_out
bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor ; =Scalar_Tensor_out
bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor ; =Scalar_Tensor_out
blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
block_diag(Tensor[] tensors) -> Tensor ; =out
bmm(Tensor self, Tensor mat2) -> Tensor ; =out
bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor ; =dtype_out
broadcast_tensors(Tensor[] tensors) -> Tensor[]
broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)
bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor ; =Tensor_out
bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor ; =Scalar_out
cartesian_prod(Tensor[] tensors) -> Tensor
cat(Tensor[] tensors, int dim=0) -> Tensor ; =out
cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor ; _ =out
ccol_indices(Tensor(a) self) -> Tensor(a)
ccol_indices_copy(Tensor self) -> Tensor ; =out
cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor
ceil(Tensor self) -> Tensor ; _ =out
celu(Tensor self, Scalar alpha=1.) -> Tensor ; _ =out
chain_matmul(Tensor[] matrices) -> Tensor ; =out
chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
channel_shuffle(Tensor self, SymInt groups) -> Tensor ; =out
cholesky(Tensor self, bool upper=False) -> Tensor ; =out
cholesky_inverse(Tensor self, bool upper=False) -> Tensor ; =out
cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor ; =out
chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor ; _ =out
clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor ; _ =Tensor_out
clamp_max(Tensor self, Scalar max) -> Tensor ; _ =out
clamp_max.Tensor(Tensor self, Tensor max) -> Tensor ; _ =Tensor_out
clamp_min(Tensor self, Scalar min) -> Tensor ; _ =out
clamp_min.Tensor(Tensor self, Tensor min) -> Tensor ; _ =Tensor_out
clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor ; _ =out
clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor ; _ =Tensor_out
clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor ; =out
coalesce(Tensor(a) self) -> Tensor(a)
col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor ; =out
col_indices(Tensor(a) self) -> Tensor(a)
col_indices_copy(Tensor self) -> Tensor ; =out
column_stack(Tensor[] tensors) -> Tensor ; =out
combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor
complex(Tensor real, Tensor imag) -> Tensor ; =out
concat(Tensor[] tensors, int dim=0) -> Tensor ; =out
concatenate(Tensor[] tensors, int dim=0) -> Tensor ; =out
conj(Tensor(a) self) -> Tensor(a)
conj_physical(Tensor self) -> Tensor ; _ =out
constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor ; =out
contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt \
  groups=1) -> Tensor
conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding="valid", SymInt[1] dilation=[1], \
  SymInt groups=1) -> Tensor
conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], \
  SymInt groups=1) -> Tensor
conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding="valid", SymInt[2] dilation=[1, \
  1], SymInt groups=1) -> Tensor
conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] \
  dilation=[1, 1, 1], SymInt groups=1) -> Tensor
conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding="valid", SymInt[3] \
  dilation=[1, 1, 1], SymInt groups=1) -> Tensor
conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor ; =out
conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] \
  output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor
conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] \
  output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor
conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], \
  SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor
convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, \
  SymInt[] output_padding, SymInt groups) -> Tensor ; =out
convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, \
  SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor) ; \
  =out:out0,out1,out2
copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor ; _ =out
copysign.Tensor(Tensor self, Tensor other) -> Tensor ; _ =out
copysign.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
corrcoef(Tensor self) -> Tensor
cos(Tensor self) -> Tensor ; _ =out
cosh(Tensor self) -> Tensor ; _ =out
cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor
cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor
count_nonzero(Tensor self, int? dim=None) -> Tensor ; =out
count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor ; =dim_IntList_out
cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor
cross(Tensor self, Tensor other, int? dim=None) -> Tensor ; =out
crow_indices(Tensor(a) self) -> Tensor(a)
crow_indices_copy(Tensor self) -> Tensor ; =out
ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool \
  zero_infinity=False) -> Tensor
ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool \
  zero_infinity=False) -> Tensor
cummax(Tensor self, int dim) -> (Tensor values, Tensor indices) ; =out:values,indices
cummin(Tensor self, int dim) -> (Tensor values, Tensor indices) ; =out:values,indices
cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor ; _ =out
cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor ; _ =out
cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor
cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
deg2rad(Tensor self) -> Tensor ; _ =out
dense_dim(Tensor self) -> int
dequantize.self(Tensor self) -> Tensor ; =self_out
dequantize.tensors(Tensor[] tensors) -> Tensor[]
dequantize.tensors_out(Tensor[] tensors, *, Tensor(a!)[] out) -> ()
det(Tensor self) -> Tensor
detach(Tensor(a) self) -> Tensor(a) ; _
detach_copy(Tensor self) -> Tensor ; =out
diag(Tensor self, int diagonal=0) -> Tensor ; =out
diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor ; =out
diagflat(Tensor self, int offset=0) -> Tensor
diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor ; =out
diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor ; =out
diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor ; =out
diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor ; =out
digamma(Tensor self) -> Tensor ; _ =out
dist(Tensor self, Tensor other, Scalar p=2) -> Tensor ; =out
div.Tensor(Tensor self, Tensor other) -> Tensor ; _ =out
div.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor ; _ =out_mode
div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor ; _ =Scalar_mode_out
divide.Tensor(Tensor self, Tensor other) -> Tensor ; _ =out
divide.Scalar(Tensor self, Scalar other) -> Tensor ; _
divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor ; _ =out_mode
divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor ; _
dot(Tensor self, Tensor tensor) -> Tensor ; =out
dropout(Tensor input, float p, bool train) -> Tensor
dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
dstack(Tensor[] tensors) -> Tensor ; =out
einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor ; _ =out
elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor ; \
  =grad_input:grad_input
embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor ; =out
embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor
embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? \
  per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)
embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? \
  per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)
embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> \
  Tensor ; =out
embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)
empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, \
  MemoryFormat? memory_format=None) -> Tensor
empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
  memory_format=None) -> Tensor
empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
empty_quantized(int[] size, Tensor qtensor, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
eq.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
eq.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
equal(Tensor self, Tensor other) -> bool
erf(Tensor self) -> Tensor ; _ =out
erfc(Tensor self) -> Tensor ; _ =out
erfinv(Tensor self) -> Tensor ; _ =out
exp(Tensor self) -> Tensor ; _ =out
exp2(Tensor self) -> Tensor ; _ =out
expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
expand_as(Tensor(a) self, Tensor other) -> Tensor(a)
expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor ; =out
expm1(Tensor self) -> Tensor ; _ =out
exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor ; _ =out
eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor
feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
feature_dropout(Tensor input, float p, bool train) -> Tensor
feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out
fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out
fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out
fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor
fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out
fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out
fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out
fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out
fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out
fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out
fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor
fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out
fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out
fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out
fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out
fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out
fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out
fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor ; =out
fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor ; =out
fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor ; =out
fill.Scalar(Tensor self, Scalar value) -> Tensor ; _ =Scalar_out
fill.Tensor(Tensor self, Tensor value) -> Tensor ; _ =Tensor_out
fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)
fix(Tensor self) -> Tensor ; _ =out
flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
flip(Tensor self, int[] dims) -> Tensor ; =out
fliplr(Tensor self) -> Tensor
flipud(Tensor self) -> Tensor
"""
