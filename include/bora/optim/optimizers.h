// optimizers.h -- optimizers with Optax's names, numerics and defaults: chains of gradient transformations.
#pragma once
#include <cstdint>
#include <optional>
#include "bora/optim/transforms.h"

namespace bora::optim {
struct AdamWOptions {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  Schedule weight_decay = 1e-4;
  Mask mask = {};         // parameters that decay; default: all
  bool nesterov = false;  // nadamw
};
/// Adam with decoupled weight decay (Loshchilov & Hutter 2019).
Transform adamw(AdamWOptions options = {});
struct AdamOptions {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  bool nesterov = false;  // nadam
};
Transform adam(AdamOptions options = {});
struct LionOptions {
  Schedule learning_rate = 1e-3;  // a third to a tenth of AdamW's
  double b1 = 0.9, b2 = 0.99;
  Schedule weight_decay = 1e-3;
  Mask mask = {};  // parameters that decay; default: all
};
/// Lion with decoupled weight decay: 3 to 10 times AdamW's, for a learning rate that is as much smaller.
Transform lion(LionOptions options = {});
struct AdafactorOptions {
  Schedule learning_rate = 1e-3;
  std::int64_t min_dim_size_to_factor = 128;  // of the second largest dimension; explicit rules do not ask
  double decay_rate = 0.8;
  std::int64_t decay_offset = 0;  // T5X's step_offset: the step at which fine-tuning began
  bool multiply_by_parameter_scale = true;
  std::optional<double> clipping_threshold = 1.0, momentum = none, weight_decay_rate = none;
  std::optional<double> weight_decay_rate_lr_exponent = none;  // decay is (weight_decay_rate or 1) * rate^exponent
  double eps = 1e-30, min_parameter_scale = 1e-3;
  std::optional<double> max_parameter_scale = none;
  bool factored = true;
  Mask mask = {};          // parameters that decay; default: all
  FactorRules rules = {};  // T5X: standard_factor_rules(); empty: Optax's rule by size
};
/// Adafactor as Optax has it; with rules as T5X has it: stacked layers are factored, clipped and scaled one by one.
/// (T5X's clipping by global norm is clip_by_global_norm in front, its beta1 is momentum.)
Transform adafactor(AdafactorOptions options = {});
struct SgdOptions {
  Schedule learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
};
Transform sgd(SgdOptions options = {});
struct RmspropOptions {
  Schedule learning_rate = 1e-2;
  ScaleByRms rms = {};
  bool centered = false;
  std::optional<double> momentum = none;
  bool nesterov = false;
};
Transform rmsprop(RmspropOptions options = {});
struct AdagradOptions {
  Schedule learning_rate = 1e-2;
  double initial_accumulator_value = 0.1, eps = 1e-7;
};
Transform adagrad(AdagradOptions options = {});
struct AdamaxOptions {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8;
};
Transform adamax(AdamaxOptions options = {});
struct LambOptions {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-6, eps_root = 0;
  Schedule weight_decay = 0;
  Mask mask = {};  // parameters that decay; default: all
};
/// You et al. 2020.
Transform lamb(LambOptions options = {});
struct MuonOptions {
  Schedule learning_rate = 1e-2;
  ScaleByMuon muon = {};
  double weight_decay = 0;
  Mask mask = {};                                     // matrices that decay; default: all
  Mask orthogonal = {};                               // matrices for Muon; default: all
  std::optional<Schedule> adam_learning_rate = none;  // default: learning_rate
  double b1 = 0.9, b2 = 0.999, adam_weight_decay = 0;
  Mask adam_mask = {};  // other parameters that decay; default: all
};
/// Muon for matrices, AdamW for the others.
Transform muon(MuonOptions options = {});
struct AmsgradOptions {
  Schedule learning_rate = 1e-3;
  ScaleByAmsgrad moments = {};
};
Transform amsgrad(AmsgradOptions options = {});
struct AdabeliefOptions {
  Schedule learning_rate = 1e-3;
  ScaleByBelief moments = {};
};
Transform adabelief(AdabeliefOptions options = {});
struct YogiOptions {
  Schedule learning_rate = 1e-3;
  ScaleByYogi moments = {};
};
Transform yogi(YogiOptions options = {});
struct RadamOptions {
  Schedule learning_rate = 1e-3;
  ScaleByRadam moments = {};
};
Transform radam(RadamOptions options = {});
struct AdanOptions {
  Schedule learning_rate = 1e-3;
  ScaleByAdan moments = {.eps_root = 1e-8};
  Schedule weight_decay = 0;
  Mask mask = {};  // parameters that decay; default: all
};
/// Adan with decoupled weight decay, in Optax's form: the decay is added to the update.
Transform adan(AdanOptions options = {});
struct AdadeltaOptions {
  Schedule learning_rate = 1;
  double rho = 0.9, eps = 1e-6;
  Schedule weight_decay = 0;
  Mask mask = {};  // parameters that decay; default: all
};
Transform adadelta(AdadeltaOptions options = {});
struct SignSgdOptions {
  Schedule learning_rate = 1e-3;
};
Transform sign_sgd(SignSgdOptions options = {});
struct LarsOptions {
  Schedule learning_rate = 1e-3;
  Schedule weight_decay = 0;
  Mask weight_decay_mask = {};  // parameters that decay; default: all
  double trust_coefficient = 1e-3, eps = 0;
  Mask trust_ratio_mask = {};  // parameters that are scaled; default: all
  double momentum = 0.9;
  bool nesterov = false;
};
/// Momentum with updates as large as their parameters (You et al. 2017), for large batches.
Transform lars(LarsOptions options = {});
}  // namespace bora::optim
