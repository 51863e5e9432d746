#include "bora/train/local_settings.h"
#include <algorithm>
#include "bora/train/local.h"

namespace bora::training {
namespace {
using config::domain, config::Meaning;
constexpr std::string_view kAuto = "auto",
                           kEvery = "steps between meetings of the replicas; they meet after the last step too; auto: "
                                    "the fewest with which 90 % of the time is compute on `link`, for a new run",
                           kReplicas = "how many; 0: as many as mesh axis replica has ranks, which must divide it",
                           kLink = "between the replicas, for every: auto; 1G, 10G, 25G or 1G,50us";
constexpr std::int64_t kMost = 1 << 30;
std::optional<std::int64_t> steps_in(const std::string& every) { return parse_as<std::int64_t>(every); }
void check_counts(const std::string& every, std::int64_t replicas, const std::string& link) {
  auto n = steps_in(every);
  domain(every == kAuto || (n && *n >= 1 && *n <= kMost), "every", every, "1 or more steps, or auto");
  domain(replicas >= 0 && replicas <= 1 << 16, "replicas", replicas, "from 1 to 2^16 (or 0 for those of the mesh)");
  check<ConfigError>(every != kAuto || !link.empty(),
                     "every: auto follows from the speed of the network; set local.link=1G, say, or a number of steps");
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
  std::string every = "30";
  std::int64_t replicas = 0;
  std::string link = {};
  static constexpr Meaning meanings[] = {{"every", kEvery}, {"replicas", kReplicas}, {"link", kLink}};
  void check() const { check_counts(every, replicas, link); }
  local::Options make(const optim::Schedule&) const {
    return {.kind = local::Kind::average, .outer = optim::identity()};
  }
};
struct Diloco {
  static constexpr std::string_view type = "diloco";
  std::string every = "30";
  std::int64_t replicas = 0, fragments = 1, delay = 0;
  double mix = 0;
  Codec wire = Codec::f32;
  std::string link = {};
  OuterSettings outer = {};
  static constexpr Meaning meanings[] = {
      {"every", kEvery},
      {"replicas", kReplicas},
      {"fragments", "1: all parameters meet at once; more: layers in so many parts, the rest in one more, in turn"},
      {"delay", "steps that replicas make between a meeting's begin and its result"},
      {"mix", "how much of its own parameters a replica keeps then"},
      {"wire", "of what is sent: a codec, as wire.gradients"},
      {"link", kLink},
      {"outer", ""}};
  void check() const {
    check_counts(every, replicas, link);
    auto n = steps_in(every).value_or(kMost);
    domain(fragments >= 1 && fragments <= kMost, "fragments", fragments, "1 or more");
    bora::check<ConfigError>(fragments == 1 || fragments < n, "fragments: ", fragments,
                             " parts of the layers and one of the rest cannot meet once each in ", every,
                             " steps; raise local.every or lower it");
    domain(delay >= 0 && delay < n, "delay", delay, "from 0 to below local.every (" + every + ")");
    domain(mix >= 0 && mix < 1, "mix", mix, "from 0 to below 1");
  }
  local::Options make(const optim::Schedule&) const {
    return {.kind = local::Kind::diloco,
            .outer = outer.make(),
            .fragments = fragments,
            .delay = delay,
            .mix = mix,
            .wire = {wire}};
  }
};
/// The divisor of SlowMo, the larger rate of a round's first and last step. The last one alone may be next to nothing
/// beside those with which the replicas moved: momentum would then keep a gradient out of all proportion, which the
/// next rate that is not so small makes a step of. Never 0, where it would count as 1: a cosine that ends at 0 is 0 in
/// f32 before its end.
optim::Schedule rate_of_round(const optim::Schedule& rate, std::int64_t steps) {
  return optim::Schedule([=](const Array& step) {
    return maximum(maximum(rate(step), rate(maximum(step - (steps - 1), 0))), 1e-30);
  });
}
struct Slowmo {
  static constexpr std::string_view type = "slowmo";
  std::string every = "30";
  std::int64_t replicas = 0;
  std::string link = {};
  OuterSettings outer = {.type = OuterSettings::Type::sgd, .lr = 1, .momentum = 0.5};
  static constexpr Meaning meanings[] = {{"every", kEvery}, {"replicas", kReplicas}, {"link", kLink}, {"outer", ""}};
  void check() const { check_counts(every, replicas, link); }
  local::Options make(const optim::Schedule& rate) const {
    return {.kind = local::Kind::slowmo,
            .outer = outer.make(),
            .rate = rate_of_round(rate, steps_in(every).value_or(1))};
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
  std::int64_t fragments() const override {
    if constexpr (requires(const T& t) { t.fragments; }) return this->fields.fragments;
    else return 1;
  }
  std::int64_t least_every() const override {
    if constexpr (requires(const T& t) { t.fragments; })
      return std::max(this->fields.fragments > 1 ? this->fields.fragments + 1 : 1, this->fields.delay + 1);
    else return 1;
  }
  std::int64_t every() const override {
    if constexpr (some) return steps_in(this->fields.every).value_or(0);
    else return 0;
  }
  bool automatic() const override {
    if constexpr (some) return this->fields.every == kAuto;
    else return false;
  }
  void set_every(std::int64_t n) override {
    if constexpr (some) this->fields.every = std::to_string(n);
    else (void)n;
  }
  std::string link() const override {
    if constexpr (some) return this->fields.link;
    else return {};
  }
  Wire wire() const override {
    if constexpr (requires(const T& t) { t.wire; }) return {this->fields.wire};
    else return {};
  }
  local::Options options(const optim::Schedule& rate, std::int64_t last) const override {
    local::Options o;
    if constexpr (some) {
      auto n = steps_in(this->fields.every);
      check<ConfigError>(n.has_value(), "local.every: ", this->fields.every, " is no number of steps yet");
      o = this->fields.make(rate);
      o.every = *n;
    }
    o.last = last;
    return o;
  }
};
AxisName axis() { return AxisName(mesh_axes::kReplica); }
}  // namespace

std::int64_t replicas_of(const LocalKind& kind, const MeshShape& mesh) {
  if (!kind.on()) return 0;
  auto ranks = mesh.has(axis()) ? mesh.axis_size(axis()) : 0;
  auto given = kind.replicas();
  check<ConfigError>(ranks > 0 || given > 0, "local: ", kind.type(), " has no replicas: mesh ", to_string(mesh),
                     " has no axis replica; set mesh replica=M, or local.replicas=M for replicas in one process");
  check<ConfigError>(ranks == 0 || mesh.equal(MeshAxes(std::vector{axis()})), "local: mesh ", to_string(mesh),
                     " has shares along replica, but each of its ranks trains as many replicas; leave them out");
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
  check<ConfigError>(!kind.automatic() || (mesh.has(axis()) && mesh.axis_size(axis()) > 1),
                     "local.every: auto is for replicas on ranks of their own, and mesh ", to_string(mesh),
                     " has none along an axis replica; set a number of steps");
  std::int64_t ranks = 1;
  for (auto& a : batch_axes)
    if (a != axis()) ranks *= mesh.axis_size(a);
  check<ConfigError>(batch / n / accumulate >= ranks, "local: ", batch / n / accumulate, " rows of a replica",
                     accumulate > 1 ? " in each part of the batch" : "", " cannot be spread over its ", ranks,
                     " ranks; raise batch from ", batch, " to ", n * accumulate * ranks, " or more");
  return n;
}
}  // namespace bora::training
template const bool bora::config::added<bora::training::LocalOf<bora::training::None>>;
template const bool bora::config::added<bora::training::LocalOf<bora::training::Average>>;
template const bool bora::config::added<bora::training::LocalOf<bora::training::Diloco>>;
template const bool bora::config::added<bora::training::LocalOf<bora::training::Slowmo>>;
