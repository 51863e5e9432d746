// further.h -- gradient transformations and optimizers of Optax and optax.contrib beyond those of optim.h, with their
// numbers (tests/optim/law_test.cpp).
#pragma once
#include "bora/optim/optim.h"

namespace bora::optim {
// ---- transformations ------------------------------------------------------------------------------------------------
struct ScaleByAmsgrad {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
};
/// Adam over the largest mean of squares so far (Reddi et al. 2018).
Transform scale_by_amsgrad(ScaleByAmsgrad options = {});
struct ScaleByBelief {
  double b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
  bool nesterov = false;
};
/// Adam over the mean of squares around the mean gradient (Zhuang et al. 2020).
Transform scale_by_belief(ScaleByBelief options = {});
struct ScaleByYogi {
  double b1 = 0.9, b2 = 0.999, eps = 1e-3, eps_root = 0, initial_accumulator_value = 1e-6;
};
/// Adam whose mean of squares moves by at most (1 - b2) times the square (Zaheer et al. 2018).
Transform scale_by_yogi(ScaleByYogi options = {});
struct ScaleByRadam {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, threshold = 5;
  bool nesterov = false;
};
/// Adam that begins as momentum, until the variance of its mean of squares is known (Liu et al. 2020). Throws
/// ValueError for a threshold below 4.
Transform scale_by_radam(ScaleByRadam options = {});
/// Updates times the root of the mean square of earlier updates over that of gradients (Zeiler 2012).
Transform scale_by_adadelta(double rho = 0.9, double eps = 1e-6);
/// The sign of each number.
Transform scale_by_sign();
/// Gradients of matrices and larger arrays minus their mean over all dimensions but the first (Yong et al. 2020).
Transform centralize();
/// NaN becomes 0.
Transform zero_nans();
/// All updates become 0: for parameters that stay.
Transform set_to_zero();
/// Updates that would make a number of a parameter negative make it 0.
Transform keep_params_nonnegative();

// ---- transformations around others ----------------------------------------------------------------------------------
struct LookaheadOptions {
  std::int64_t sync_period = 5;
  double slow_step_size = 0.5;
  bool reset_state = false;  // of `fast`, whenever the parameters meet
};
/// The parameters follow `fast`; every sync_period steps the slow ones, in the state ("lookahead.slow.<path>"), go
/// slow_step_size of the way to them, and the parameters return to the slow ones (Zhang et al. 2019). Throws ValueError
/// for a period below 1.
Transform lookahead(const Transform& fast, LookaheadOptions options = {});
struct ScheduleFreeOptions {
  double b1 = 0.9, weight_lr_power = 2;
};
/// Learning without a schedule that decays (Defazio et al. 2024), as optax.contrib has it: the parameters lie between
/// the iterates of `base`, which has no momentum and this learning rate, and their mean. Evaluate the model at
/// schedule_free_eval_params. Throws ValueError unless 0 < b1 <= 1.
Transform schedule_free(const Transform& base, Schedule learning_rate, ScheduleFreeOptions options = {});
/// The mean of the iterates, from the state of schedule_free. Throws ValueError for another state.
Arrays schedule_free_eval_flat(const State& state, const std::vector<std::string>& paths, const Arrays& params);
template <class P> P schedule_free_eval_params(const State& state, const P& params) {
  return tree::unflatten(params, schedule_free_eval_flat(state, tree::paths(params), tree::leaves(params)));
}

// ---- optimizers -----------------------------------------------------------------------------------------------------
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
