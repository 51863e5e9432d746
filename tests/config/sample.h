// sample.h -- settings with every kind of field, for tests and the fuzzer.
#pragma once
#include "bora/config/choice.h"

namespace bora::sample {
enum class Shape3 { cosine, linear, constant };
struct Decay {
  Shape3 shape = Shape3::cosine;
  std::int64_t warmup = 100;
  static constexpr config::Meaning meanings[] = {{"shape", "of the rate"}, {"warmup", "steps"}};
  void check() const { config::domain(warmup >= 0, "warmup", warmup, "0 or more"); }
};
struct Method : config::Chosen {
  static constexpr std::string_view initial = "quick";
  virtual double rate() const = 0;
};
template <class T> struct MethodOf final : config::Of<T, Method> {
  using config::Of<T, Method>::Of;
  double rate() const override { return this->fields.lr; }
};
struct Quick {
  static constexpr std::string_view type = "quick";
  double lr = 1e-3, beta = 0.9;
  Decay decay = {};
  static constexpr config::Meaning meanings[] = {{"lr", "rate"}, {"beta", "mean"}, {"decay", ""}};
  void check() const { config::domain(config::finite(lr) && lr > 0, "lr", lr, "above 0"); }
};
struct Slow {
  static constexpr std::string_view type = "slow";
  double lr = 1e-4;
  std::optional<double> clip = {};
  static constexpr config::Meaning meanings[] = {{"lr", "rate"}, {"clip", "norm"}};
};
[[maybe_unused]] inline const bool added = config::add<MethodOf<Quick>>() && config::add<MethodOf<Slow>>();
struct Place {
  std::string path = {};
  bool keep = true;
  static constexpr std::string_view named = "path";
  static constexpr config::Meaning meanings[] = {{"path", "of a file"}, {"keep", "it"}};
};
struct All {
  std::int64_t seed = 0;
  std::vector<std::string> words = {"one"};
  Place trace = {};
  config::Choice<Method> method = {};
  static constexpr config::Meaning meanings[] = {
      {"seed", "of draws"}, {"words", "some"}, {"trace", ""}, {"method", ""}};
};
inline const std::vector<config::Short> kShorts = {
    {"lr", "method.lr"}, {"warmup", "method.decay.warmup"}, {"method.warm", "method.decay.warmup"}};

inline All read_all(const std::string& yaml, const std::vector<std::string>& items = {}) {
  All all;
  auto schema = config::schema(all);
  auto file = config::parse_yaml(yaml, "a.yaml"), line = config::parse_items(items);
  config::settle(file, schema, kShorts);
  config::settle(line, schema, kShorts);
  config::lay_over(file, line);
  config::read(file, all, "", schema);
  config::check_all(all);
  return all;
}
}  // namespace bora::sample
