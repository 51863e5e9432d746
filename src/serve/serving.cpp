#include "serve/api/serving.h"
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include "bora/base/text.h"
#include "bora/io/checkpoint.h"
#include "bora/job/served_model.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/stepper.h"
#include "bora/nn/policy.h"
#include "bora/shard/mesh.h"
#include "serve/api/folder.h"

namespace bora::serve {
namespace {
/// Looks for newer checkpoints of a run as long as it lives.
class Follower {
 public:
  Follower(generate::Engine& engine, std::string run, std::string now)
      : engine_(engine), root_(std::move(run) + "/checkpoints"), now_(std::move(now)), thread_([this] { follow(); }) {}
  ~Follower() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

 private:
  void follow() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [&] { return over_; })) {
      lock.unlock();
      std::string why;
      try {
        auto newest = io::newest_checkpoint(root_);
        if (newest && newest->folder != now_) {
          now_ = newest->folder;  // a damaged one is tried once
          engine_.exchange(now_);
        }
      } catch (const Error& e) { why = one_line(e.text()); }
      lock.lock();
      if (over_ || why == said_) continue;
      said_ = why;
      if (!why.empty()) std::fprintf(stderr, "bora: --follow: the old weights stay: %s\n", why.c_str());
    }
  }
  generate::Engine& engine_;
  std::string root_, now_, said_ = {};
  std::mutex mutex_ = {};
  std::condition_variable wake_ = {};
  bool over_ = false;
  std::thread thread_;  // last: it uses all of them
};
}  // namespace

struct Serving::State {
  job::TrainedRun words;
  job::Settings settings;
  Mesh mesh;
  ServingOptions options;
  std::optional<job::ServedModel> model = {};
  std::optional<generate::Engine> engine = {};
  std::optional<Service> service = {};

  std::string fingerprint(const std::string& of) const {
    auto& p = settings.precision;
    auto format = p.weights.empty() ? std::string(dtype_name(Policy::parse(p.policy).parameter)) : p.weights;
    return fingerprint_of(of, format, BORA_VERSION);
  }
  /// All of another checkpoint's weights or none; every rank calls it.
  void replace(const std::string& from) {
    std::string damage;
    try {
      io::verify_checkpoint(from);  // restoring writes into the parameters as it goes
    } catch (const Error& e) { damage = e.text(); }
    for (auto& theirs : mesh.exchange(damage, "serve --follow")) check<CheckpointError>(theirs.empty(), theirs);
    model->read(from);
    if (service) service->renew(fingerprint(from));
  }
};
Serving::Serving(const job::TrainedRun& words, const job::Settings& settings, Model m, const Mesh& mesh,
                 const ServingOptions& options)
    : state_(new State{words, settings, mesh, options}) {
  auto& s = *state_;
  check<ConfigError>(!options.follow || (!job::is_pretrained(words) && words.resume.empty()),
                     "--follow: belongs to a run's newest checkpoint");
  auto& model = s.model.emplace(words, settings, *m.tokenizer, mesh);
  auto engine = options.engine;
  engine.ends = m.ends;
  engine.encoder = m.start.has_value();
  engine.replicas = model.replicas();
  engine.exchange = [&s](models::Stepper&, const std::string& from) { s.replace(from); };
  s.engine.emplace(model.stepper(), m.tokenizer, mesh, engine);
  if (mesh.rank() != 0) return;
  auto& stepper = model.stepper();
  m.positions = std::min(m.positions, stepper.positions());
  if (stepper.window() >= m.positions)
    m.room = s.engine->report().pages / model.replicas() * models::Stepper::kPagePositions;
  m.fingerprint = s.fingerprint(model.folder());
  s.service.emplace(std::move(m), answering(*s.engine), options.service);
}
Serving::~Serving() = default;
bool Serving::first() const { return state_->mesh.rank() == 0; }
Service& Serving::service() { return *state_->service; }
void Serving::run() {
  auto& s = *state_;
  std::optional<Follower> follower;
  if (s.options.follow && s.service) follower.emplace(*s.engine, s.words.run, s.model->folder());
  try {
    s.engine->run();
  } catch (const Error& e) {
    if (s.service) s.service->close(e.text());
    throw;
  }
}
void Serving::stop(std::chrono::milliseconds drain) {
  state_->service->close("the server is shutting down");
  state_->engine->stop(drain);
}
}  // namespace bora::serve
