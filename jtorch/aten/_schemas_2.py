"""Facts: the signatures of ATen operators from ``float_power`` to ``rad2deg``."""

from __future__ import annotations

#: One operator a line; ``schema.py`` tells the notation.
TABLE = """\
float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor ; _Tensor =Tensor_Tensor_out
float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor ; _Scalar =Tensor_Scalar_out
float_power.Scalar(Scalar self, Tensor exponent) -> Tensor ; =Scalar_out
floor(Tensor self) -> Tensor ; _ =out
floor_divide(Tensor self, Tensor other) -> Tensor ; _Tensor =out
floor_divide.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
fmax(Tensor self, Tensor other) -> Tensor ; =out
fmin(Tensor self, Tensor other) -> Tensor ; =out
fmod.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
fmod.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
frac(Tensor self) -> Tensor ; _ =out
fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor) ; \
  =output:output,indices
fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor) ; \
  =output:output,indices
frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent) ; =Tensor_out:mantissa,exponent
frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor ; =out
full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
  Tensor
full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, \
  MemoryFormat? memory_format=None) -> Tensor
gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor ; =out
gcd(Tensor self, Tensor other) -> Tensor ; _ =out
ge.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
ge.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
gelu(Tensor self, *, str approximate="none") -> Tensor ; _ =out
gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor ; =grad_input:grad_input
geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor ; _ =out
geqrf(Tensor self) -> (Tensor a, Tensor tau) ; =a:a,tau
ger(Tensor self, Tensor vec2) -> Tensor ; =out
get_device(Tensor self) -> int
glu(Tensor self, int dim=-1) -> Tensor ; =out
glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor ; =grad_input:grad_input
gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]
gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]
gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]
gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]
gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]
gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]
gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]
greater.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
greater.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
greater_equal.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
greater_equal.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor
grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor ; =out
grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, \
  bool[2] output_mask) -> (Tensor, Tensor) ; =out:out0,out1
grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor ; =out
group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool \
  cudnn_enabled=True) -> Tensor
gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, \
  bool batch_first) -> (Tensor, Tensor)
gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, \
  bool bidirectional) -> (Tensor, Tensor)
gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor
gt.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
gt.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? \
  device=None, bool? pin_memory=None) -> Tensor
hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? \
  layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor ; =out
hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor ; =grad_input:grad_input
hardsigmoid(Tensor self) -> Tensor ; _ =out
hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor ; =grad_input:grad_input
hardswish(Tensor self) -> Tensor ; _ =out
hardswish_backward(Tensor grad_output, Tensor self) -> Tensor ; =out
hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor ; _ =out
hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor ; =grad_input:grad_input
hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor ; =out
heaviside(Tensor self, Tensor values) -> Tensor ; _ =out
hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor
histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor ; =out
histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges) ; \
  =bins_tensor_out:hist,bin_edges
histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor \
  bin_edges) ; =bin_ct_out:hist,bin_edges
histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)
histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] \
  bin_edges)
histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor \
  hist, Tensor[] bin_edges)
hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
hspmm(Tensor mat1, Tensor mat2) -> Tensor ; =out
hstack(Tensor[] tensors) -> Tensor ; =out
huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor ; =out
huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor ; =out:grad_input
hypot(Tensor self, Tensor other) -> Tensor ; _ =out
i0(Tensor self) -> Tensor ; _ =out
igamma(Tensor self, Tensor other) -> Tensor ; _ =out
igammac(Tensor self, Tensor other) -> Tensor ; _ =out
im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor ; =out
imag(Tensor(a) self) -> Tensor(a)
index.Tensor(Tensor self, Tensor?[] indices) -> Tensor ; =Tensor_out
index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor ; _ =out
index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor ; _ =out
index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor ; _ =int_Tensor_out
index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor ; _ =int_Scalar_out
index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor ; _ =out
index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor ; _ =out
index_select(Tensor self, int dim, Tensor index) -> Tensor ; =out
index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor
indices(Tensor(a) self) -> Tensor(a)
indices_copy(Tensor self) -> Tensor ; =out
inner(Tensor self, Tensor other) -> Tensor ; =out
instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float \
  momentum, float eps, bool cudnn_enabled) -> Tensor
int_repr(Tensor self) -> Tensor ; =out
inverse(Tensor self) -> Tensor ; =out
is_coalesced(Tensor self) -> bool
is_complex(Tensor self) -> bool
is_conj(Tensor self) -> bool
is_distributed(Tensor self) -> bool
is_floating_point(Tensor self) -> bool
is_inference(Tensor self) -> bool
is_neg(Tensor self) -> bool
is_nonzero(Tensor self) -> bool
is_pinned(Tensor self, Device? device=None) -> bool
is_same_size(Tensor self, Tensor other) -> bool
is_set_to(Tensor self, Tensor tensor) -> bool
is_signed(Tensor self) -> bool
isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor
isfinite(Tensor self) -> Tensor
isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor ; =Tensor_Tensor_out
isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor ; =Tensor_Scalar_out
isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor ; =Scalar_Tensor_out
isinf(Tensor self) -> Tensor ; =out
isnan(Tensor self) -> Tensor ; =out
isneginf(Tensor self) -> Tensor ; =out
isposinf(Tensor self) -> Tensor ; =out
isreal(Tensor self) -> Tensor
istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool \
  normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor
item(Tensor self) -> Scalar
kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None) -> Tensor
kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor
kron(Tensor self, Tensor other) -> Tensor ; =out
kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices) ; =values:values,indices
l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool \
  cudnn_enable=True) -> Tensor
lcm(Tensor self, Tensor other) -> Tensor ; _ =out
ldexp.Tensor(Tensor self, Tensor other) -> Tensor ; _default =out
le.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
le.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor ; _ =out
leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor ; =grad_input:grad_input
lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor ; _ =Scalar_out
lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor ; _ =Tensor_out
less.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
less.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
less_equal.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
less_equal.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
lgamma(Tensor self) -> Tensor ; _ =out
lift(Tensor self) -> Tensor ; =out
lift_fresh(Tensor(a) self) -> Tensor(a)
lift_fresh_copy(Tensor self) -> Tensor ; =out
linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor ; =out
linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info) ; =L:L,info
linalg_cond(Tensor self, Scalar? p=None) -> Tensor ; =out
linalg_cond.p_str(Tensor self, str p) -> Tensor ; =p_str_out
linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor ; =out
linalg_det(Tensor A) -> Tensor ; =out
linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)
linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors) ; =out:eigenvalues,eigenvectors
linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors) ; =eigvals:eigvals,eigvecs
linalg_eigvals(Tensor self) -> Tensor ; =out
linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor ; =out
linalg_householder_product(Tensor input, Tensor tau) -> Tensor ; =out
linalg_inv(Tensor A) -> Tensor ; =out
linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info) ; =inverse:inverse,info
linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots) ; =out:LD,pivots
linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info) ; \
  =out:LD,pivots,info
linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor ; =out
linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, \
  Tensor singular_values) ; =out:solution,residuals,rank,singular_values
linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U) ; =out:P,L,U
linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots) ; =out:LU,pivots
linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info) ; \
  =out:LU,pivots,info
linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor ; =out
linalg_matmul(Tensor self, Tensor other) -> Tensor ; =out
linalg_matrix_exp(Tensor self) -> Tensor ; =out
linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =out
linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; \
  =str_ord_out
linalg_matrix_power(Tensor self, int n) -> Tensor ; =out
linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor ; =out
linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor ; =out_tol_tensor
linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor ; \
  =atol_rtol_tensor_out
linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor ; \
  =atol_rtol_float_out
linalg_multi_dot(Tensor[] tensors) -> Tensor ; =out
linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =out
linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =ord_str_out
linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor ; =out
linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor ; =atol_rtol_float_out
linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor ; \
  =atol_rtol_tensor_out
linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor ; =out_rcond_tensor
linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R) ; =out:Q,R
linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet) ; =out:sign,logabsdet
linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor ; =out
linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info) ; =out:result,info
linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor ; =out
linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh) ; =U:U,S,Vh
linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor ; =out
linalg_tensorinv(Tensor self, int ind=2) -> Tensor ; =out
linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor ; =out
linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor
linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor ; =out
linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =out
linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor ; =out
linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None) -> Tensor
linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None) -> Tensor
linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None) -> Tensor
linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
log(Tensor self) -> Tensor ; _ =out
log10(Tensor self) -> Tensor ; _ =out
log1p(Tensor self) -> Tensor ; _ =out
log2(Tensor self) -> Tensor ; _ =out
log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor ; _ =out
log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor ; =grad_input:grad_input
log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))
log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor ; =int_out
logaddexp(Tensor self, Tensor other) -> Tensor ; =out
logaddexp2(Tensor self, Tensor other) -> Tensor ; =out
logcumsumexp(Tensor self, int dim) -> Tensor ; =out
logdet(Tensor self) -> Tensor
logical_and(Tensor self, Tensor other) -> Tensor ; _ =out
logical_not(Tensor self) -> Tensor ; _ =out
logical_or(Tensor self, Tensor other) -> Tensor ; _ =out
logical_xor(Tensor self, Tensor other) -> Tensor ; _ =out
logit(Tensor self, float? eps=None) -> Tensor ; _ =out
logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor ; =grad_input:grad_input
logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? \
  device=None, bool? pin_memory=None) -> Tensor
logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? \
  device=None, bool? pin_memory=None) -> Tensor
logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? \
  device=None, bool? pin_memory=None) -> Tensor
logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None) -> Tensor
logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor ; =out
lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool \
  bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)
lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, \
  bool bidirectional) -> (Tensor, Tensor, Tensor)
lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)
lt.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
lt.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor ; =out
lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U) ; \
  =out:P,L,U
margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor
masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor ; _ =Scalar_out
masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor ; _ =Tensor_out
masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor ; _ =out
masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor
masked_select(Tensor self, Tensor mask) -> Tensor ; =out
matmul(Tensor self, Tensor other) -> Tensor ; =out
matrix_exp(Tensor self) -> Tensor
matrix_power(Tensor self, int n) -> Tensor ; =out
max.other(Tensor self, Tensor other) -> Tensor ; =out
max(Tensor self) -> Tensor ; =unary_out
max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; =dim_max:max,max_values
max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor
max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool \
  ceil_mode=False) -> (Tensor, Tensor)
max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor
max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) \
  -> (Tensor, Tensor) ; =out:out,indices
max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, \
  bool ceil_mode, Tensor indices) -> Tensor ; =grad_input:grad_input
max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor
max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) \
  -> (Tensor, Tensor) ; =out:out,indices
max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, \
  bool ceil_mode, Tensor indices) -> Tensor ; =grad_input:grad_input
max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor ; =out
max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor ; =out
maximum(Tensor self, Tensor other) -> Tensor ; =out
mean(Tensor self, *, ScalarType? dtype=None) -> Tensor ; =dtype_out
mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =out
median(Tensor self) -> Tensor ; =out
median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; =dim_values:values,indices
meshgrid(Tensor[] tensors) -> Tensor[]
meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]
min.other(Tensor self, Tensor other) -> Tensor ; =out
min(Tensor self) -> Tensor ; =unary_out
min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; =dim_min:min,min_indices
minimum(Tensor self, Tensor other) -> Tensor ; =out
mish(Tensor self) -> Tensor ; _ =out
mish_backward(Tensor grad_output, Tensor self) -> Tensor
mm(Tensor self, Tensor mat2) -> Tensor ; =out
mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor ; =dtype_out
mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices) ; =values:values,indices
moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)
movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)
movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor ; =out
mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor ; =grad_input:grad_input
msort(Tensor self) -> Tensor ; =out
mul.Tensor(Tensor self, Tensor other) -> Tensor ; _ =out
mul.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor ; =out
multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor ; =out
multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)
multilabel_margin_loss_forward.output(Tensor self, Tensor target, int reduction, *, Tensor(a!) output, Tensor(b!) is_target) -> \
  (Tensor(a!), Tensor(b!))
multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor ; =out
multiply.Tensor(Tensor self, Tensor other) -> Tensor ; _ =out
multiply.Scalar(Tensor self, Scalar other) -> Tensor ; _
mv(Tensor self, Tensor vec) -> Tensor ; =out
mvlgamma(Tensor self, int p) -> Tensor ; _ =out
nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor ; _ =out
nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =out
nanmedian(Tensor self) -> Tensor ; =out
nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; =dim_values:values,indices
nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor ; =out
nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor ; =scalar_out
nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =out
narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)
narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)
narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor ; =out
native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float \
  momentum, float eps) -> (Tensor, Tensor, Tensor) ; =out:out,save_mean,save_invstd
native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? \
  save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor) ; =out:out0,out1,out2
native_channel_shuffle(Tensor self, SymInt groups) -> Tensor
native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor) ; =out:out0,out1
native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor ; =out
native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, \
  Tensor, Tensor) ; =out:out0,out1,out2
native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, \
  int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor) ; =out:out0,out1,out2
native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor) ; \
  =out:out0,out1,out2
native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, \
  Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor) ; =out:out0,out1,out2
native_norm(Tensor self, Scalar p=2) -> Tensor ; =out
native_norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, ScalarType? dtype) -> Tensor ; \
  =ScalarOpt_dim_dtype_out
ne.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
ne.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
neg(Tensor self) -> Tensor ; _ =out
negative(Tensor self) -> Tensor ; _ =out
new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
  Tensor
new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None) -> Tensor
new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
  Tensor
new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
  Tensor
nextafter(Tensor self, Tensor other) -> Tensor ; _ =out
nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor ; =out
nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor \
  total_weight) -> Tensor ; =grad_input:grad_input
nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor \
  total_weight)
nll_loss2d_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, *, Tensor(a!) output, \
  Tensor(b!) total_weight) -> (Tensor(a!), Tensor(b!))
nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor \
  total_weight) -> Tensor ; =grad_input:grad_input
nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)
nll_loss_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, *, Tensor(a!) output, \
  Tensor(b!) total_weight) -> (Tensor(a!), Tensor(b!))
nonzero(Tensor self) -> Tensor ; =out
nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor ; =out
norm.Scalar(Tensor self, Scalar p=2) -> Tensor ; =Scalar_out
norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor ; =out
norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor ; =dtype_out
norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor ; =ScalarOpt_dtype_out
norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor
normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor ; =Tensor_float_out
normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor ; =float_Tensor_out
normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor ; =Tensor_Tensor_out
normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, \
  Device? device=None, bool? pin_memory=None) -> Tensor
normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)
not_equal.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
not_equal.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
nuclear_norm(Tensor self, bool keepdim=False) -> Tensor ; =out
nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor ; =dim_out
numel(Tensor self) -> int
one_hot(Tensor self, int num_classes=-1) -> Tensor
ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
  memory_format=None) -> Tensor
orgqr(Tensor self, Tensor input2) -> Tensor ; =out
ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor ; =out
outer(Tensor self, Tensor vec2) -> Tensor ; =out
pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor
pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor
pdist(Tensor self, float p=2.) -> Tensor
permute(Tensor(a) self, int[] dims) -> Tensor(a)
permute_copy(Tensor self, int[] dims) -> Tensor ; =out
pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)
pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor
pixel_shuffle(Tensor self, int upscale_factor) -> Tensor ; =out
pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor ; =out
poisson(Tensor self, Generator? generator=None) -> Tensor ; =out
poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor
polar(Tensor abs, Tensor angle) -> Tensor ; =out
polygamma(int n, Tensor self) -> Tensor ; =out
polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
positive(Tensor(a) self) -> Tensor(a)
pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor ; _Tensor =Tensor_Tensor_out
pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor ; _Scalar =Tensor_Scalar_out
pow.Scalar(Scalar self, Tensor exponent) -> Tensor ; =Scalar_out
prelu(Tensor self, Tensor weight) -> Tensor
prod(Tensor self, *, ScalarType? dtype=None) -> Tensor ; =out
prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =int_out
put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor ; _ =out
qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R) ; =Q:Q,R
qscheme(Tensor self) -> QScheme
quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor ; =out
quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor ; =scalar_out
quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor ; =out
quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor ; =out
quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor ; =tensor_qparams_out
quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> Tensor[]
quantize_per_tensor.tensors_out(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype, *, Tensor(a!)[] out) -> ()
quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor ; =out
rad2deg(Tensor self) -> Tensor ; _ =out
"""
