// The engine as other threads see it.
#include "bora/generate/engine.h"
#include <algorithm>
#include <utility>
#include "bora/base/error.h"
#include "bora/text/tokenizer.h"
#include "generate/budget.h"
#include "generate/state.h"

namespace bora::generate {
namespace {
constexpr std::int64_t kScoreBytes = 64 << 20;  // of a step, whatever the vocabulary
constexpr std::int64_t kMostPages = 1 << 30;    // their numbers are i32

engine::Scheduler::Limits limits_of(const EngineOptions& o, const engine::Model& m) {
  return {.pages = m.pages,
          .step_tokens = o.step_tokens,
          .rows = o.rows,
          .scores = kScoreBytes / 4 / std::max<std::int64_t>(m.vocabulary, 1),
          .window = m.window,
          .lookup = o.lookup};
}
EngineOptions checked(EngineOptions o) {
  for (auto [field, value] :
       {std::pair{"step_tokens", o.step_tokens}, {"rows", o.rows}, {"queue", o.queue}, {"replicas", o.replicas}})
    bora::check<ValueError>(value >= 1, field, ": must be 1 or more, got ", value);
  for (auto [field, value] : {std::pair{"cache_bytes", o.cache_bytes}, {"lookup", o.lookup}})
    bora::check<ValueError>(value >= 0, field, ": must be 0 or more, got ", value);
  return o;
}
}  // namespace

Engine::State::State(models::Stepper& s, std::shared_ptr<const text::Tokenizer> t, const Mesh& m, EngineOptions o)
    : stepper(s), mesh(m), options(checked(std::move(o))),
      model{std::move(t),
            options.ends,
            s.positions(),
            s.vocabulary(),
            std::min(s.window(), s.positions()),
            std::min(engine::pages_for(s, mesh, options.cache_bytes, options.rows), kMostPages / options.replicas),
            options.step_tokens,
            options.encoder},
      channel(mesh) {
  for (std::int64_t i = 0; i < options.replicas; ++i) schedulers.emplace_back(limits_of(options, model));
  stepper.allot(model.pages * options.replicas);
  report.pages = model.pages * options.replicas;
}
Engine::Engine(models::Stepper& s, std::shared_ptr<const text::Tokenizer> t, const Mesh& mesh, EngineOptions o)
    : state_(std::make_unique<State>(s, std::move(t), mesh, std::move(o))) {}
Engine::~Engine() = default;
std::optional<Engine::Id> Engine::submit(Request r, Listener l) {
  auto& s = *state_;
  bora::check<ValueError>(s.mesh.rank() == 0, "engine: rank ", s.mesh.rank(), " takes no requests; rank 0 does");
  engine::check_request(r, s.model);
  auto refuses = [&] { return s.stopping || s.over || s.waiting >= s.options.queue; };
  {
    std::lock_guard lock(s.mutex);
    if (refuses()) return {};
  }
  auto live = std::make_unique<engine::Live>(std::move(r), std::move(l), s.model);  // which takes a while
  std::lock_guard lock(s.mutex);
  if (refuses()) return {};
  auto id = live->id = s.next++;
  s.inbox.push_back(std::move(live));
  s.report.waiting = ++s.waiting;
  s.news.notify_all();
  return id;
}
void Engine::cancel(Id id) {
  std::lock_guard lock(state_->mutex);
  state_->cancels.push_back(id);
  state_->news.notify_all();
}
void Engine::run(bool until_idle) {
  auto& s = *state_;
  try {
    s.mesh.rank() == 0 ? s.lead(until_idle) : s.follow();
  } catch (const Error& e) {
    s.close(e.text());
    throw;
  } catch (const std::exception& e) {
    s.close(e.what());
    throw;
  }
}
void Engine::stop(std::chrono::milliseconds drain) {
  auto& s = *state_;
  std::lock_guard lock(s.mutex);
  auto until = State::Clock::now() + drain;
  s.until = s.stopping ? std::min(s.until, until) : until;
  s.stopping = true;
  s.news.notify_all();
}
void Engine::exchange(const std::string& from) {
  auto& s = *state_;
  State::Exchange mine{from};
  std::unique_lock lock(s.mutex);
  s.news.wait(lock, [&] { return !s.exchange || s.over; });
  bora::check<ValueError>(!s.over, "engine: it has ended, and takes no other weights");
  s.exchange = &mine;
  s.news.notify_all();
  s.news.wait(lock, [&] { return mine.done; });
  s.exchange = nullptr;
  s.news.notify_all();
  bora::check<ValueError>(mine.error.empty(), mine.error);
}
EngineReport Engine::report() const {
  std::lock_guard lock(state_->mutex);
  return state_->report;
}
}  // namespace bora::generate
