// Shares of the rows by the ranks' speed: measured when a job starts, agreed once, and kept beside its config.
#include "bora/job/auto_shares.h"
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include "base/api/file.h"
#include "bora/array/mesh_sizes.h"
#include "bora/data/data.h"
#include "bora/io/checkpoint.h"
#include "bora/job/auto_sync_period.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/models/model.h"
#include "bora/train/batch.h"
#include "bora/train/loop.h"
#include "bora/train/plan.h"
#include "bora/train/trainable.h"
#include "job/placement.h"
#include "job/reference.h"

namespace bora::job {
namespace {
constexpr std::int64_t kUnits = 64;  // of each rank on average: finer than speeds can be measured
constexpr double kGain = 1.05;       // less is not worth unequal blocks: a second measurement may say otherwise
constexpr int kRounds = 5;
constexpr double kWindow = 0.5;      // seconds: some periods of a container's quota
constexpr std::string_view kTitle = "# Measured by mesh.shares: auto, and used again when the run goes on on these "
                                    "hosts.\n";
AxisName data_axis() { return AxisName(mesh_axes::kData); }
std::string host_name() {
  char name[256] = "?";
  ::gethostname(name, sizeof name - 1);
  return name;
}
std::string joined(const std::vector<std::string>& words) {
  std::string r;
  for (auto& w : words) r += (r.empty() ? "" : " ") + w;
  return r;
}
/// What must be as it was for the shares to be used again.
std::string place_text(const MeshShape& mesh, const std::vector<std::string>& hosts) {
  return std::string(kTitle) + "mesh: " + to_string(mesh) + "\nhosts: " + joined(hosts) + "\n";
}
std::string file_of(const std::string& folder) { return folder + "/shares.yaml"; }
/// What the run that goes on has written, on rank 0; empty if there is none.
std::string written(const Job& job) {
  auto file = file_of(job.settings.out);
  if (job.context.resume == Resume::none || !std::filesystem::exists(file) ||
      io::list_checkpoints(job.settings.checkpoint.below(job.settings.out) + "/checkpoints").empty())
    return {};
  return read_file(file);
}
/// A step of a rank on some mesh, as a Program that lives as long as this.
struct Step {
  std::int64_t rows = 0;
  Mesh mesh;
  RankPlan plan = {};
  double seconds() const {
    UseMesh scope(mesh);
    return kernel_seconds(work_of(*plan.step), mesh);
  }
};
Step step_on(const Job& job, const MeshShape& shape, int rank) {
  auto s = without_auto(job.settings);
  Step r{.mesh = Mesh::abstract(shape, {}, rank)};
  UseMesh scope(r.mesh);
  UseMapping split(mappings_of(s, shape).compute);
  auto model = trainable_of(s, *job.tokenizer, shape, {.pipeline = job.context.pipeline, .init = true});
  auto mine = rows_of_rank(s.batch, r.mesh);
  auto rows = data::Rows::zeros(mine.begin, mine.end, row_shape(s));
  auto none = [] { return std::int64_t{0}; };
  r.plan = plan_rank(*model, make_batch(rows, s.batch, r.mesh), loop_settings(s, shape), r.mesh, none);
  r.rows = mine.size();
  return r;
}
double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}
/// A rank's step with an equal share of the rows, and how much of its time does not depend on them: from a step with
/// half of them.
struct Timed {
  double seconds = 0, fixed = 0, rows = 0;
};
Timed timed(const Job& job, const MeshShape& shape, transport::Context& ranks) {
  auto fewer = shape;
  std::vector<int> half(static_cast<std::size_t>(shape.axis_size(data_axis())), 2);
  half[static_cast<std::size_t>(shape.coordinate(ranks.rank(), data_axis()))] = 1;
  fewer.set_shares(data_axis(), half);
  std::vector<Step> steps{step_on(job, shape, ranks.rank()), step_on(job, fewer, ranks.rank())};
  // A window of the same length for all: kernels alone last too short for a scheduler to share the cores out evenly.
  ranks.exchange({}, "mesh.shares: auto: all are busy at once");
  auto share = core_share(kWindow);
  std::vector<double> median_of;
  for (auto& step : steps) {
    std::vector<double> seconds;
    for (int round = 0; round < kRounds; ++round) {
      ranks.exchange({}, "mesh.shares: auto: all measure at once");
      seconds.push_back(step.seconds() / share);
    }
    median_of.push_back(median(std::move(seconds)));
  }
  auto all = median_of[0], rows = static_cast<double>(steps[0].rows), few = static_cast<double>(steps[1].rows);
  auto of_rows = few < rows ? (all - median_of[1]) / (rows - few) * rows : all;
  return {all, std::clamp(1 - of_rows / all, 0.0, 0.9), rows};
}
/// The speed of each part along data: its slowest rank's, which the others wait for.
std::vector<RankSpeed> by_part(const std::vector<RankSpeed>& of_ranks, const MeshShape& shape) {
  std::vector<RankSpeed> r(static_cast<std::size_t>(shape.axis_size(data_axis())));
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    auto& part = r[static_cast<std::size_t>(shape.coordinate(static_cast<int>(rank), data_axis()))];
    part.fixed = std::max(part.fixed, of_ranks[rank].fixed), part.row = std::max(part.row, of_ranks[rank].row);
  }
  return r;
}
MeshShape measured(const Job& job, const MeshShape& shape, transport::Context& ranks) {
  auto& s = job.settings;
  auto mine = timed(job, shape, ranks);
  char text[96];
  std::snprintf(text, sizeof text, "%.17g %.17g %.17g", mine.seconds, mine.fixed, mine.rows);
  std::vector<Timed> times;
  std::vector<double> fixed;
  for (auto& said : ranks.exchange(text, "mesh.shares: auto: times")) {
    auto& t = times.emplace_back();
    std::istringstream(said) >> t.seconds >> t.fixed >> t.rows;
    fixed.push_back(t.fixed);
  }
  auto part = median(fixed);  // of the step, not of the host: one clock's noise does not count
  std::vector<RankSpeed> all;
  for (auto& t : times) all.push_back({part * t.seconds, (1 - part) * t.seconds / t.rows});
  // Rows that the ranks along data share at a time: of a part of the batch, and of one place along the other axes.
  auto over = batch_axes(mappings_of(s, shape).compute, shape);
  auto places = shape.axis_size(data_axis()), others = shape.parts(over) / places;
  auto units = std::min(s.batch / s.accumulate / others, kUnits * places);
  std::string words;  // of rank 0: one computer rounds
  for (auto share : shares_for(by_part(all, shape), s.batch / others, units))
    words += (words.empty() ? "data=" : ":") + std::to_string(share);
  return MeshShares::parse(ranks.exchange(words, "mesh.shares: auto: what rank 0 makes of them")[0]).of(shape);
}
}  // namespace

std::vector<int> shares_for(const std::vector<RankSpeed>& speeds, std::int64_t rows, std::int64_t units) {
  auto wanted = static_cast<double>(rows), per_unit = wanted / static_cast<double>(units);
  auto in_time = [&](const RankSpeed& s, double t) { return std::clamp((t - s.fixed) / s.row, 0.0, wanted); };
  auto time_of = [&](const std::vector<int>& shares) {
    double last = 0;
    for (std::size_t r = 0; r < shares.size(); ++r)
      last = std::max(last, speeds[r].fixed + shares[r] * per_unit * speeds[r].row);
    return last;
  };
  double low = 0, high = 0;
  for (auto& s : speeds) high = std::max(high, s.fixed + s.row * wanted);
  for (int halving = 0; halving < 100; ++halving) {  // the least time in which all rows are done
    double middle = (low + high) / 2, done = 0;
    for (auto& s : speeds) done += in_time(s, middle);
    (done < wanted ? low : high) = middle;
  }
  std::vector<int> shares, equal;
  std::vector<std::pair<double, std::size_t>> short_of;  // what rounding took from each, the most first
  std::int64_t given = 0;
  auto n = static_cast<std::int64_t>(speeds.size());
  for (std::size_t r = 0; r < speeds.size(); ++r) {
    auto exact = in_time(speeds[r], high) / per_unit;
    shares.push_back(std::max(1, static_cast<int>(exact)));
    short_of.emplace_back(shares.back() - exact, r);
    given += shares.back();
    equal.push_back(static_cast<int>(equal_block(units, n, static_cast<std::int64_t>(r)).size()));
  }
  std::sort(short_of.begin(), short_of.end());
  for (std::size_t k = 0; given < units; k = (k + 1) % shares.size(), ++given) ++shares[short_of[k].second];
  for (; given > units; --given) --*std::max_element(shares.begin(), shares.end());  // some have one at least
  return time_of(equal) < kGain * time_of(shares) ? std::vector<int>(speeds.size(), 1) : shares;
}
SharesRecord settled_shares(const Job& job, const MeshShape& shape, transport::Context& ranks) {
  if (shape.axis_size(data_axis()) == 1)
    return {shape, "", "mesh.shares: auto: one rank along axis data has all of it"};
  constexpr char kEnd = '\x1d';  // between a host and what rank 0 has read
  std::vector<std::string> hosts;
  std::string before;
  auto mine = host_name() + (ranks.rank() == 0 ? kEnd + written(job) : "");
  for (auto& text : ranks.exchange(mine, "mesh.shares: auto: hosts")) {
    hosts.push_back(text.substr(0, text.find(kEnd)));
    if (hosts.size() == 1) before = text.substr(text.find(kEnd) + 1);
  }
  auto place = place_text(shape, hosts);
  constexpr std::string_view key = "shares: ";
  SharesRecord r;
  bool kept = before.starts_with(place + std::string(key));
  if (kept) {
    auto words = before.substr(place.size() + key.size());
    r.mesh = MeshShares::parse(words.substr(0, words.find('\n'))).of(shape);
  } else {
    r.mesh = measured(job, shape, ranks);
  }
  std::string shares = "data=";
  for (auto share : r.mesh.shares_of(data_axis())) shares += (shares == "data=" ? "" : ":") + std::to_string(share);
  r.text = place + std::string(key) + shares + "\n";
  r.said = "mesh.shares: auto is " + shares + (kept ? ", as the run was begun with" : ", as measured now");
  if (!kept && !before.empty()) r.said += ": the run was on other hosts or another mesh before";
  return r;
}
void write_shares(const std::string& folder, const SharesRecord& r) {
  if (!r.text.empty()) write_file(file_of(folder), r.text);
}
}  // namespace bora::job
