// membership.h -- a rank's membership of an elastic job, whose ranks change: after a loss, and as hosts come and go.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bora::training {
/// An elastic job as one of its processes sees it. The job runs in generations: each has a mesh of its own, and ends
/// when a rank is lost or all ranks leave it in order. Each process then gets a rank in the next generation, or ends.
/// The command's implementation speaks with `bora launch`. Functions are called on the thread that trains.
class Membership {
 public:
  virtual ~Membership() = default;
  /// Number of the generation that this process is in; the job's first is 0. Ranks of a later generation have met
  /// before, or were started beside such ranks: they continue the run, and take its folder over from a lost rank.
  virtual std::int64_t generation() const = 0;
  /// Identity of the job's launcher, unique over time and machines; a run's folder belongs to it. Empty: unknown.
  virtual std::string job() const { return {}; }
  /// Ranks that survive into the next generation. If not empty, this generation only sends state to them and ends.
  virtual std::vector<int> heirs() const { return {}; }
  /// The ground on which the ranks of the job stand (stands_on), for a process that was started beside them: it is to
  /// compare itself before it meets them. Empty: there is nothing to compare with.
  virtual std::string ground() const { return {}; }
  /// True if this process was started beside ranks that go on, until it has made a step with them.
  virtual bool is_new() const { return false; }
  /// True if this process has no rank yet: once it has compared itself, next_generation gives it one.
  virtual bool waits() const { return false; }
  /// What all ranks have in common, in lines: data, settings, build. One rank of each generation says it.
  virtual void stands_on(const std::string&) {}
  /// Takes note of a step that this rank has made.
  virtual void reached(std::int64_t) {}
  /// True if all ranks are to leave this generation in order, after the step that is made next, `step`.
  virtual bool must_leave(std::int64_t step) = 0;
  /// True if this process is to leave the job for good: by default, if it got SIGTERM, and no other stop signal, at
  /// least `ago` ago while a StopSignals lives. A launcher passes a stop of the whole job on as SIGINT.
  virtual bool drained(std::chrono::seconds ago) const;
  /// Reason to stop waiting for the other ranks of this generation to join: one of them was lost. Empty: keep waiting.
  virtual std::string lost() { return {}; }
  /// True if nothing is heard of the host of this rank. From any thread.
  virtual bool host_is_silent(int) { return false; }
  /// Ends this process's part in its generation, and waits for a rank in the next one, which its environment then
  /// describes (BORA_RANK and the others). `reason`: the loss; empty: all leave in order. `missed`: the rank that this
  /// one cannot reach, -1 if unknown. False: there is no rank for it.
  virtual bool next_generation(const std::string& reason, int missed) = 0;
};
/// Returned by run_training, beside 0 and 130, with LoopSettings::membership: all ranks have left the generation, with
/// a checkpoint; this one is to be in the next, or was drained and ends.
inline constexpr int kNextGeneration = -1, kDrained = -2;
/// Calls `run` once in each generation: it joins the generation's mesh and trains. Returns its first result other than
/// kNextGeneration. When it throws RankLost or returns that, this process goes on in the next generation if there is a
/// rank for it; else the error is thrown, or 130 returned. null: there is one generation.
int run_generations(Membership*, const std::function<int()>& run);
}  // namespace bora::training
