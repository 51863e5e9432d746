#!/usr/bin/env python3
"""Golden values of gradient transformations and optimizers: updates of four steps, from JAX and Optax.

Development only: python make_optim.py > optim.txt. Written with jax and optax (versions in the file), CPU, f32.
A case is named like the transformation and the number of its sample in the law (tests/optim/law_test.cpp), or like an
optimizer there. Parameters and gradients come from a formula that the test repeats. The parameters follow the updates.
"""
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
from optax.contrib import _muon

SHAPES = {"norm.weight": (6,), "norm.bias": (6,), "up.weight": (6, 4), "up.bias": (4,), "plain": (5, 3),
          "stack": (2, 6, 2, 3), "number": ()}  # stack: layers, rows, heads and head_size
STEPS = 4


def values(shape, seed, scale):
    """scale * sin(seed + 0.37 * i + 0.05 * i * i) over the row-major position i: plain doubles, rounded once."""
    i = np.arange(math.prod(shape), dtype=np.float64)
    return jnp.asarray((scale * np.sin(seed + 0.37 * i + 0.05 * i * i)).reshape(shape).astype(np.float32))


def tree(seed, scale):
    return {path: values(shape, seed + k, scale) for k, (path, shape) in enumerate(SHAPES.items())}


def ramp(init, end, steps):
    return optax.linear_schedule(init, end, steps)


by_layer = {path: path in ("up.weight", "plain", "stack", "number") for path in SHAPES}
MUON = optax.contrib.MuonDimensionNumbers


def per_layer(tx):
    """As T5X: each layer of `stack` is a matrix, rows x (heads head_size); the other parameters are as they are."""
    def layers(t):
        t = dict(t)
        stack = t.pop("stack")
        return t | {f"stack.{k}": stack[k].reshape(6, 6) for k in range(2)}

    def update(u, state, params):
        new, state = tx.update(layers(u), state, layers(params))
        stack = jnp.stack([new.pop(f"stack.{k}").reshape(6, 2, 3) for k in range(2)])
        return new | {"stack": stack}, state
    return optax.GradientTransformation(lambda p: tx.init(layers(p)), update)


def muon(stacked=False, **options):
    """scale_by_muon and scale_by_shape of matrices; the others pass."""
    rms = options.pop("consistent_rms", None)
    dims = {"up.weight": MUON(0, 1), "plain": MUON(0, 1)} | ({"stack": MUON(1, (2, 3))} if stacked else {})
    mask = {path: path in dims for path in SHAPES}
    weights = {path: dims.get(path, optax.MaskedNode()) for path in SHAPES}
    tx = optax.chain(_muon.scale_by_muon(weight_dimension_numbers=lambda p: weights, **options),
                     _muon.scale_by_shape(lambda p: weights, rms))
    return optax.masked(tx, mask)


def clip_param_rms(max_scale):
    """T5X's max_parameter_scale."""
    def update(u, state, params):
        rms = {k: jnp.clip(jnp.sqrt(jnp.mean(p * p)), 1e-3, max_scale) for k, p in params.items()}
        return {k: u[k] * rms[k] for k in u}, state
    return optax.GradientTransformation(lambda p: optax.EmptyState(), update)


def loss_scaled(tx, scales):
    """The gradients come times these scales, one a step."""
    scales = jnp.asarray(scales, jnp.float32)

    def update(u, state, params):
        count, inner = state
        u, inner = tx.update(jax.tree.map(lambda g: g * (1 / scales[count]), u), inner, params)
        return u, (count + 1, inner)
    return optax.GradientTransformation(lambda p: (0, tx.init(p)), update)


def injected(learning_rate, weight_decay):
    return optax.chain(optax.trace(0.9), optax.add_decayed_weights(weight_decay),
                       optax.scale_by_learning_rate(learning_rate))


def lookahead(fast, *args, **kw):
    """The slow parameters, which Optax keeps beside the others, in the state."""
    tx = optax.lookahead(fast, *args, **kw)

    def update(u, state, params):
        slow, inner = state
        u, inner = tx.update(u, inner, optax.LookaheadParams(params, slow))
        return u.fast, (optax.apply_updates(slow, u.slow), inner)
    return optax.GradientTransformation(lambda p: (p, tx.init(optax.LookaheadParams(p, p))), update)


def settings(*parts, decay=0.0, after=(), mask=None):
    """A word of the settings with lr 0.1 after a warm-up of 3 steps, clip 1, and its other defaults."""
    decays = [optax.add_decayed_weights(decay, mask or by_layer)] if decay else []
    return optax.chain(optax.clip_by_global_norm(1), *parts, *decays,
                       optax.scale_by_learning_rate(ramp(0, 0.1, 3)), *after)


def muon_settings():
    """Matrices by Muon, the others by AdamW at 1e-3; both decay as the layers say."""
    dims = {"up.weight": MUON(0, 1), "plain": MUON(0, 1), "stack": MUON(1, (2, 3))}
    weights = {path: dims.get(path, optax.MaskedNode()) for path in SHAPES}
    hidden = {path: path in dims for path in SHAPES}
    rest = {path: not is_hidden for path, is_hidden in hidden.items()}
    matrices = optax.chain(_muon.scale_by_muon(weight_dimension_numbers=lambda p: weights),
                           _muon.scale_by_shape(lambda p: weights, None), optax.add_decayed_weights(0.1),
                           optax.scale_by_learning_rate(ramp(0, 0.1, 3)))
    others = optax.chain(optax.scale_by_adam(b2=0.95, nesterov=True),
                         optax.masked(optax.add_decayed_weights(0.1), {path: path == "number" for path in SHAPES}),
                         optax.scale_by_learning_rate(ramp(0, 1e-3, 3)))
    return optax.chain(optax.clip_by_global_norm(1), optax.masked(matrices, hidden), optax.masked(others, rest))


def sophia(b1=0.96, b2=0.99, gamma=0.01, eps=1e-12, every=10):
    """Sophia (arXiv:2305.14342, algorithm 3) by its formula in f64, with squares of gradients as the estimate."""
    def init(params):
        return 0, {p: np.zeros(x.shape) for p, x in params.items()}, {p: np.zeros(x.shape) for p, x in params.items()}

    def update(u, state, params=None):
        count, mu, h = state
        u = {p: np.asarray(g, np.float64) for p, g in u.items()}
        mu = {p: b1 * mu[p] + (1 - b1) * g for p, g in u.items()}
        if count % every == 0:
            h = {p: b2 * h[p] + (1 - b2) * g * g for p, g in u.items()}
        steps = {p: np.clip(mu[p] / np.maximum(gamma * h[p], eps), -1, 1).astype(np.float32) for p in u}
        return steps, (count + 1, mu, h)
    return optax.GradientTransformation(init, update)


cases = {
    "clip.0": optax.clip_by_global_norm(0.5),
    "clip.1": optax.clip_by_global_norm(100),
    "clip_value.0": optax.clip(0.1),
    "scale.0": optax.scale(-0.25),
    "learning_rate.0": optax.scale_by_learning_rate(0.1),
    "learning_rate.1": optax.scale_by_learning_rate(ramp(0, 0.5, 3)),
    "weight_decay.0": optax.add_decayed_weights(0.1),
    "weight_decay.1": optax.add_decayed_weights(0.1, by_layer),
    "trace.0": optax.trace(0.9),
    "trace.1": optax.trace(0.8, nesterov=True),
    "adam.0": optax.scale_by_adam(),
    "adam.1": optax.scale_by_adam(b1=0.8, b2=0.95, eps=1e-4, eps_root=1e-3),
    "lion.0": optax.scale_by_lion(),
    "lion.1": optax.scale_by_lion(b1=0.5, b2=0.7),
    "adam.2": optax.scale_by_adam(nesterov=True),
    "factored_rms.0": optax.scale_by_factored_rms(),
    "factored_rms.1": optax.scale_by_factored_rms(min_dim_size_to_factor=3),
    "factored_rms.2": per_layer(optax.scale_by_factored_rms(decay_rate=0.6, step_offset=-2, min_dim_size_to_factor=6)),
    "block_rms_clip.0": optax.clip_by_block_rms(0.2),
    "block_rms_clip.1": per_layer(optax.clip_by_block_rms(0.2)),
    "param_block_rms.0": optax.scale_by_param_block_rms(),
    "param_block_rms.1": optax.scale_by_param_block_rms(2),
    "param_block_rms.2": clip_param_rms(0.25),
    "schedule.0": optax.scale_by_schedule(ramp(0, 0.5, 3)),
    "scheduled_weight_decay.0": optax.add_decayed_weights(ramp(0, 0.5, 3)),
    "ema.0": optax.ema(0.9),
    "ema.1": optax.ema(0.5, debias=False),
    "params_ema.0": optax.identity(),
    "rms.0": optax.scale_by_rms(),
    "rms.1": optax.scale_by_rms(0.8, 1e-4, 0.1, eps_in_sqrt=False, bias_correction=True),
    "stddev.0": optax.scale_by_stddev(eps=1e-3),
    "stddev.1": optax.scale_by_stddev(0.8, 1e-2, 0.1, eps_in_sqrt=False),
    "rss.0": optax.scale_by_rss(),
    "rss.1": optax.scale_by_rss(0.5, 1e-3),
    "adamax.0": optax.scale_by_adamax(),
    "adamax.1": optax.scale_by_adamax(0.8, 0.5, 1e-3),
    "trust_ratio.0": optax.scale_by_trust_ratio(0, 0.1),
    "trust_ratio.1": optax.scale_by_trust_ratio(3, 0.5, 0.1),
    "muon.0": muon(),
    "muon.1": muon(ns_steps=3, beta=0.8, nesterov=False, adaptive=True, consistent_rms=0.2),
    "muon.2": muon(stacked=True),
    "partition.0": optax.partition({True: optax.scale_by_lion(), False: optax.scale_by_adam()}, by_layer),
    "partition.1": optax.masked(optax.ema(0.9), by_layer),
    "multi_steps.0": optax.MultiSteps(optax.scale_by_adam(), 2).gradient_transformation(),
    "multi_steps.1": optax.MultiSteps(optax.trace(0.9), 3).gradient_transformation(),
    "apply_if_finite.0": optax.apply_if_finite(optax.scale_by_adam(), 2),
    "inject.0": optax.inject_hyperparams(injected)(learning_rate=ramp(0.1, 0.5, 3), weight_decay=0.1),
    "loss_scale.0": loss_scaled(optax.scale_by_adam(), [4] * 4),
    "loss_scale.1": loss_scaled(optax.trace(0.9), [8, 8, 16, 16]),
    "amsgrad.0": optax.scale_by_amsgrad(),
    "amsgrad.1": optax.scale_by_amsgrad(b1=0.8, b2=0.5, eps=1e-4, eps_root=1e-3),
    "belief.0": optax.scale_by_belief(eps=1e-3, eps_root=1e-4),
    "belief.1": optax.scale_by_belief(b1=0.8, b2=0.95, eps=1e-2, nesterov=True),
    "yogi.0": optax.scale_by_yogi(),
    "yogi.1": optax.scale_by_yogi(b1=0.8, b2=0.9, eps_root=1e-3),
    "radam.0": optax.scale_by_radam(),
    "radam.1": optax.scale_by_radam(b1=0.8, b2=0.9, eps_root=1e-3, nesterov=True),
    "adan.0": optax.scale_by_adan(),
    "adan.1": optax.scale_by_adan(b1=0.8, b2=0.5, b3=0.9, eps_root=1e-3),
    "adadelta.0": optax.scale_by_adadelta(),
    "adadelta.1": optax.scale_by_adadelta(0.5, 1e-3),
    "sign.0": optax.scale_by_sign(),
    "centralize.0": optax.centralize(),
    "zero_nans.0": optax.zero_nans(),
    "set_to_zero.0": optax.set_to_zero(),
    "keep_params_nonnegative.0": optax.keep_params_nonnegative(),
    "lookahead.0": lookahead(optax.scale_by_learning_rate(0.1), 2, 0.5),
    "lookahead.1": lookahead(optax.adam(0.1), 3, 0.8, reset_state=True),
    "schedule_free.0": optax.contrib.schedule_free(optax.sgd(0.1), 0.1),
    "schedule_free.1": optax.contrib.schedule_free(optax.adam(ramp(0, 0.1, 3), b1=0.0), ramp(0, 0.1, 3), b1=0.8,
                                                   weight_lr_power=1.0),
    "amsgrad": optax.amsgrad(0.01),
    "adabelief": optax.adabelief(0.01, eps=1e-3),
    "yogi": optax.yogi(0.01),
    "radam": optax.radam(0.01),
    "adan": optax.adan(0.1, weight_decay=0.1, mask=by_layer),
    "adadelta": optax.adadelta(0.5, weight_decay=0.1, weight_decay_mask=by_layer),
    "sign_sgd": optax.sign_sgd(0.01),
    "lars": optax.lars(0.1, weight_decay=0.1, weight_decay_mask=by_layer, trust_ratio_mask=by_layer, nesterov=True),
    "adafactor": optax.adafactor(0.1, min_dim_size_to_factor=3, momentum=0.9, weight_decay_rate=0.01),
    "adafactor_t5x": per_layer(optax.adafactor(ramp(0.1, 0, 8), min_dim_size_to_factor=5,
                                               weight_decay_rate=lambda t: ramp(0.1, 0, 8)(t) ** 2)),
    "adafactor_settings": per_layer(optax.adafactor(ramp(0.1, 0, 8), min_dim_size_to_factor=3)),
    "rmsprop": optax.rmsprop(0.01, eps=1e-3, centered=True, momentum=0.9, nesterov=True),
    "adagrad": optax.adagrad(0.1),
    "adamax": optax.adamax(0.01),
    "nadamw": optax.nadamw(0.01, weight_decay=0.1, mask=by_layer),
    "lamb": optax.lamb(0.1, weight_decay=0.1, mask=by_layer),
    "muon": optax.contrib.muon(0.1, weight_decay=0.1, adam_weight_decay=0.05),
    "adamw": optax.chain(optax.clip_by_global_norm(1),
                         optax.adamw(ramp(0, 0.1, 3), b1=0.9, b2=0.95, weight_decay=0.1, mask=by_layer)),
    "adam": optax.adam(0.01),
    "sgd": optax.sgd(0.1, momentum=0.9, nesterov=True),
    "lion": optax.chain(optax.clip_by_global_norm(1), optax.lion(ramp(0, 0.1, 3), weight_decay=0.3, mask=by_layer)),
    "settings_adamw": settings(optax.scale_by_adam(b2=0.95), decay=0.1),
    "settings_nadamw": settings(optax.scale_by_adam(b2=0.95, nesterov=True), decay=0.1),
    "settings_lion": settings(optax.scale_by_lion(), decay=0.3),
    "settings_adafactor": optax.chain(optax.clip_by_global_norm(1),
                                      per_layer(optax.adafactor(ramp(0, 0.1, 3), min_dim_size_to_factor=5))),
    "settings_sgd": settings(optax.trace(0.9)),
    "settings_lamb": optax.chain(optax.clip_by_global_norm(1),
                                 optax.lamb(ramp(0, 0.1, 3), eps=1e-6, weight_decay=0.01, mask=by_layer)),
    "settings_rmsprop": settings(optax.scale_by_rms()),
    "settings_adagrad": settings(optax.scale_by_rss()),
    "settings_adamax": settings(optax.scale_by_adamax()),
    "settings_muon": muon_settings(),
    "settings_amsgrad": settings(optax.scale_by_amsgrad()),
    "settings_adabelief": settings(optax.scale_by_belief()),
    "settings_yogi": settings(optax.scale_by_yogi()),
    "settings_radam": settings(optax.scale_by_radam()),
    "settings_adan": settings(optax.scale_by_adan(eps_root=1e-8)),
    "settings_adadelta": settings(optax.scale_by_adadelta()),
    "settings_sign_sgd": settings(optax.scale_by_sign()),
    "settings_lars": settings(optax.scale_by_trust_ratio(trust_coefficient=1e-3), after=[optax.trace(0.9)]),
    "sophia.0": sophia(),
    "sophia.1": sophia(0.8, 0.5, 1.0, 0.1, 2),
    "settings_sophia": settings(sophia(), decay=0.1),
    "settings_schedule_free": optax.chain(optax.clip_by_global_norm(1),
                                          optax.contrib.schedule_free_adamw(0.1, warmup_steps=3)),
}
print(f"# updates of {STEPS} steps; jax {jax.__version__}, optax {optax.__version__}, numpy {np.__version__}; "
      "tests/golden/make_optim.py")
for name, tx in cases.items():
    params = tree(0.3, 1.0)
    state = tx.init(params)
    for step in range(STEPS):
        updates, state = tx.update(tree(10.0 + 5 * step, 0.4), state, params)
        params = optax.apply_updates(params, updates)
        for path, u in updates.items():
            print(name, step, path, *(f"{float(v):.7g}" for v in np.asarray(u).ravel()))

# A rate at some steps: "schedule <name> <step> <rate>", compared by tests/optim/schedule_test.cpp.
def t5x(factors, base=0.5, warmup=1000, decay=0.5, every=20000, cycle=100000, offset=0, low=1e-8):
    """T5X's create_learning_rate_scheduler."""
    def at(step):
        step = max(0, step - offset)
        r = 1.0
        for name in factors.split(" * "):
            r *= {"constant": lambda: base,
                  "linear_warmup": lambda: min(1.0, step / warmup),
                  "linear_decay": lambda: base * min(step / warmup, 1 + decay * (warmup - step)),
                  "rsqrt_decay": lambda: max(step, warmup) ** -0.5,
                  "rsqrt_normalized_decay": lambda: (warmup / max(step, warmup)) ** 0.5,
                  "decay_every": lambda: decay ** (step // every),
                  "cosine_decay": lambda: max(0.0, 0.5 * (1 + math.cos(
                      math.pi * (max(0.0, (step - warmup) / cycle) % 1.0))))}[name]()
        return max(r, low)
    return at


def joined_decay(fall):
    """Warm-up of 4 steps, flat, a fall of the last 10 of 26 steps from 1 to 0.1."""
    return optax.join_schedules([ramp(0.0, 1.0, 4), optax.constant_schedule(1.0), fall], [4, 16])


def inverse_sqrt(warmup, timescale, end=0.0):
    """Levanter's _inv_sqrt_decay_schedule behind its warm-up."""
    return optax.join_schedules(
        [ramp(0.0, 0.5, warmup),
         lambda n: jnp.maximum(0.5 * jnp.minimum(1.0, 1.0 / jnp.sqrt(jnp.maximum(n + warmup, 1) / timescale)), end)],
        [warmup])


cycle = dict(init_value=0.0, peak_value=1.0, warmup_steps=3, decay_steps=10, end_value=0.1)
schedules = {
    "constant": optax.constant_schedule(0.3),
    "linear": optax.linear_schedule(1.0, 3.0, 10),
    "polynomial": optax.polynomial_schedule(2.0, 0.5, 1.5, 12, 4),
    "cosine": optax.cosine_decay_schedule(0.7, 20, 0.1, 1.5),
    "warmup_constant": optax.warmup_constant_schedule(0.1, 1.0, 7),
    "warmup_cosine": optax.warmup_cosine_decay_schedule(0.1, 1.0, 5, 25, 0.2, 2.0),
    "exponential": optax.exponential_decay(1.0, 5, 0.8, 3, False, 0.4),
    "staircase": optax.exponential_decay(1.0, 5, 1.2, 0, True, 1.6),
    "warmup_exponential": optax.warmup_exponential_decay_schedule(0.1, 1.0, 4, 6, 0.7),
    "piecewise_constant": optax.piecewise_constant_schedule(1.0, {5: 0.5, 12: 3.0}),
    "piecewise_linear": optax.piecewise_interpolate_schedule("linear", 1.0, {5: 2.0, 12: 0.1}),
    "piecewise_cosine": optax.piecewise_interpolate_schedule("cosine", 1.0, {5: 2.0, 12: 0.1}),
    "linear_onecycle": optax.linear_onecycle_schedule(20, 1.0),
    "cosine_onecycle": optax.cosine_onecycle_schedule(20, 1.0),
    "join": optax.join_schedules([optax.linear_schedule(0.0, 1.0, 4), optax.constant_schedule(0.6),
                                  optax.exponential_decay(0.6, 2, 0.5)], [4, 9]),
    "sgdr": optax.sgdr_schedule([cycle, cycle | {"decay_steps": 20, "peak_value": 0.5}]),
    "wsd_linear": joined_decay(ramp(1.0, 0.1, 10)),
    "wsd_cosine": joined_decay(optax.cosine_decay_schedule(1.0, 10, 0.1)),
    "wsd_sqrt": joined_decay(lambda n: 0.9 * (1 - jnp.sqrt(jnp.clip(n / 10, 0, 1))) + 0.1),
    "inverse_sqrt": inverse_sqrt(5, 5),
    "inverse_sqrt_timescale": inverse_sqrt(3, 12, 0.35),
    "settings_wsd": joined_decay(ramp(1.0, 0.1, 10)),
    "settings_cycles": optax.sgdr_schedule([
        dict(init_value=0.0, peak_value=1.0, warmup_steps=4, decay_steps=8, end_value=0.1),
        dict(init_value=0.1, peak_value=1.0, warmup_steps=2, decay_steps=9, end_value=0.1),
        dict(init_value=0.1, peak_value=1.0, warmup_steps=2, decay_steps=9, end_value=0.1)]),
    "factors_pretrain": t5x("constant * rsqrt_decay", base=1.0, warmup=9),
    "factors_default": t5x("constant * linear_warmup * rsqrt_decay", warmup=6),
    "factors_steps": t5x("constant * rsqrt_normalized_decay * decay_every", warmup=4, every=7, offset=2),
    "factors_cosine": t5x("linear_decay * cosine_decay", warmup=3, decay=0.05, cycle=11),
}
for name, schedule in schedules.items():
    for step in range(0, 31, 2):
        print("schedule", name, step, f"{float(schedule(step)):.7g}")
