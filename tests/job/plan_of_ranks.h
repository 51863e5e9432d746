// plan_of_ranks.h -- the plan that real ranks print, and the bytes that they send.
#pragma once
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/plan_run.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/train/trainer.h"
#include "bora/transport/transport.h"
#include "job/placement.h"

namespace plan_of_ranks {
using namespace bora;
using namespace bora::job;

/// The text of ranks that exist, and what each sent in a step.
inline std::pair<std::string, std::vector<std::int64_t>> with_ranks(const Settings& s, const text::Tokenizer& tokenizer,
                                                                    const MeshShape& shape) {
  std::string text;
  std::vector<std::int64_t> sent(static_cast<std::size_t>(shape.size()));
  std::vector<int> all(sent.size());
  std::iota(all.begin(), all.end(), 0);
  local_mesh(shape, [&](const Mesh& mesh) {
    UseMapping split(mappings_of(s, mesh.shape()).compute);
    auto model = trainable_of(s, tokenizer, mesh.shape(), {.init = true});
    auto mine = rows_of_rank(s.batch, mesh);
    auto rows = data::Rows::zeros(mine.begin, mine.end, s.data->shape(s.model->positions()));
    auto batch = make_batch(rows, s.batch, mesh);
    auto loop = loop_settings(s, mesh.shape());
    loop.snapshot_every = s.elastic.snapshot;
    auto plan = plan_text(*model, batch, loop, mesh, [] { return 1000; });
    if (mesh.rank() == 0) text = plan;
    auto before = mesh.context().traffic().bytes_sent;
    (void)model->step(batch);
    mesh.context().barrier({all, "all"});
    sent[static_cast<std::size_t>(mesh.rank())] =
        static_cast<std::int64_t>(mesh.context().traffic().bytes_sent - before);
  });
  return {text, sent};
}
}  // namespace plan_of_ranks
