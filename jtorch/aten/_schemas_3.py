"""Facts: the signatures of ATen operators from ``rand`` to ``zeros_like``."""

from __future__ import annotations

#: One operator a line; ``schema.py`` tells the notation.
TABLE = """\
rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
  memory_format=None) -> Tensor
rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None) -> Tensor
randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, \
  Device? device=None, bool? pin_memory=None) -> Tensor
randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, \
  MemoryFormat? memory_format=None) -> Tensor
randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
  bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? \
  device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? \
  device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? \
  layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
  memory_format=None) -> Tensor
randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor ; _ =from_out
random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor ; _ =to_out
random(Tensor self, *, Generator? generator=None) -> Tensor ; _ =out
randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None) -> Tensor
range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
ravel(Tensor(a) self) -> Tensor(a)
real(Tensor(a) self) -> Tensor(a)
reciprocal(Tensor self) -> Tensor ; _ =out
record_stream(Tensor(a!) self, Stream s) -> ()
reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor ; =out
reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor ; =grad_input:grad_input
reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor ; =out
reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor ; =grad_input:grad_input
reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor ; =out
relu(Tensor self) -> Tensor ; _ =out
relu6(Tensor self) -> Tensor ; _
remainder.Tensor(Tensor self, Tensor other) -> Tensor ; _ =Tensor_out
remainder.Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out
remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor ; =Scalar_Tensor_out
renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor ; _ =out
repeat(Tensor self, SymInt[] repeats) -> Tensor ; =out
repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor ; =Tensor_out
repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor ; =out
replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor ; =grad_input:grad_input
replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor ; =out
replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor ; =grad_input:grad_input
replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor ; =out
reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)
resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor ; _ =out
resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor ; _ =out
resize_as_sparse(Tensor self, Tensor the_template) -> Tensor ; _ =out
resolve_conj(Tensor(a) self) -> Tensor(a)
resolve_neg(Tensor(a) self) -> Tensor(a)
retain_grad(Tensor(a!) self) -> ()
rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor
rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool \
  bidirectional, bool batch_first) -> (Tensor, Tensor)
rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool \
  train, bool bidirectional) -> (Tensor, Tensor)
rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor
rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool \
  bidirectional, bool batch_first) -> (Tensor, Tensor)
rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool \
  train, bool bidirectional) -> (Tensor, Tensor)
rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor
roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor ; =out
rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor ; =out
round(Tensor self) -> Tensor ; _ =out
round.decimals(Tensor self, *, int decimals) -> Tensor ; _ =decimals_out
row_indices(Tensor(a) self) -> Tensor(a)
row_indices_copy(Tensor self) -> Tensor ; =out
row_stack(Tensor[] tensors) -> Tensor ; =out
rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor ; _
rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? \
  generator=None) -> Tensor ; _ =out
rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool \
  self_is_result) -> Tensor ; =out
rsqrt(Tensor self) -> Tensor ; _ =out
rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor ; =Tensor_out
rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; =Scalar_out
scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool \
  is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor ; _ =value_out
scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor ; _ =src_out
scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor ; _ =reduce_out
scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor ; _ =value_reduce_out
scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor ; _ =out
scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor ; _ =two_out
searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? \
  sorter=None) -> Tensor ; =Tensor_out
searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? \
  sorter=None) -> Tensor ; =Scalar_out
segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool \
  unsafe=False, Scalar? initial=None) -> Tensor ; =out
select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor ; =out
select_copy.int(Tensor self, int dim, SymInt index) -> Tensor ; =int_out
select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor ; =out
selu(Tensor self) -> Tensor ; _
set.source_Storage(Tensor self, Storage source) -> Tensor ; _ =source_Storage_out
set.source_Storage_storage_offset(Tensor self, Storage source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor ; \
  _ =source_Storage_storage_offset_out
set.source_Tensor(Tensor self, Tensor source) -> Tensor ; _ =source_Tensor_out
set(Tensor self) -> Tensor ; _ =out
set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> \
  Tensor(a!)
sgn(Tensor self) -> Tensor ; _ =out
sigmoid(Tensor self) -> Tensor ; _ =out
sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor ; =grad_input:grad_input
sign(Tensor self) -> Tensor ; _ =out
signbit(Tensor self) -> Tensor ; =out
silu(Tensor self) -> Tensor ; _ =out
silu_backward(Tensor grad_output, Tensor self) -> Tensor ; =grad_input:grad_input
sin(Tensor self) -> Tensor ; _ =out
sinc(Tensor self) -> Tensor ; _ =out
sinh(Tensor self) -> Tensor ; _ =out
slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor ; =out
slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor ; =Tensor_out
slice_inverse(Tensor(a) self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor ; =out
slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet) ; =out:sign,logabsdet
smm(Tensor self, Tensor mat2) -> Tensor
smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor ; =out
smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor ; =grad_input:grad_input
soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor ; =out
softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor ; =int_out
softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor ; =out
softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor ; =grad_input:grad_input
softshrink(Tensor self, Scalar lambd=0.5) -> Tensor ; =out
softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor ; =grad_input:grad_input
sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices) ; =values:values,indices
sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices) ; \
  =values_stable:values,indices
sparse_bsc_tensor.ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, ScalarType? dtype=None, \
  Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_bsc_tensor.ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, ScalarType? dtype=None, Layout? \
  layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_bsr_tensor.crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, ScalarType? dtype=None, \
  Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_bsr_tensor.crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, ScalarType? dtype=None, Layout? \
  layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_compressed_tensor.comp_plain_value_size(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, \
  ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_compressed_tensor.comp_plain_value(Tensor compressed_indices, Tensor plain_indices, Tensor values, *, ScalarType? dtype=None, \
  Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_coo_tensor.size(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> \
  Tensor
sparse_coo_tensor.indices(Tensor indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
  pin_memory=None, bool? is_coalesced=None) -> Tensor
sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? \
  device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor
sparse_csc_tensor.ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, ScalarType? dtype=None, \
  Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_csc_tensor.ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, ScalarType? dtype=None, Layout? \
  layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_csr_tensor.crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, ScalarType? dtype=None, \
  Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_csr_tensor.crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, ScalarType? dtype=None, Layout? \
  layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
sparse_dim(Tensor self) -> int
sparse_mask(Tensor self, Tensor mask) -> Tensor ; =out
sparse_resize(Tensor self, int[] size, int sparse_dim, int dense_dim) -> Tensor ; _ =out
sparse_resize_and_clear(Tensor self, int[] size, int sparse_dim, int dense_dim) -> Tensor ; _ =out
special_airy_ai(Tensor x) -> Tensor ; =out
special_bessel_j0(Tensor self) -> Tensor ; =out
special_bessel_j1(Tensor self) -> Tensor ; =out
special_bessel_y0(Tensor self) -> Tensor ; =out
special_bessel_y1(Tensor self) -> Tensor ; =out
special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor ; =out
special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor ; =out
special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor ; =out
special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor ; =out
special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_digamma(Tensor self) -> Tensor ; =out
special_entr(Tensor self) -> Tensor ; =out
special_erf(Tensor self) -> Tensor ; =out
special_erfc(Tensor self) -> Tensor ; =out
special_erfcx(Tensor self) -> Tensor ; =out
special_erfinv(Tensor self) -> Tensor ; =out
special_exp2(Tensor self) -> Tensor ; =out
special_expit(Tensor self) -> Tensor ; =out
special_expm1(Tensor self) -> Tensor ; =out
special_gammainc(Tensor self, Tensor other) -> Tensor ; =out
special_gammaincc(Tensor self, Tensor other) -> Tensor ; =out
special_gammaln(Tensor self) -> Tensor ; =out
special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor ; =out
special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor ; =out
special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_i0(Tensor self) -> Tensor ; =out
special_i0e(Tensor self) -> Tensor ; =out
special_i1(Tensor self) -> Tensor ; =out
special_i1e(Tensor self) -> Tensor ; =out
special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor ; =out
special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor ; =out
special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_log1p(Tensor self) -> Tensor ; =out
special_log_ndtr(Tensor self) -> Tensor ; =out
special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
special_logit(Tensor self, float? eps=None) -> Tensor ; =out
special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor ; =out
special_modified_bessel_i0(Tensor self) -> Tensor ; =out
special_modified_bessel_i1(Tensor self) -> Tensor ; =out
special_modified_bessel_k0(Tensor self) -> Tensor ; =out
special_modified_bessel_k1(Tensor self) -> Tensor ; =out
special_multigammaln(Tensor self, int p) -> Tensor ; =out
special_ndtr(Tensor self) -> Tensor ; =out
special_ndtri(Tensor self) -> Tensor ; =out
special_polygamma(int n, Tensor self) -> Tensor ; =out
special_psi(Tensor self) -> Tensor ; =out
special_round(Tensor self, *, int decimals=0) -> Tensor ; =out
special_scaled_modified_bessel_k0(Tensor x) -> Tensor ; =out
special_scaled_modified_bessel_k1(Tensor x) -> Tensor ; =out
special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor ; =out
special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor ; =out
special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor ; =out
special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor ; =out
special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor ; =x_scalar_out
special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor ; =n_scalar_out
special_sinc(Tensor self) -> Tensor ; =out
special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
special_spherical_bessel_j0(Tensor x) -> Tensor ; =out
special_xlog1py(Tensor self, Tensor other) -> Tensor ; =out
special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor ; =other_scalar_out
special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor ; =self_scalar_out
special_xlogy(Tensor self, Tensor other) -> Tensor ; =out
special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor ; =other_scalar_out
special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor ; =self_scalar_out
special_zeta(Tensor self, Tensor other) -> Tensor ; =out
special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor ; =other_scalar_out
special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor ; =self_scalar_out
split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]
split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()
split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()
sqrt(Tensor self) -> Tensor ; _ =out
square(Tensor self) -> Tensor ; _ =out
squeeze(Tensor(a) self) -> Tensor(a) ; _
squeeze.dim(Tensor(a) self, int dim) -> Tensor(a) ; _
squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a) ; _
squeeze_copy(Tensor self) -> Tensor ; =out
squeeze_copy.dim(Tensor self, int dim) -> Tensor ; =dim_out
squeeze_copy.dims(Tensor self, int[] dim) -> Tensor ; =dims_out
sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; =out
stack(Tensor[] tensors, int dim=0) -> Tensor ; =out
std(Tensor self, bool unbiased=True) -> Tensor
std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor ; =out
std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor ; =correction_out
std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor) ; \
  =correction_out:out0,out1
stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? \
  onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor
stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str \
  pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor
sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor ; _ =out
sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; _ =Scalar_out
subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor ; _ =out
subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; _
sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; =IntList_out
sum(Tensor self, *, ScalarType? dtype=None) -> Tensor ; =out
sum_to_size(Tensor self, SymInt[] size) -> Tensor
svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V) ; =U:U,S,V
swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a) ; _
swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a) ; _
sym_numel(Tensor self) -> SymInt
sym_size.int(Tensor self, int dim) -> SymInt
sym_stride.int(Tensor self, int dim) -> SymInt
t(Tensor(a) self) -> Tensor(a) ; _
t_copy(Tensor self) -> Tensor ; =out
take(Tensor self, Tensor index) -> Tensor ; =out
take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor ; =out
tan(Tensor self) -> Tensor ; _ =out
tanh(Tensor self) -> Tensor ; _ =out
tanh_backward(Tensor grad_output, Tensor output) -> Tensor ; =grad_input:grad_input
tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]
tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]
tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]
tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor ; =out
threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor ; _ =out
threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor ; =grad_input:grad_input
tile(Tensor self, SymInt[] dims) -> Tensor
to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? \
  memory_format=None) -> Tensor(a)
to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool \
  non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor
to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor ; =out
to_padded_tensor(Tensor self, float padding, SymInt[]? output_size=None) -> Tensor ; =out
to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor
to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor
to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor
to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor
to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor
to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor
topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices) ; =values:values,indices
trace(Tensor self) -> Tensor ; =out
trace_backward(Tensor grad, SymInt[] sizes) -> Tensor
transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a) ; _default
transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor ; =int_out
trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor
trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor
trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor
triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor \
  cloned_coefficient) ; =X:X,M
tril(Tensor self, SymInt diagonal=0) -> Tensor ; _ =out
tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) \
  -> Tensor
triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, \
  bool swap=False, int reduction=1) -> Tensor
triu(Tensor self, SymInt diagonal=0) -> Tensor ; _ =out
triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) \
  -> Tensor
true_divide.Tensor(Tensor self, Tensor other) -> Tensor ; _ =out
true_divide.Scalar(Tensor self, Scalar other) -> Tensor ; _
trunc(Tensor self) -> Tensor ; _ =out
type_as(Tensor self, Tensor other) -> Tensor
unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
unbind_copy.int(Tensor self, int dim=0) -> Tensor[]
unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()
unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)
unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor ; =out
unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor ; =out
uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor ; _ =out
unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor) ; \
  =out:out0,out1,out2
unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor) ; \
  =out:out0,out1,out2
unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]
unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
unsafe_split.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()
unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
unsafe_split_with_sizes.out(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()
unsqueeze(Tensor(a) self, int dim) -> Tensor(a) ; _
unsqueeze_copy(Tensor self, int dim) -> Tensor ; =out
upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor ; =out
upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? \
  scales_h=None, float? scales_w=None) -> Tensor ; =grad_input:grad_input
upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor ; =out
upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor ; =vec_out
upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? \
  scales_h=None, float? scales_w=None) -> Tensor ; =grad_input:grad_input
upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor ; =out
upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None) \
  -> Tensor ; =grad_input:grad_input
upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor ; =out
upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor ; \
  =grad_input:grad_input
upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor ; =out
upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor ; =vec_out
upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? \
  scales_w=None) -> Tensor ; =grad_input:grad_input
upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor ; \
  =out
upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? \
  scales_w=None) -> Tensor ; =out
upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor
values(Tensor(a) self) -> Tensor(a)
values_copy(Tensor self) -> Tensor ; =out
vander(Tensor x, int? N=None, bool increasing=False) -> Tensor
var(Tensor self, bool unbiased=True) -> Tensor
var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor ; =out
var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor ; =correction_out
var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor) ; \
  =correction_out:out0,out1
vdot(Tensor self, Tensor other) -> Tensor ; =out
view(Tensor(a) self, SymInt[] size) -> Tensor(a)
view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
view_as(Tensor(a) self, Tensor other) -> Tensor(a)
view_as_complex(Tensor(a) self) -> Tensor(a)
view_as_complex_copy(Tensor self) -> Tensor ; =out
view_as_real(Tensor(a) self) -> Tensor(a)
view_as_real_copy(Tensor self) -> Tensor ; =out
view_copy(Tensor self, SymInt[] size) -> Tensor ; =out
view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor ; =dtype_out
vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
vstack(Tensor[] tensors) -> Tensor ; =out
where.self(Tensor condition, Tensor self, Tensor other) -> Tensor ; =self_out
where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor
where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor
where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor
where(Tensor condition) -> Tensor[]
xlogy.Tensor(Tensor self, Tensor other) -> Tensor ; _ =OutTensor
xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor ; _ =OutScalar_Other
xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor ; =OutScalar_Self
zero(Tensor self) -> Tensor ; _ =out
zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
  memory_format=None) -> Tensor
"""
