// state.h -- what an engine holds: the part of its thread, and the part that other threads write into.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include "bora/generate/engine.h"
#include "bora/shard/mesh.h"
#include "generate/channel.h"
#include "generate/live.h"
#include "generate/reading.h"
#include "generate/scheduler.h"

namespace bora::generate {
struct Engine::State {
  using Clock = std::chrono::steady_clock;
  State(models::Stepper&, std::shared_ptr<const text::Tokenizer>, const Mesh&, EngineOptions);
  /// A thread in exchange(), which waits.
  struct Exchange {
    std::string from, error = {};
    bool done = false;
  };
  enum class Todo : std::uint8_t { steps, exchange, end };

  models::Stepper& stepper;
  const Mesh mesh;
  const EngineOptions options;
  const engine::Model model;

  // Of the thread that runs.
  std::deque<engine::Scheduler> schedulers = {};  // of each replica
  engine::Channel channel;
  std::map<Id, std::unique_ptr<engine::Live>> live = {};
  EngineReport counts = {};

  // Of all threads.
  mutable std::mutex mutex = {};
  std::condition_variable news = {};
  std::vector<std::unique_ptr<engine::Live>> inbox = {};
  std::vector<Id> cancels = {};
  Id next = 1;
  std::int64_t waiting = 0;               // requests that have not begun
  bool stopping = false, over = false;
  Clock::time_point until = {};           // when stopping
  Exchange* exchange = nullptr;
  EngineReport report = {};

  void lead(bool until_idle);
  void follow();
  /// Ends all that is left, and what comes, as failed; an empty text: there is nothing left.
  void close(const std::string& error);

 private:
  using Live = engine::Live;
  Todo hear(bool until_idle);
  void begin(std::unique_ptr<Live>);
  void step(bool begins);
  engine::Scheduler& scheduler_of(const Live& l) { return schedulers[static_cast<std::size_t>(l.replica)]; }
  void begun(const engine::Plan&);
  void take(const engine::Plan&, const Array& scores);
  void tell(const engine::Reading&);
  void end(Live&, Finish, const std::string& error = {});
  void forget(Live&);
  void replace();
  std::string apply(const std::string& from);
  void publish();
};
}  // namespace bora::generate
