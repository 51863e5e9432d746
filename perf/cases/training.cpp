// training.cpp -- whole training steps of GPT-2, on one rank and on the ranks of a job, and what compiling one costs.
#include <cstdlib>
#include <memory>
#include "compile/api/program.h"
#include "bora/bora.h"
#include "compile/api/executable.h"
#include "bora/models/gpt2.h"
#include "bora/optim/optim.h"
#include "bora/train/step.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
using models::Gpt2;
struct Job {
  models::Gpt2Config config;
  std::int64_t vocabulary, batch, tokens;
  double learning_rate, clip;  // clip: global norm; 0: none
  AxisMapping storage = {}, compute = {};
  Policy policy = {};
};
Job gpt2(std::int64_t batch, std::int64_t tokens) {
  return {{.layers = 12, .embed = 768, .heads = 12, .positions = 1024}, 50304, batch, tokens, 1e-4, 0};
}
Job demo() { return {{.layers = 4, .embed = 192, .heads = 6, .positions = 128}, 256, 32, 128, 1e-3, 1}; }

/// A number for each path, the same on the other side of the comparison.
std::uint32_t seed_of(const std::string& path) {
  std::uint32_t h = 2166136261U;  // FNV-1a
  for (unsigned char c : path) h = (h ^ c) * 16777619U;
  return h;
}
struct Rows {
  NamedArray tokens, targets;
};
using State = TrainState<Gpt2>;

class Training {
 public:
  explicit Training(const Job& job)
      : job_(job),
        task_{.init = [job](const Array& key) { return Gpt2::init(job.config, job.vocabulary, key); },
              .loss =
                  [policy = job.policy](const Gpt2& stored, const Rows& rows, const std::optional<Array>&) {
                    auto model = policy.cast_to_compute(stored);
                    auto x = model.hidden({.tokens = rows.tokens}, none, {.checkpoint = remat::everything});
                    return nn::linear_cross_entropy(model.head(), x, rows.targets, ones(rows.targets.axes()));
                  },
              .weights = [](const Rows& rows) { return ones(rows.targets.axes()); }},
        options_{.optimizer = adamw(job), .learning_rate = job.learning_rate},
        step_(jit(stepping())),
        rows_{tokens(1), tokens(2)} {
    begin();
  }
  void begin() {
    UseMapping scope(job_.compute);
    state_ = {};
    auto model = named_jit(task_.init, {.out = job_.storage})(random::key(0));
    auto paths = tree::paths(model);
    auto leaves = tree::leaves(model);
    auto drawn = tree::decays(tree::node(model));  // biases and norms keep their zeros and ones
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (drawn[i]) leaves[i] = reshard_like(uniform(seed_of(paths[i]), leaves[i].shape(), 0.03F), leaves[i]);
    model = tree::unflatten(model, leaves);
    state_ = {model, options_.optimizer.init(model), full_of({{}, i32}, 0), random::key(0)};
  }
  Array run() {
    UseMapping scope(job_.compute);
    auto [next, loss] = step_(std::move(state_), rows_);
    state_ = std::move(next);
    return loss;
  }
  Values losses() {
    begin();
    std::vector<double> r;
    for (int i = 0; i < 3; ++i) r.push_back(static_cast<double>(run().item<float>()));
    return {{"losses", r}};
  }
  /// Stages, plans and compiles the step again. The process still caches the loops of an earlier call by their
  /// instructions; machine code belongs to neither: a loop gets it while it runs.
  void compile() const {
    auto fresh = jit(stepping());
    auto program = program_of(fresh, state_, rows_);
    (void)executable(program, Mask(program->in.size(), true));
  }

 private:
  using StepFn = std::function<std::pair<State, Array>(const State&, const Rows&)>;
  StepFn stepping() const {
    return [this](const State& s, const Rows& rows) {
      auto [next, report] = training::step(task_, options_, s, rows);
      return std::pair{next, report.loss};  // nobody reads the norm: it is not computed
    };
  }
  static optim::Transform adamw(const Job& job) {
    auto adamw = optim::adamw({.learning_rate = job.learning_rate, .b2 = 0.95, .weight_decay = 0.1});
    return job.clip > 0 ? optim::chain(optim::clip_by_global_norm(job.clip), adamw) : adamw;
  }
  NamedArray tokens(std::uint32_t seed) const {
    return NamedArray(integers(seed, {job_.batch, job_.tokens}, static_cast<std::uint32_t>(job_.vocabulary)),
                      {{"batch", job_.batch}, {"position", job_.tokens}});
  }
  Job job_;
  TrainTask<Gpt2, Rows> task_;
  StepOptions options_;
  decltype(jit(std::declval<StepFn>())) step_;
  Rows rows_;
  State state_;
};
/// Parameters and outputs in f32, the rest in bf16.
Job in_bf16(Job job) {
  job.policy = Policy::parse("p=f32,c=bf16,o=f32");
  return job;
}
Case training(const Job& job) {
  auto t = std::make_shared<Training>(job);
  return {[t] { (void)t->run(); }, [t] { return t->losses(); }};
}
/// The same on the ranks of the job in the environment.
struct Ranks {
  Mesh mesh = Mesh::from_environment({{"data", -1}});
  UseMesh use{mesh};
};
Case on_ranks(Job job, bool fsdp) {
  static Ranks ranks;  // until the process ends
  if (fsdp) job.storage = {{"embed", "data"}};
  job.compute = {{"batch", "data"}};
  return training(job);
}
}  // namespace

void add_training(Cases& to) {
  to["gpt2_b4_t256"] = [] { return training(gpt2(4, 256)); };
  to["gpt2_b1_t1024"] = [] { return training(gpt2(1, 1024)); };
  to["gpt2_b4_t256_bf16"] = [] { return training(in_bf16(gpt2(4, 256))); };
  to["demo_bf16"] = [] { return training(in_bf16(demo())); };
  to["demo"] = [] { return training(demo()); };
  to["demo_ranks_dp"] = [] { return on_ranks(demo(), false); };
  to["demo_ranks_fsdp"] = [] { return on_ranks(demo(), true); };
  to["compile_gpt2"] = [] {
    auto t = std::make_shared<Training>(gpt2(4, 256));
    return Case{[t] { t->compile(); }, [] { return Values{{"none", {}}}; }};
  };
}
}  // namespace cases
