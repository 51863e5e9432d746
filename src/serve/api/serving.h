// serving.h -- the model of a run or folder that answers requests, on the ranks of a job.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include "bora/job/forward.h"
#include "serve/api/service.h"

namespace bora::job {
struct TrainedRun;
}  // namespace bora::job
namespace bora::serve {
struct ServingOptions {
  generate::EngineOptions engine = {};  // what the model decides is set: ends, encoder, exchange
  ServiceOptions service = {};
  bool follow = false;                  // goes over to newer checkpoints of the run
};
class Serving {
 public:
  /// Reads the weights; every rank calls it. The run's settings and the model are kept. Throws as read_parameters.
  Serving(const job::TrainedRun&, const job::Settings&, Model, const Mesh&, const ServingOptions&);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  /// Whether this is rank 0.
  bool first() const;
  /// Of rank 0.
  Service& service();
  /// Answers until stop(); the other ranks return with rank 0. An error, such as a lost rank, is the reason of the
  /// service's refusals, and thrown.
  void run();
  /// Rank 0, any thread: no new requests; running ones get so long. Called again with 0: at once.
  void stop(std::chrono::milliseconds drain);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::serve
