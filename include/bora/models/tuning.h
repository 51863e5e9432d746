// tuning.h -- training a part of a model: frozen parameters, and adapters (LoRA) beside a model that stays as it is.
#pragma once
#include "bora/models/lora_settings.h"
#include "bora/models/model.h"
#include "bora/nn/adapters.h"
#include "bora/nn/axes.h"
#include "bora/train/selection.h"
#include "bora/train/step.h"

namespace bora::models {
struct Tuning {                          // the part of a model that is trained, and how
  std::vector<std::string> freeze = {};  // patterns of parameters that are not trained
  LoraSettings lora = {};
  double neftune = 0;                    // alpha of the noise that training adds to tokens' vectors (nn/embedding.h)
};
namespace detail {
/// The key of the noise of a step's vectors, of the step's own.
Array noise_key(const Array& key);
/// The key of the adapters of a model that is initialised or trained with `key`.
Array adapter_key(const Array& key);
/// Which of these layers get adapters. ConfigError for patterns that match none.
std::vector<bool> adapted(const LoraSettings&, const std::vector<std::string>& paths, const std::vector<bool>& output);
/// StepOptions' functions of the same names.
struct Chosen {
  std::function<bool(const std::string& path)> trains = {}, keeps = {};
};
Chosen chosen(const Tuning&);
/// ConfigError for patterns of `freeze` that match none, and if nothing is left to train.
void check_frozen(const Tuning&, const std::vector<std::string>& paths);
}  // namespace detail
/// Calls a function with each linear layer of a model, and its path.
template <class M> using EachLinear = std::function<void(M&, const VisitLinear&)>;
namespace detail {
/// Gives the layers that `each` calls a function with their adapters. The keys of layers do not depend on the choice of
/// layers.
void add_adapters(const std::function<void(const VisitLinear&)>& each, const LoraSettings&, const Array& key);
}  // namespace detail
/// The task of training a part of its model.
template <class M> TrainTask<M> tuned(TrainTask<M> t, const Tuning& how, const EachLinear<M>& each) {
  t.init = [init = t.init, how, each](const Array& key) {
    auto m = init(key);
    if (how.lora)
      detail::add_adapters([&](const VisitLinear& f) { each(m, f); }, how.lora, detail::adapter_key(key));
    detail::check_frozen(how, tree::paths(m));
    return m;
  };
  if (how.lora && how.lora.dropout > 0)
    t.loss = [loss = t.loss, each](const M& m, const training::Example& e, const std::optional<Array>& key) {
      if (!key) return loss(m, e, key);
      auto drops = m;
      std::int64_t i = 0;
      auto base = detail::adapter_key(*key);
      each(drops, [&](const std::string&, nn::Linear& l) { nn::drop_inputs(l, random::fold_in(base, i++)); });
      return loss(drops, e, key);
    };
  return t;
}
template <class M> TrainTask<M> tuned(TrainTask<M> t, const Tuning& how) {
  return tuned<M>(std::move(t), how, [](M& m, const VisitLinear& f) { nn::each_linear(m, f); });
}
}  // namespace bora::models
