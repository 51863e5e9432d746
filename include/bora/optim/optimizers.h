// optimizers.h -- optimizers with Optax's names, numerics and defaults: chains of gradient transformations.
// In all options: `learning_rate`: updates are multiplied by its negative; `b1`, `b2`: decays of the means of gradients
// and of their squares; `eps`, `eps_root`: added to the root of the latter, and under it; `momentum`: decay of the sum
// of updates; `nesterov`: looks one step ahead; `weight_decay`: that part of a parameter is added to its update;
// `moments`: of the transformation of the same name.
#pragma once
#include <cstdint>
#include <optional>
#include "bora/optim/transforms.h"

namespace bora::optim {
struct AdamWOptions {  // of adamw
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  Schedule weight_decay = 1e-4;
  Mask mask = {};         // parameters that decay; default: all
  bool nesterov = false;  // nadamw
};
/// Adam with decoupled weight decay (Loshchilov & Hutter 2019).
Transform adamw(AdamWOptions options = {});
struct AdamOptions {  // of adam
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  bool nesterov = false;  // nadam
};
Transform adam(AdamOptions options = {});  // scale_by_adam and the learning rate (Kingma & Ba 2015)
struct LionOptions {                       // of lion
  Schedule learning_rate = 1e-3;           // a third to a tenth of AdamW's
  double b1 = 0.9, b2 = 0.99;              // share of the mean in an update; decay of the mean
  Schedule weight_decay = 1e-3;
  Mask mask = {};  // parameters that decay; default: all
};
/// Lion with decoupled weight decay: 3 to 10 times AdamW's, for a learning rate that is as much smaller.
Transform lion(LionOptions options = {});
struct AdafactorOptions {  // of adafactor
  Schedule learning_rate = 1e-3;
  std::int64_t min_dim_size_to_factor = 128;  // of the second largest dimension; explicit rules do not ask
  double decay_rate = 0.8;                    // the mean of squares decays by 1 - step^-decay_rate
  std::int64_t decay_offset = 0;              // T5X's step_offset: the step at which fine-tuning began
  bool multiply_by_parameter_scale = true;    // the rate is relative to the root mean square of a parameter
  /// Of updates: largest root mean square, mean, decay of parameters.
  std::optional<double> clipping_threshold = 1.0, momentum = none, weight_decay_rate = none;
  std::optional<double> weight_decay_rate_lr_exponent = none;  // decay is (weight_decay_rate or 1) * rate^exponent
  double eps = 1e-30, min_parameter_scale = 1e-3;    // added to squares; least root mean square of a parameter
  std::optional<double> max_parameter_scale = none;  // largest root mean square of a parameter
  bool factored = true;                              // the mean of squares of a matrix is kept as rows and columns
  Mask mask = {};                                    // parameters that decay; default: all
  FactorRules rules = {};                            // T5X: standard_factor_rules(); empty: Optax's rule by size
};
/// Adafactor as Optax has it; with rules as T5X has it: stacked layers are factored, clipped and scaled one by one.
/// (T5X's clipping by global norm is clip_by_global_norm in front, its beta1 is momentum.)
Transform adafactor(AdafactorOptions options = {});
struct SgdOptions {  // of sgd
  Schedule learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
};
Transform sgd(SgdOptions options = {});  // gradient descent, with momentum if there is some
struct RmspropOptions {                  // of rmsprop
  Schedule learning_rate = 1e-2;
  ScaleByRms rms = {};    // of the mean of squares
  bool centered = false;  // squares around the mean: scale_by_stddev
  std::optional<double> momentum = none;
  bool nesterov = false;
};
Transform rmsprop(RmspropOptions options = {});  // scale_by_rms, and momentum
struct AdagradOptions {                          // of adagrad
  Schedule learning_rate = 1e-2;
  double initial_accumulator_value = 0.1, eps = 1e-7;  // where the sum of squares starts; eps: added to it
};
Transform adagrad(AdagradOptions options = {});  // scale_by_rss and the learning rate
struct AdamaxOptions {                           // of adamax
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8;
};
Transform adamax(AdamaxOptions options = {});  // scale_by_adamax and the learning rate
struct LambOptions {                           // of lamb
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-6, eps_root = 0;
  Schedule weight_decay = 0;
  Mask mask = {};  // parameters that decay; default: all
};
/// AdamW with updates as large as their parameters (You et al. 2020).
Transform lamb(LambOptions options = {});
struct MuonOptions {  // of muon
  Schedule learning_rate = 1e-2;
  ScaleByMuon muon = {};  // of the transformation of matrices
  double weight_decay = 0;
  Mask mask = {};                                      // matrices that decay; default: all
  Mask orthogonal = {};                                // matrices for Muon; default: all
  std::optional<Schedule> adam_learning_rate = none;   // default: learning_rate
  double b1 = 0.9, b2 = 0.999, adam_weight_decay = 0;  // of AdamW
  Mask adam_mask = {};                                 // other parameters that decay; default: all
};
/// Muon for matrices, AdamW for the others.
Transform muon(MuonOptions options = {});
struct AmsgradOptions {  // of amsgrad
  Schedule learning_rate = 1e-3;
  ScaleByAmsgrad moments = {};
};
Transform amsgrad(AmsgradOptions options = {});  // scale_by_amsgrad and the learning rate
struct AdabeliefOptions {                        // of adabelief
  Schedule learning_rate = 1e-3;
  ScaleByBelief moments = {};
};
Transform adabelief(AdabeliefOptions options = {});  // scale_by_belief and the learning rate
struct YogiOptions {                                 // of yogi
  Schedule learning_rate = 1e-3;
  ScaleByYogi moments = {};
};
Transform yogi(YogiOptions options = {});  // scale_by_yogi and the learning rate
struct RadamOptions {                      // of radam
  Schedule learning_rate = 1e-3;
  ScaleByRadam moments = {};
};
Transform radam(RadamOptions options = {});  // scale_by_radam and the learning rate
struct AdanOptions {                         // of adan
  Schedule learning_rate = 1e-3;
  ScaleByAdan moments = {.eps_root = 1e-8};
  Schedule weight_decay = 0;
  Mask mask = {};  // parameters that decay; default: all
};
/// Adan with decoupled weight decay, in Optax's form: the decay is added to the update.
Transform adan(AdanOptions options = {});
struct SophiaOptions {  // of sophia
  Schedule learning_rate = 1e-3;
  ScaleBySophia moments = {};
  Schedule weight_decay = 0;
  Mask mask = {};  // parameters that decay; default: all
};
/// Sophia with decoupled weight decay; training::step gives it estimates of the Hessian's diagonal (Sophia-H).
Transform sophia(SophiaOptions options = {});
struct AdadeltaOptions {  // of adadelta
  Schedule learning_rate = 1;
  double rho = 0.9, eps = 1e-6;  // decay of both means of squares, and what is added to them
  Schedule weight_decay = 0;
  Mask mask = {};  // parameters that decay; default: all
};
Transform adadelta(AdadeltaOptions options = {});  // scale_by_adadelta, and decay of parameters
struct SignSgdOptions {                            // of sign_sgd
  Schedule learning_rate = 1e-3;
};
Transform sign_sgd(SignSgdOptions options = {});  // scale_by_sign and the learning rate
struct LarsOptions {                              // of lars
  Schedule learning_rate = 1e-3;
  Schedule weight_decay = 0;
  Mask weight_decay_mask = {};  // parameters that decay; default: all
  /// The update's norm as a part of the parameter's; eps: added to the update's.
  double trust_coefficient = 1e-3, eps = 0;
  Mask trust_ratio_mask = {};  // parameters that are scaled; default: all
  double momentum = 0.9;
  bool nesterov = false;
};
/// Momentum with updates as large as their parameters (You et al. 2017), for large batches.
Transform lars(LarsOptions options = {});
}  // namespace bora::optim
