#include "generate/budget.h"
#include <algorithm>
#include <string>
#include "base/api/cores.h"
#include "bora/base/error.h"
#include "bora/models/stepper.h"
#include "bora/shard/mesh.h"
#include "bora/transport/transport.h"
#include "generate/scheduler.h"

namespace bora::generate::engine {
std::int64_t pages_for(models::Stepper& model, const Mesh& mesh, std::int64_t bytes, std::int64_t rows) {
  constexpr std::int64_t kTurns = 8;
  auto page = std::max<std::int64_t>(model.page_bytes(), 1);
  auto have = bytes > 0 ? bytes : free_memory().bytes / 2 / mesh.context().ranks_on_host();
  auto pages = have / page;
  // Of small models: more would be texts that nobody goes on with.
  if (bytes == 0) pages = std::min(pages, kTurns * rows * Scheduler::pages_of(model.positions()));
  for (auto& theirs : mesh.exchange(std::to_string(pages), "engine: pages of keys and values"))
    pages = std::min<std::int64_t>(pages, std::stoll(theirs));
  bora::check<ValueError>(pages >= 1, "cache_bytes: ", have, bytes > 0 ? "" : ", half of the memory that is left,",
                          " bytes hold no page of ", page);
  return pages;
}
}  // namespace bora::generate::engine
