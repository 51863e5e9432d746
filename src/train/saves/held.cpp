#include "train/saves/held.h"
#include "train/api/resume.h"
#include "bora/io/tree.h"
#include "train/retention.h"
#include "train/run.h"

namespace bora::training {
std::int64_t HeldState::bytes() const {
  std::int64_t n = 0;
  for (auto& block : memory) n += static_cast<std::int64_t>(block.nbytes());
  return n;
}
HeldState state_now(Run& run) {
  HeldState h{.step = run.done};
  h.leaves = io::leaves_of(run.model.state(), "", h.memory);
  h.notes = run.notes();
  h.notes["seed"] = std::to_string(run.settings.seed);
  h.notes["settings"] = run.settings.settings;
  if (!run.base.empty()) h.notes[std::string(base_note(run.has_reference()))] = run.base;
  h.notes["batch"] = std::to_string(run.settings.batch);
  h.notes["rows_form"] = data::rows_form;
  if (run.keeps_local()) h.notes["out"] = run.settings.out;
  add_retention_notes(h.notes, run.numbers_of == run.done ? run.numbers : decltype(run.numbers)());
  return h;
}
HeldState hold(Run& run) {
  auto h = state_now(run);
  run.model.keep_state();
  return h;
}
}  // namespace bora::training
