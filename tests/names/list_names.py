#!/usr/bin/env python3
"""Writes listed.txt: the public names that docs/from_jax.md has a word for. Those of JAX are read from JAX 0.10.2:

  python3 list_names.py > listed.txt

Primitives (names that end in _p) are left out. Those of Haliax (f41e7d4) and Equinox (0.13) are listed by hand below:
neither is installed where this runs. Each line: module and name."""
import importlib
import inspect

import jax

MODULES = """jax jax.numpy jax.numpy.linalg jax.numpy.fft jax.lax jax.nn jax.nn.initializers jax.ops jax.random
jax.tree jax.tree_util jax.scipy.special jax.scipy.stats jax.scipy.linalg jax.scipy.signal jax.scipy.ndimage
jax.scipy.integrate jax.scipy.interpolate jax.scipy.optimize jax.scipy.sparse.linalg jax.scipy.fft jax.image
jax.flatten_util""".split()
BY_HAND = {
    "haliax": """Axis make_axes selects_axis is_axis_compatible axis_name axis_size resolve_axis concat_axes union_axes
        eliminate_axes without_axes replace_axis intersect_axes rearrange_for_partial_order dslice ds dblock NamedArray
        named take slice updated_slice index rename flatten_axes unflatten_axis ravel flatten flatten_all_axes_but split
        unbind roll rearrange broadcast_to broadcast_axis broadcast_arrays check_shape zeros ones full zeros_like
        ones_like full_like arange linspace logspace geomspace stack concatenate repeat tile pad pad_left where clip
        tril triu top_k searchsorted bincount unique nonzero packbits unpackbits trace isclose allclose array_equal
        argmax argmin argsort sort cumsum cumprod sum mean max min prod std var ptp any all dot einsum vmap scan fold
        map auto_sharded shard shard_with_axis_mapping axis_mapping current_thread_local_mapping pspec_for
        infer_resource_partitions physical_axis_name physical_axis_size pspec_for_axis sharding_for_axis
        round_axis_for_partitioning named_jit fsdp field visualize_shardings tree_checkpoint_name
        ScanCheckpointPolicy named_call filter_checkpoint shaped_rng_split maybe_rng_split Static ensure_scalar""",
    "haliax.nn": """Linear MoELinear Embedding LayerNorm RmsNorm Dropout dropout MLP Conv ConvTranspose max_pool
        min_pool mean_pool softmax log_softmax logsumexp standardize one_hot cross_entropy_loss
        binary_cross_entropy_loss cross_entropy_loss_and_log_normalizers reduce_loss Stacked BlockSeq attention
        quantization""",
    "equinox": """Module field filter partition combine is_array is_inexact_array is_array_like tree_at tree_equal
        tree_check tree_pformat tree_pprint tree_inference apply_updates tree_serialise_leaves tree_deserialise_leaves
        filter_jit filter_grad filter_value_and_grad filter_vmap filter_pmap filter_eval_shape filter_checkpoint
        filter_custom_vjp filter_custom_jvp filter_jvp filter_vjp filter_linearize filter_hessian filter_jacfwd
        filter_jacrev filter_closure_convert filter_make_jaxpr filter_pure_callback filter_shard error_if
        branched_error_if clear_caches debug internal""",
    "equinox.nn": """Linear Identity Conv Conv1d Conv2d Conv3d ConvTranspose AvgPool1d AvgPool2d AvgPool3d MaxPool1d
        MaxPool2d MaxPool3d AdaptiveAvgPool1d AdaptiveMaxPool1d LayerNorm RMSNorm GroupNorm BatchNorm SpectralNorm
        WeightNorm Dropout Embedding RotaryPositionalEmbedding MultiheadAttention GRUCell LSTMCell MLP Sequential Lambda
        PReLU Shared State StateIndex make_with_state inference_mode""",
}


def names_of(module):
    m = importlib.import_module(module)
    for name in sorted(dir(m)):
        value = getattr(m, name, None)
        hidden = inspect.ismodule(value) and not value.__name__.startswith("jax.scipy.stats.")
        if not (name.startswith("_") or name.endswith("_p") or hidden):
            yield name


assert jax.__version__ == "0.10.2", jax.__version__
print("# Made by list_names.py.")
for module in MODULES:
    for name in names_of(module):
        print(module, name)
for module, names in BY_HAND.items():
    for name in names.split():
        print(module, name)
