// The data of the settings, opened by all ranks of a mesh.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include "bora/base/text.h"
#include "bora/data/data.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/shard/mesh.h"
#include "bora/train/progress.h"

namespace bora::job {
namespace {
/// How far the sources were read: on a terminal a line that redraws itself, else a line now and then, both on stderr.
class Reading {
 public:
  ~Reading() {
    if (drawn_ && columns_ > 0) std::fputs("\r\033[K", stderr);
  }
  void show(std::int64_t done, std::int64_t total) {
    auto now = Clock::now();
    if (first_ < 0 || done < done_) begin_ = now, first_ = done;  // of this source
    done_ = done;
    if (now - last_ < std::chrono::milliseconds(columns_ > 0 ? 200 : 10000) || total == 0) return;
    last_ = now;
    auto seconds = std::chrono::duration<double>(now - begin_).count(),
         part = static_cast<double>(done) / static_cast<double>(total),
         rate = static_cast<double>(done - first_) / std::max(seconds, 1e-3);
    char text[120];
    std::snprintf(text, sizeof text, "data: %s of %s read (%.0f %%), %.0f MB/s, %s left", bytes_text(done).c_str(),
                  bytes_text(total).c_str(), 100 * part, rate / 1e6,
                  rate > 0 ? time_text(static_cast<double>(total - done) / rate).c_str() : "?");
    std::fprintf(stderr, columns_ > 0 ? "\r\033[K%.*s" : "%.*s\n", columns_ > 0 ? columns_ : 120, text);
    drawn_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static std::string time_text(double seconds) {
    auto s = static_cast<long>(seconds + 0.5);
    char text[32];
    if (s < 3600) std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
    else std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    return text;
  }
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
  int columns_ = terminal_columns();
  std::int64_t first_ = -1, done_ = 0;
  bool drawn_ = false;
};
}  // namespace

data::Datasets open_data(const Settings& s, const std::shared_ptr<const text::Tokenizer>& tokenizer, const Mesh& mesh) {
  Reading reading;
  data::Opening opening{
      .tokenizer = tokenizer, .positions = s.model->positions(), .batch = s.batch, .labels = s.model->labels()};
  auto& crew = opening.crew;
  crew.rank = mesh.rank();
  crew.size = mesh.size();
  crew.exchange = [&](const std::string& mine, std::string_view what) { return mesh.exchange(mine, what); };
  if (mesh.rank() == 0) {
    crew.say = [](const std::string& line) {
      std::printf("%s\n", one_line(line).c_str());
      std::fflush(stdout);
    };
    crew.progress = [&](std::int64_t done, std::int64_t total) { reading.show(done, total); };
  }
  return s.data->open(opening);
}
}  // namespace bora::job
