#include "run.h"
#include <cstdio>
#include "bora/base/text.h"

namespace bora::training {
void Run::say(const std::string& text) {
  if (mesh.rank() != 0) return;
  if (progress) return progress->line(text);
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}
void Run::warn(const std::string& problem) {
  if (!problem.empty()) say("warning: " + one_line(problem));
}
void Run::record(const track::Values& values) const {
  for (auto& tracker : trackers) tracker->write(done, values);
}
void Run::write_settings() {
  if (!settings.write_settings) return;
  for (auto& line : settings.write_settings(out)) say(one_line(line));
}
data::Rows Run::read(std::int64_t step) const {
  auto mine = rows_of_rank(settings.batch, mesh);
  return data::training_rows(data.train, data.shape, step, settings.batch, mine.begin, mine.end, settings.seed);
}
}  // namespace bora::training
