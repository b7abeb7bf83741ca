"""Modules of PyTorch whose names have their home in another module of this package.

PyTorch defines many public functions in private files, which packages import from; the files differ
here, the names do not.
"""

from __future__ import annotations

#: A line is ``home: modules``; a module that begins with a dot lies in its home.
_LINES = """
    accelerator: accelerator.memory accelerator.graphs
    ao.nn.intrinsic: .modules .modules.fused
    ao.nn.intrinsic.qat: .modules .modules.conv_fused .modules.linear_fused .modules.linear_relu
    ao.nn.intrinsic.quantized: .modules .modules.bn_relu .modules.conv_add .modules.conv_relu
        .modules.linear_relu
    ao.nn.qat: .modules .modules.conv .modules.embedding_ops .modules.linear
    ao.nn.qat.dynamic: .modules .modules.linear
    ao.nn.quantizable: .modules .modules.activation .modules.rnn
    ao.nn.quantized: .modules .modules.activation .modules.batchnorm .modules.conv .modules.dropout
        .modules.embedding_ops .modules.functional_modules .modules.linear .modules.normalization
        .modules.rnn .modules.utils
    ao.nn.quantized.dynamic: .modules .modules.conv .modules.linear .modules.rnn
    ao.nn.quantized.reference: .modules .modules.conv .modules.linear .modules.rnn .modules.sparse
        .modules.utils
    ao.nn.intrinsic.quantized.dynamic: .modules .modules.linear_relu
    ao.nn.sparse.quantized: .linear
    ao.nn.sparse.quantized.dynamic: .linear
    ao.pruning: .scheduler .scheduler.base_scheduler .scheduler.cubic_scheduler
        .scheduler.lambda_scheduler .sparsifier .sparsifier.base_sparsifier
        .sparsifier.nearly_diagonal_sparsifier .sparsifier.weight_norm_sparsifier
    ao.quantization: .quantize_jit
    ao.nn.quantized.functional: nn.quantized.functional
    ao.quantization.fake_quantize: quantization.fake_quantize
    ao.quantization.fuse_modules: quantization.fuse_modules
    ao.quantization.fuser_method_mappings: quantization.fuser_method_mappings
    ao.quantization.observer: quantization.observer
    ao.quantization.qconfig: quantization.qconfig
    ao.quantization.qconfig_mapping: quantization.qconfig_mapping
    ao.quantization.quant_type: quantization.quant_type
    ao.quantization.quantization_mappings: quantization.quantization_mappings
    ao.quantization.quantize: quantization.quantize
    ao.quantization.stubs: quantization.stubs
    ao.quantization.utils: quantization.utils
    ao.quantization.backend_config.native: ao.quantization.backend_config.fbgemm
        ao.quantization.backend_config.qnnpack ao.quantization.backend_config.x86
    cpu.amp: .autocast_mode .grad_scaler
    cuda: .sparse
    cuda.comm: nn.parallel.comm
    distributed._shard.sharded_tensor: .api distributed._sharded_tensor
    distributed._shard.sharded_optim: .api
    distributed._shard.sharding_plan: .api
    distributed._shard.sharding_spec: distributed._sharding_spec
    distributed.checkpoint: .hf_storage .optimizer
    distributed.checkpoint.api: distributed._shard.checkpoint.api
    distributed.checkpoint.default_planner: distributed._shard.checkpoint.default_planner
    distributed.checkpoint.filesystem: distributed._shard.checkpoint.filesystem
    distributed.checkpoint.format_utils: distributed._shard.checkpoint.format_utils
    distributed.checkpoint.metadata: distributed._shard.checkpoint.metadata
    distributed.checkpoint.planner: distributed._shard.checkpoint.planner
    distributed.checkpoint.planner_helpers: distributed._shard.checkpoint.planner_helpers
    distributed.checkpoint.state_dict: distributed._shard.checkpoint.state_dict
    distributed.checkpoint.state_dict_loader: distributed._shard.checkpoint.state_dict_loader
    distributed.checkpoint.state_dict_saver: distributed.checkpoint._storage_utils
        distributed._shard.checkpoint.state_dict_saver
    distributed.checkpoint.stateful: distributed._shard.checkpoint.stateful
    distributed.checkpoint.storage: distributed._shard.checkpoint.storage
    distributed.checkpoint.utils: distributed._shard.checkpoint.utils
    distributed.device_mesh: distributed.tensor.device_mesh distributed._tensor.device_mesh
    distributed.elastic.events: .api
    distributed.elastic.metrics: .api
    distributed.elastic.multiprocessing: .api
    distributed.elastic.multiprocessing.errors: .error_handler .handlers
    distributed.elastic.rendezvous: .api
    distributed.elastic.timer: .api .file_based_local_timer .local_timer
    distributed.fsdp: ._fully_shard .fully_sharded_data_parallel ._fully_shard._fully_shard
        distributed._composable.fsdp distributed._composable.fsdp.fully_shard
    distributed.nn: .api.remote_module
    distributed.optim: .optimizer
    distributed.optim.utils: distributed.optim.functional_adadelta
        distributed.optim.functional_adagrad distributed.optim.functional_adam
        distributed.optim.functional_adamax distributed.optim.functional_adamw
        distributed.optim.functional_rmsprop distributed.optim.functional_rprop
        distributed.optim.functional_sgd
    distributed.pipelining: ._IR
    distributed.tensor: distributed._tensor distributed._tensor.api
    distributed.tensor._shards_wrapper: distributed._tensor._shards_wrapper
    distributed.tensor._utils: distributed._tensor._utils
    distributed.tensor.experimental: distributed._tensor.experimental
    distributed.tensor.experimental._attention: distributed.tensor.experimental._context_parallel
        distributed.tensor.experimental._context_parallel._attention
        distributed.tensor.experimental._context_parallel._load_balancer
    distributed.tensor._placements_and_specs: distributed._tensor.placement_types
    compiler: _dynamo.backends.registry _dynamo.external_utils
    fft: _refs.fft
    func.vmap_internals: _vmap_internals
    _functorch.aot_autograd: _functorch._aot_autograd.utils
    jit: ._async ._freeze ._fuser ._serialization ._trace
    library: _library _library.custom_ops
    library.schemas: _library.infer_schema
    linalg: _refs.linalg
    masked: ._ops
    mtia: .memory .mtia_graph
    nn: _refs.nn
    nn.functional: _refs.nn.functional
    nn.modules.loss: nn.modules.linear_cross_entropy
    nn.utils._expanded_weights: .expanded_weights_impl
    onnx: _C._onnx ._internal.exporter ._internal.exporter._onnx_program
    onnx.symbolic_helper: onnx._internal.torchscript_exporter.symbolic_helper
    onnx.symbolic_opset9: onnx._internal.torchscript_exporter.symbolic_opset9
    onnx.symbolic_opset11: onnx.symbolic_opset12 onnx.symbolic_opset13 onnx.symbolic_opset14
        onnx.symbolic_opset15 onnx.symbolic_opset16 onnx.symbolic_opset17 onnx.symbolic_opset18
    optim: ._multi_tensor
    overrides: _overrides
    package: .analyze.is_from_package .file_structure_representation .glob_group .importer
        .package_exporter .package_importer
    profiler: .profiler
    signal.windows: .windows windows
    special: _refs.special
    testing: ._creation
    utils.benchmark: .utils.common .utils.compare .utils.fuzzer .utils.sparse_fuzzer .utils.timer
        .utils.valgrind_wrapper.timer_interface
    xpu: .graphs .random
    _src.neighbours.within.cuda_indices: cuda._utils
    _inductor.package.package: export.pt2_archive._package
    _src.neighbours.within.compiler_tables: _inductor.decomposition
    _src.neighbours.within.compiled_tests: _dynamo.testing _dynamo.test_case _inductor.test_case
    _src.neighbours.within.logs: _logging _logging._internal
    _src.neighbours.within.low_rank: _linalg_utils _lowrank _lobpcg
    _src.neighbours.within.references: _refs
    _src.neighbours.within.surroundings: _classes _environment _utils_internal
    _src.neighbours.within.transforms: _functorch.apis _functorch.eager_transforms
        _functorch.functional_call _functorch.batch_norm_replacement
    _src.neighbours.beside.functorch: _functorch.deprecated _functorch.make_functional
    _src.neighbours.within.small_parts: _compile utils._dtype_abbrs utils._exposed_in
        utils._functools utils._import_utils utils._ordered_set utils._stats utils._thunk
        utils._typing_utils utils.backcompat
    _src.tensor.printed_parts: _tensor_str
"""

#: Folders that PyTorch moved: below the older name lies what lies below the newer.
MOVED = {
    "distributed._shard.checkpoint": "distributed.checkpoint",
    "nn.intrinsic": "ao.nn.intrinsic",
    "nn.qat": "ao.nn.qat",
    "nn.quantizable": "ao.nn.quantizable",
    "nn.quantized": "ao.nn.quantized",
    "quantization": "ao.quantization",
}


def homes() -> dict[str, str]:
    """Module -> the module that has its names, but for those of ``MOVED``."""
    found, home = {}, ""
    for word in _LINES.split():
        if word.endswith(":"):
            home = word[:-1]
        else:
            found[home + word if word.startswith(".") else word] = home
    return found
