#include "bora/train/local_settings.h"

namespace bora::training {
namespace {
using config::domain, config::Meaning;
constexpr std::string_view kEvery = "steps between meetings of the replicas; they meet after the last step too",
                           kReplicas = "how many; 0: as many as mesh axis replica has ranks, which must divide it";
void check_counts(std::int64_t every, std::int64_t replicas) {
  domain(every >= 1 && every <= 1 << 30, "every", every, "1 or more steps");
  domain(replicas >= 0 && replicas <= 1 << 16, "replicas", replicas, "from 1 to 2^16 (or 0 for those of the mesh)");
}
struct OuterSettings {
  enum class Type : std::uint8_t { nesterov, sgd } type = Type::nesterov;
  double lr = 0.7, momentum = 0.9;
  static constexpr std::string_view named = "type";
  static constexpr Meaning meanings[] = {{"type", "nesterov or sgd"},
                                         {"lr", "constant, for the mean of what the replicas moved; never clipped"},
                                         {"momentum", "decay of the sum of such means; 0: none is kept"}};
  void check() const {
    domain(config::finite(lr) && lr > 0, "lr", lr, "above 0");
    domain(momentum >= 0 && momentum < 1, "momentum", momentum, "from 0 to below 1");
  }
  optim::Transform make() const {
    return optim::sgd({.learning_rate = lr, .momentum = momentum, .nesterov = type == Type::nesterov});
  }
};
struct None {
  static constexpr std::string_view type = "none";
};
struct Average {
  static constexpr std::string_view type = "average";
  std::int64_t every = 30, replicas = 0;
  static constexpr Meaning meanings[] = {{"every", kEvery}, {"replicas", kReplicas}};
  void check() const { check_counts(every, replicas); }
  local::Options make(const optim::Schedule&) const {
    return {.kind = local::Kind::average, .every = every, .outer = optim::identity()};
  }
};
struct Diloco {
  static constexpr std::string_view type = "diloco";
  std::int64_t every = 30, replicas = 0;
  OuterSettings outer = {};
  static constexpr Meaning meanings[] = {{"every", kEvery}, {"replicas", kReplicas}, {"outer", ""}};
  void check() const { check_counts(every, replicas); }
  local::Options make(const optim::Schedule&) const {
    return {.kind = local::Kind::diloco, .every = every, .outer = outer.make()};
  }
};
struct Slowmo {
  static constexpr std::string_view type = "slowmo";
  std::int64_t every = 30, replicas = 0;
  OuterSettings outer = {.type = OuterSettings::Type::sgd, .lr = 1, .momentum = 0.5};
  static constexpr Meaning meanings[] = {{"every", kEvery}, {"replicas", kReplicas}, {"outer", ""}};
  void check() const { check_counts(every, replicas); }
  local::Options make(const optim::Schedule& rate) const {
    return {.kind = local::Kind::slowmo, .every = every, .outer = outer.make(), .rate = rate};
  }
};
template <class T> struct LocalOf final : config::Of<T, LocalKind> {
  using config::Of<T, LocalKind>::Of;
  static constexpr bool some = requires(const T& t) { t.replicas; };
  bool on() const override { return some; }
  std::int64_t replicas() const override {
    if constexpr (some) return this->fields.replicas;
    else return 0;
  }
  local::Options options(const optim::Schedule& rate, std::int64_t last) const override {
    local::Options o;
    if constexpr (some) o = this->fields.make(rate);
    o.last = last;
    return o;
  }
};
[[maybe_unused]] const bool added = config::add<LocalOf<None>>() && config::add<LocalOf<Average>>() &&
                                    config::add<LocalOf<Diloco>>() && config::add<LocalOf<Slowmo>>();
AxisName axis() { return AxisName(local::kReplica); }
}  // namespace

std::int64_t replicas_of(const LocalKind& kind, const MeshShape& mesh) {
  if (!kind.on()) return 0;
  auto ranks = mesh.has(axis()) ? mesh.axis_size(axis()) : 0;
  auto given = kind.replicas();
  check<ConfigError>(ranks > 0 || given > 0, "local: ", kind.type(), " has no replicas: mesh ", to_string(mesh),
                     " has no axis replica; set mesh replica=M, or local.replicas=M for replicas in one process");
  if (given == 0) return ranks;
  check<ConfigError>(ranks <= 1 || given % ranks == 0, "local.replicas: ", given,
                     " replicas cannot be spread evenly over the ", ranks, " ranks of mesh axis replica");
  return given;
}
std::int64_t check_local(const LocalKind& kind, const MeshShape& mesh, const MeshAxes& batch_axes, std::int64_t batch,
                         std::int64_t accumulate) {
  auto n = replicas_of(kind, mesh);
  if (n == 0) return 0;
  check<ConfigError>(batch % n == 0 && batch / n % accumulate == 0, "local: batch ", batch, " cannot be cut into ",
                     accumulate > 1 ? std::to_string(accumulate) + " equal parts (accumulate) of " : "",
                     "equal shares of ", n, " replicas; set batch to a multiple of ", n * accumulate);
  if (mesh.has(axis()) && mesh.axis_size(axis()) > 1)
    check<ConfigError>(!batch_axes.empty() && batch_axes[0] == axis(),
                       "local: the rule for batch splits it over ", to_string(batch_axes),
                       "; each replica needs rows of its own: map batch to replica first");
  std::int64_t ranks = 1;
  for (auto& a : batch_axes)
    if (a != axis()) ranks *= mesh.axis_size(a);
  check<ConfigError>(batch / n / accumulate >= ranks, "local: ", batch / n / accumulate, " rows of a replica",
                     accumulate > 1 ? " in each part of the batch" : "", " cannot be spread over its ", ranks,
                     " ranks; raise batch from ", batch, " to ", n * accumulate * ranks, " or more");
  return n;
}
}  // namespace bora::training
