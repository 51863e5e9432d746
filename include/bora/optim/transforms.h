// transforms.h -- gradient transformations with Optax's names and numerics (deepmind/optax). A transformation turns
// gradients into updates and carries a State; chain composes.
// In all options: `b1`, `b2`: decays of the means of gradients and of their squares; `eps`, `eps_root`: added to the
// root of the latter, and under it; `nesterov`: looks one step ahead.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>
#include "bora/optim/factor_rules.h"
#include "bora/optim/schedule.h"
#include "bora/optim/transform_base.h"

namespace bora::optim {
// ---- transformations ------------------------------------------------------------------------------------------------
/// Gradients scaled so that their global norm is at most max_norm.
Transform clip_by_global_norm(double max_norm);
/// Each number of a gradient between -max_delta and max_delta.
Transform clip(double max_delta);
Transform scale(double factor);                                      // times factor
Transform scale_by_learning_rate(Schedule learning_rate);            // times -learning_rate
Transform scale_by_schedule(Schedule factor);                        // times factor(step)
Transform add_decayed_weights(double weight_decay, Mask mask = {});  // updates plus weight_decay times their parameters
Transform add_decayed_weights(Schedule weight_decay, Mask mask = {});
/// Each parameter's update (each layer's, along batch axes) scaled so that its root mean square is at most threshold.
Transform clip_by_block_rms(double threshold, FactorRules rules = {});
struct ScaleByParamBlockRms {              // of scale_by_param_block_rms
  double min_scale = 1e-3;                 // least root mean square
  std::optional<double> max_scale = none;  // largest root mean square
  FactorRules rules = {};                  // which axes are stacked
};
/// Updates times the root mean square of their parameters (of each layer, along batch axes).
Transform scale_by_param_block_rms(ScaleByParamBlockRms options = {});
/// The exponential moving average of updates.
Transform ema(double decay, bool debias = true);
/// Updates pass; the state keeps the moving average of the parameters that they lead to ("params_ema.ema.<path>",
/// without correction of its start from 0).
Transform params_ema(double decay);
struct ScaleByFactoredRms {  // of scale_by_factored_rms
  bool factored = true;      // squares of a matrix are kept as rows and columns
  double decay_rate = 0.8;   // the mean of squares decays by 1 - step^-decay_rate
  /// The first step's number; matrices with a smaller side are not factored.
  std::int64_t step_offset = 0, min_dim_size_to_factor = 128;
  double eps = 1e-30;      // added to squares
  FactorRules rules = {};  // which axes are rows, columns, stacked; empty: by size
};
/// Adafactor's rescaling (Shazeer & Stern 2018). Moments are f32, of f64 parameters f64.
Transform scale_by_factored_rms(ScaleByFactoredRms options = {});
/// Updates plus `decay` times the sum of earlier ones. nesterov: looks one step ahead.
Transform trace(double decay, bool nesterov = false);
struct ScaleByAdam {  // of scale_by_adam
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  bool nesterov = false;  // NAdam (Dozat 2016)
  static constexpr std::string_view name = "adam";
  struct State {
    Array count = {};
    Arrays mu = {}, nu = {};
  };
  State init(const Leaves& params) const;
  std::pair<Arrays, State> update(const Arrays& updates, const State&, const Leaves& params) const;
  static std::vector<ScaleByAdam> samples();
};
/// The mean of gradients over the root of the mean of their squares (Kingma & Ba 2015). Moments have the parameters'
/// dtype.
Transform scale_by_adam(ScaleByAdam options = {});
struct ScaleByLion {           // of scale_by_lion
  double b1 = 0.9, b2 = 0.99;  // share of the mean in an update; decay of the mean
  static constexpr std::string_view name = "lion";
  struct State {
    Arrays mu = {};
  };
  State init(const Leaves& params) const;
  std::pair<Arrays, State> update(const Arrays& updates, const State&, const Leaves& params) const;
  static std::vector<ScaleByLion> samples();
};
/// The sign of a mean of gradients (Chen et al. 2023, arXiv:2302.06675). One moment, in the parameters' dtype.
Transform scale_by_lion(ScaleByLion options = {});
struct ScaleByRms {                                   // of scale_by_rms and scale_by_stddev
  double decay = 0.9, eps = 1e-8, initial_scale = 0;  // of the mean of squares; added to it, or to its root; its start
  bool eps_in_sqrt = true, bias_correction = false;   // eps is added under the root; the mean without its start
};
// Over the root of the mean of squares (RMSProp); of squares around the mean.
Transform scale_by_rms(ScaleByRms options = {});
Transform scale_by_stddev(ScaleByRms options = {});
/// Over the root of the sum of squares (AdaGrad).
Transform scale_by_rss(double initial_accumulator_value = 0.1, double eps = 1e-7);
/// Over the largest, decaying gradient (AdaMax).
Transform scale_by_adamax(double b1 = 0.9, double b2 = 0.999, double eps = 1e-8);
/// Each parameter's update gets the parameter's norm (LAMB); 1 where either is 0.
Transform scale_by_trust_ratio(double min_norm = 0, double trust_coefficient = 1, double eps = 0);
struct ScaleByMuon {                                               // of scale_by_muon
  std::array<double, 3> coefficients = {3.4445, -4.7750, 2.0315};  // of the polynomial in a Newton-Schulz step
  std::int64_t steps = 5;                                          // Newton-Schulz steps
  double beta = 0.95, eps = 1e-8;                                  // decay of the mean; least norm
  bool nesterov = true, adaptive = false;       // adaptive: the result times its product with the mean
  std::optional<double> consistent_rms = none;  // else sqrt(max(1, columns / rows)) times the orthogonal matrix
  FactorRules rules = {};                       // which axes are rows, columns, stacked; empty: matrices only
};
/// The mean of gradients made orthogonal by Newton-Schulz steps (Jordan et al. 2024), as optax.contrib has it.
/// Parameters that are no matrices pass unchanged.
Transform scale_by_muon(ScaleByMuon options = {});
struct ScaleByAmsgrad {  // of scale_by_amsgrad
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
};
/// Adam over the largest mean of squares so far (Reddi et al. 2018).
Transform scale_by_amsgrad(ScaleByAmsgrad options = {});
struct ScaleByBelief {  // of scale_by_belief
  double b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
  bool nesterov = false;
};
/// Adam over the mean of squares around the mean gradient (Zhuang et al. 2020).
Transform scale_by_belief(ScaleByBelief options = {});
struct ScaleByYogi {  // of scale_by_yogi
  /// Last: where both means start.
  double b1 = 0.9, b2 = 0.999, eps = 1e-3, eps_root = 0, initial_accumulator_value = 1e-6;
};
/// Adam whose mean of squares moves by at most (1 - b2) times the square (Zaheer et al. 2018).
Transform scale_by_yogi(ScaleByYogi options = {});
struct ScaleByRadam {  // of scale_by_radam
  /// Threshold: terms of the mean from which on it is used.
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, threshold = 5;
  bool nesterov = false;
};
/// Adam that begins as momentum, until the variance of its mean of squares is known (Liu et al. 2020). Throws
/// ValueError for a threshold below 4.
Transform scale_by_radam(ScaleByRadam options = {});
struct ScaleByAdan {  // of scale_by_adan
  /// Decays of the means of gradients, differences and squares.
  double b1 = 0.98, b2 = 0.92, b3 = 0.99, eps = 1e-8, eps_root = 0;
};
/// Over the root of a mean of squares, the mean of gradients and, as Nesterov's look ahead, that of their differences
/// from step to step (Adan, Xie et al. 2022).
Transform scale_by_adan(ScaleByAdan options = {});
struct ScaleBySophia {  // of scale_by_sophia
  /// Decays of the means of gradients and of the Hessian's diagonal; the latter's factor; the least divisor.
  double b1 = 0.96, b2 = 0.99, gamma = 0.01, eps = 1e-12;
  std::int64_t every = 10;  // updates between two estimates of the diagonal
};
/// The mean of gradients over gamma times a mean of the Hessian's diagonal, each number between -1 and 1 (Sophia: Liu
/// et al. 2023, arXiv:2305.14342, algorithm 3). An estimate of the diagonal comes from with_hessian; without one the
/// square of the gradient stands for it, the empirical Fisher of the batch. ValueError: every is below 1.
Transform scale_by_sophia(ScaleBySophia options = {});
/// Whether the next update takes an estimate of the Hessian's diagonal, a bool scalar, if the state is one of
/// scale_by_sophia.
std::optional<Array> wants_hessian(const State& state);
/// A state of scale_by_sophia with the estimate for its next update, an Array for each of these parameters.
State with_hessian(State state, const std::vector<std::string>& paths, const Arrays& estimate);
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
struct Labelled {  // a part of partition
  std::string label;
  Transform transform;
  Mask mask = {};
};
/// Each parameter goes through the first transformation whose mask selects it; others pass unchanged. The state is
/// named by label ("partition.of.slow.adam.mu.<path>"). Throws ValueError if two have one label.
Transform partition(std::vector<Labelled> parts);
/// Only the parameters that the mask selects.
Transform masked(const Transform& inner, Mask mask);
/// The mean of `every` gradients goes through inner; the updates between are 0.
Transform multi_steps(const Transform& inner, std::int64_t every);
/// Gradients with NaN or infinity change nothing, unless more than this many came in a row.
Transform apply_if_finite(const Transform& inner, std::int64_t max_consecutive_errors);
/// Numbers and schedules by the names that their maker gives them.
using Hyperparameters = std::map<std::string, Schedule>;
/// The transformation that `make` gives for the hyperparameters of a step, which are in the state, f32: those made of a
/// function follow it, and one made of a number stays as it is until somebody replaces its entry
/// ("inject.hyperparams.weight_decay"). make gets schedules that return these values. Every call must give the same
/// transformations.
Transform inject_hyperparams(std::function<Transform(const Hyperparameters&)> make, Hyperparameters hyperparameters);
struct LossScaleOptions {      // of loss_scale
  double initial = 32768;      // the first scale
  bool dynamic = true;         // it grows and falls
  std::int64_t period = 2000;  // finite gradients in a row until the scale grows by `factor`
  double factor = 2, min = 1;  // of growth and fall; the least scale
};
/// For gradients of a loss times loss_scale_of(state), which are divided by it again (jmp; Micikevicius et al. 2018). A
/// dynamic scale falls by `factor` where a gradient is not finite, and that update is left out; at `min` it is made.
/// bf16 has the exponents of f32 and needs no such scale.
Transform loss_scale(const Transform& inner, LossScaleOptions options = {});
/// The scale of the next loss, an f32 scalar, if the state is one of loss_scale.
std::optional<Array> loss_scale_of(const State& state);
/// The name under which runs report an entry of a State, a scalar: of an injected hyperparameter, "loss_scale",
/// "skipped_steps"; else empty.
std::string metric_of(std::string_view entry);
struct LookaheadOptions {        // of lookahead
  std::int64_t sync_period = 5;  // steps until the parameters meet
  double slow_step_size = 0.5;   // the slow ones' part of the way
  bool reset_state = false;      // of `fast`, whenever the parameters meet
};
/// The parameters follow `fast`; every sync_period steps the slow ones, in the state ("lookahead.slow.<path>"), go
/// slow_step_size of the way to them, and the parameters return to the slow ones (Zhang et al. 2019). Throws ValueError
/// for a period below 1.
Transform lookahead(const Transform& fast, LookaheadOptions options = {});
struct ScheduleFreeOptions {  // of schedule_free
  /// Weight of the mean where gradients are taken; power of the rate that weighs an iterate.
  double b1 = 0.9, weight_lr_power = 2;
};
/// Learning without a schedule that decays (Defazio et al. 2024), as optax.contrib has it: the parameters lie between
/// the iterates of `base`, which has no momentum and this learning rate, and their mean. Evaluate the model at
/// schedule_free_eval_params. Throws ValueError unless 0 < b1 <= 1.
Transform schedule_free(const Transform& base, Schedule learning_rate, ScheduleFreeOptions options = {});
/// The mean of the iterates, from the state of schedule_free. Throws ValueError for another state.
Arrays schedule_free_eval_flat(const State& state, const std::vector<std::string>& paths, const Arrays& params);
}  // namespace bora::optim
