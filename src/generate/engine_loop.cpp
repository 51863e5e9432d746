// The engine's thread: it hears what others want, plans a step, computes it, and tells the listeners.
#include <algorithm>
#include <utility>
#include "bora/array/array.h"
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "bora/models/stepper.h"
#include "generate/state.h"

namespace bora::generate {
namespace {
using Kind = engine::Message::Kind;
constexpr auto kIdle = std::chrono::seconds(5);  // then the other ranks hear that there is nothing to do
constexpr double kScore = 0.5;  // ns that choosing takes at least for each score
constexpr const char* kLate = "the deadline of the request has passed";
constexpr const char* kEnded = "engine: it has ended, and takes no other weights";
}  // namespace

void Engine::State::lead(bool until_idle) {
  for (;;) {
    auto todo = hear(until_idle);
    if (todo == Todo::end) break;
    bool none_begun = std::none_of(live.begin(), live.end(), [](auto& item) { return item.second->begun; });
    if (todo == Todo::exchange && none_begun) replace();
    else if (!live.empty()) step(todo != Todo::exchange);
    else channel.send({});
    publish();
  }
  publish();
  channel.send({.kind = Kind::end});
}
/// Takes what other threads have left; waits for it where there is nothing to do.
Engine::State::Todo Engine::State::hear(bool until_idle) {
  std::vector<std::unique_ptr<Live>> new_ones;
  std::vector<Id> left;
  auto todo = Todo::steps;
  bool stopping_now = false;
  {
    std::unique_lock lock(mutex);
    auto wanted = [&] { return exchange && !exchange->done; };
    if (live.empty() && !until_idle)
      news.wait_for(lock, kIdle, [&] { return !inbox.empty() || stopping || wanted(); });
    new_ones.swap(inbox);
    left.swap(cancels);
    bool empty = live.empty() && new_ones.empty();
    stopping_now = stopping;
    if (wanted()) todo = Todo::exchange;
    if ((empty && (stopping || (until_idle && !wanted()))) || (stopping && Clock::now() >= until)) todo = Todo::end;
  }
  for (auto& one : new_ones) begin(std::move(one));
  for (auto id : left)
    if (auto found = live.find(id); found != live.end()) end(*found->second, Finish::cancelled);
  std::vector<Live*> late;
  for (auto& [id, one] : live)
    if (auto& deadline = one->request().deadline; deadline && *deadline <= Clock::now()) late.push_back(one.get());
  for (auto* one : late) end(*one, Finish::failed, kLate);
  if (todo == Todo::end)
    while (!live.empty()) end(*live.begin()->second, Finish::cancelled);
  if (todo == Todo::end && stopping_now) close({});
  return todo;
}
void Engine::State::begin(std::unique_ptr<Live> one) {
  auto& l = *live.emplace(one->id, std::move(one)).first->second;
  auto tokens = l.tokens();
  if (tokens.empty()) return end(l, Finish::length);
  auto& inputs = l.request().inputs;
  auto idle = std::min_element(schedulers.begin(), schedulers.end(),
                               [](auto& a, auto& b) { return a.sequences() < b.sequences(); });
  l.replica = idle - schedulers.begin();
  idle->add({l.id, 0}, {.tokens = std::move(tokens), .scored = l.scored(), .shares = inputs.empty(),
                            .input_pages = engine::Scheduler::pages_of(std::ssize(inputs)), .most = l.most()});
}
void Engine::State::begun(const engine::Plan& plan) {
  for (auto& key : plan.begun) {
    auto& l = *live.at(key.first);
    auto& s = scheduler_of(l).at(key);
    l.begun = true;
    l.cached = s.cached;
    ++counts.running;
    counts.prompt_tokens += static_cast<std::int64_t>(l.request().prompt.size());
    if (l.request().inputs.empty()) continue;
    channel.send({.kind = Kind::read, .inputs = l.request().inputs});
    s.inputs = l.inputs = stepper.read(l.request().inputs);
  }
  std::lock_guard lock(mutex);
  waiting -= static_cast<std::int64_t>(plan.begun.size());
}
void Engine::State::step(bool begins) {
  std::vector<engine::Plan> plans;
  engine::Plan all;  // of the replicas, one after another, as the scores come
  for (auto& scheduler : schedulers) {
    plans.push_back(scheduler.plan(begins));
    all.begun.insert(all.begun.end(), plans.back().begun.begin(), plans.back().begun.end());
    all.parts.insert(all.parts.end(), plans.back().parts.begin(), plans.back().parts.end());
  }
  begun(all);
  if (all.parts.empty()) return;
  engine::Message m{.kind = Kind::step};
  for (std::size_t i = 0; i < plans.size(); ++i)
    schedulers[i].add_to(m.step, plans[i], static_cast<std::int64_t>(i) * model.pages);
  channel.send(m);
  auto scores = stepper.step(m.step);
  for (std::size_t i = 0; i < plans.size(); ++i) schedulers[i].done(plans[i]);
  ++counts.steps;
  take(all, scores);
}
void Engine::State::take(const engine::Plan& plan, const Array& scores) {
  std::int64_t rows = 0;
  for (auto& part : plan.parts) rows += part.wanted;
  if (rows == 0) return;
  auto whole = scores.concrete();
  Shape expected{rows, model.vocabulary};
  bora::check<ValueError>(whole.type() == Type{expected, Dtype::f32}, "engine: a step gave scores ", whole.type(),
                          " for ", rows, " tokens of ", model.vocabulary);
  auto width = static_cast<std::size_t>(model.vocabulary);
  std::vector<engine::Reading> readings;
  auto* at = whole.data<float>();
  for (auto& part : plan.parts)
    for (auto left = part.wanted; left > 0;) {
      auto& l = *live.at(part.key.first);
      auto position = part.before + part.count - left;
      auto n = l.of_prompt(position) ? 1 : left;
      readings.push_back({l, part, position, {at, static_cast<std::size_t>(n) * width}});
      at += static_cast<std::size_t>(n) * width;
      left -= n;
    }
  auto grain = grain_for(kScore * static_cast<double>(width));
  parallel_for(std::ssize(readings), grain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) readings[static_cast<std::size_t>(begin)].read(width);
  });
  for (auto& r : readings)
    if (live.contains(r.part.key.first)) tell(r);  // it may have ended with the token before
}
void Engine::State::tell(const engine::Reading& r) {
  auto& l = r.live;
  auto& key = r.part.key;
  auto& scheduler = scheduler_of(l);
  if (l.of_prompt(r.position)) {
    l.read(r.said[0]);
    if (!l.ended()) scheduler.at(key).scored = r.position + 1;
    else forget(l);
    return;
  }
  auto first = key.second == 0 && l.given(0) == 0;
  if (first)
    for (std::int64_t i = 1; i < l.choices(); ++i)  // they find the prompt's pages
      scheduler.add({l.id, i}, {.tokens = l.request().prompt, .scored = r.position, .inputs = l.inputs,
                                .shares = scheduler.at(key).shares, .begun = true, .most = l.most()});
  std::size_t told = 0;
  for (bool goes_on = true; goes_on && told < r.said.size(); ++told) {
    goes_on = l.tell(key.second, r.said[told], told + 1 == r.said.size());
    counts.generation_tokens += r.said[told] ? 1 : 0;
    if (goes_on) scheduler.append(key, r.said[told]->id, told + 1 < r.said.size());
    else scheduler.remove(key);
  }
  auto drafted = std::ssize(r.part.drafts), right = std::ssize(r.said) - 1;
  counts.drafted_tokens += drafted;
  counts.accepted_tokens += std::min(right, static_cast<std::int64_t>(told));
  if (!l.ended(key.second)) scheduler.at(key).lookup.verified(drafted, right);
  if (l.ended()) forget(l);
}
void Engine::State::end(Live& l, Finish finish, const std::string& error) {
  l.end(finish, error);
  forget(l);
}
/// Of a request whose choices have ended.
void Engine::State::forget(Live& l) {
  auto& scheduler = scheduler_of(l);
  for (std::int64_t i = 0; i < l.choices(); ++i) scheduler.remove({l.id, i});
  if (l.inputs >= 0) {
    channel.send({.kind = Kind::forget, .inputs = {static_cast<std::int32_t>(l.inputs)}});
    stepper.forget(l.inputs);
    scheduler.free_inputs(engine::Scheduler::pages_of(std::ssize(l.request().inputs)));
  }
  if (l.begun) {
    --counts.running;
  } else {
    std::lock_guard lock(mutex);
    --waiting;
  }
  auto last = live.extract(l.id);
  publish();  // before the listener may look
  last.mapped()->done();
}
/// Every rank calls it; the error of all of them, empty if there is none.
std::string Engine::State::apply(const std::string& from) {
  std::string error;
  try {
    bora::check<ValueError>(options.exchange != nullptr, "EngineOptions::exchange: there is no such function");
    options.exchange(stepper, from);
  } catch (const TransportError&) { throw; } catch (const Error& e) {
    error = e.text();
  } catch (const std::exception& e) {
    error = e.what();
  }
  auto all = mesh.exchange(error, "engine: other weights");
  auto failed = std::find_if(all.begin(), all.end(), [](auto& e) { return !e.empty(); });
  if (failed == all.end()) return {};
  bora::check<IoError>(std::none_of(all.begin(), all.end(), [](auto& e) { return e.empty(); }), "engine: rank ",
                       failed - all.begin(), " has not the weights of ", from, ", and others have: ", *failed);
  return *failed;
}
void Engine::State::replace() {
  std::string from;
  {
    std::lock_guard lock(mutex);
    from = exchange->from;
  }
  channel.send({.kind = Kind::exchange, .inputs = {from.begin(), from.end()}});
  auto error = apply(from);
  for (auto& scheduler : schedulers)
    if (error.empty()) scheduler.forget();
  std::lock_guard lock(mutex);
  exchange->error = error;
  exchange->done = true;
  news.notify_all();
}
void Engine::State::publish() {
  counts.pages = model.pages * options.replicas;
  counts.used_pages = counts.prefix_queries = counts.prefix_hits = counts.preemptions = 0;
  for (auto& scheduler : schedulers) {
    auto& c = scheduler.counts();
    counts.used_pages += scheduler.used_pages();
    counts.prefix_queries += c.asked;
    counts.prefix_hits += c.found;
    counts.preemptions += c.preemptions;
  }
  std::lock_guard lock(mutex);
  counts.waiting = waiting;
  report = counts;
}
void Engine::State::close(const std::string& error) {
  std::vector<std::unique_ptr<Live>> left;
  {
    std::lock_guard lock(mutex);
    over = true;
    left.swap(inbox);
    waiting = 0;
    if (exchange && !exchange->done) exchange->error = error.empty() ? kEnded : error, exchange->done = true;
    news.notify_all();
  }
  for (auto& [id, one] : std::exchange(live, {})) left.push_back(std::move(one));
  counts.running = 0;
  counts.failed = !error.empty();
  publish();
  for (auto& one : left) {
    one->end(Finish::failed, error);
    one->done();
  }
}

// ---- the other ranks ----
void Engine::State::follow() {
  for (;;) {
    auto m = channel.receive();
    switch (m.kind) {
      case Kind::idle: break;
      case Kind::step: (void)stepper.step(m.step).concrete(); break;
      case Kind::read: (void)stepper.read(m.inputs); break;
      case Kind::forget: stepper.forget(m.inputs.at(0)); break;
      case Kind::exchange: (void)apply({m.inputs.begin(), m.inputs.end()}); break;
      case Kind::end: return;
    }
  }
}
}  // namespace bora::generate
