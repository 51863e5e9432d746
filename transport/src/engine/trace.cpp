#include "bora/transport/trace.h"
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include "base/api/bytes.h"
#include "base/api/json.h"

namespace bora::transport {
namespace {
/// Identifies the steady clock: this boot of this host, and its offset in this container.
std::string clock_name() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char space[64] = "";
  [[maybe_unused]] auto n = ::readlink("/proc/self/ns/time", space, sizeof space - 1);
  return boot + " " + space;
}
Group everyone(const Context& c) {
  Group g{.ranks = std::vector<int>(static_cast<std::size_t>(c.size())), .name = "trace"};
  std::iota(g.ranks.begin(), g.ranks.end(), 0);
  return g;
}
/// A rank's events, one JSON object a line. Times count from `origin`, in microseconds.
std::string events_of(const std::vector<tracing::Span>& spans, int rank, std::int64_t offset, std::int64_t origin) {
  JsonWriter w;
  w.object()("pid", rank)("ph", "M")("name", "process_name");
  w("args").object()("name", "rank " + std::to_string(rank)).end().end();
  auto time = [&](const char* name, std::int64_t ns) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(ns) * 1e-3);
    w(name, JsonWriter::Json{text});
  };
  std::int64_t id = 0;
  for (auto& s : spans) {
    auto begin = [&](const char* phase) {
      w.object()("pid", rank)("tid", s.thread)("cat", tracing::kind_name(s.kind))("name", s.label->name)("ph", phase);
    };
    if (s.kind == tracing::Kind::collective) {  // they overlap: asynchronous events have a row each
      auto which = std::to_string(rank) + "." + std::to_string(id++);
      for (auto [phase, t] : {std::pair{"b", s.begin}, {"e", s.end}}) {
        begin(phase);
        w("id", which);
        time("ts", t + offset - origin);
        w.end();
      }
      continue;
    }
    begin("X");
    time("ts", s.begin + offset - origin);
    time("dur", s.end - s.begin);
    if (s.label->place) w("args").object()("place", s.label->place(s.label->subject.get())).end();
    w.end();
  }
  return w.take();
}
/// Gathers every rank's text on rank 0: texts may be long.
std::vector<std::string> gather_texts(Context& c, const std::string& mine) {
  std::vector<std::int64_t> sizes;
  for (auto& n : c.exchange(std::to_string(mine.size()), "trace: sizes")) sizes.push_back(std::stoll(n));
  std::string all(
      c.rank() == 0 ? static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})) : 0, '\0');
  c.run(
      everyone(c),
      {.kind = CollectiveKind::gather, .dtype = Dtype::u8, .in = mine.data(), .out = all.data(), .recv_counts = sizes});
  std::vector<std::string> texts;
  if (c.rank() != 0) return texts;
  for (std::size_t r = 0, at = 0; r < sizes.size(); at += static_cast<std::size_t>(sizes[r++]))
    texts.push_back(all.substr(at, static_cast<std::size_t>(sizes[r])));
  return texts;
}
}  // namespace

std::int64_t clock_offset(Context& c) {
  auto clocks = c.exchange(clock_name(), "trace: clocks");
  std::int64_t offset = 0;
  for (int r = 1; r < c.size(); ++r) {
    if (clocks[static_cast<std::size_t>(r)] == clocks[0] || (c.rank() != 0 && c.rank() != r)) continue;
    std::int64_t quickest = -1;
    for (int k = 0; k < 8; ++k) {  // rank r asks, rank 0 answers with its time
      std::int64_t begin = tracing::now(), time = 0;
      if (c.rank() == 0) {
        c.receive(r, &time, 1, Dtype::i64);
        time = tracing::now();
        c.send(r, &time, 1, Dtype::i64);
        continue;
      }
      c.send(0, &time, 1, Dtype::i64);
      c.receive(0, &time, 1, Dtype::i64);
      auto end = tracing::now();
      if (quickest >= 0 && end - begin >= quickest) continue;
      quickest = end - begin;
      offset = time - (begin + quickest / 2);
    }
  }
  return offset;
}

std::vector<tracing::Totals> write_trace(Context& c, const std::string& path) {
  auto offset = clock_offset(c);  // all ranks have ended their steps: they meet here
  tracing::stop();
  std::uint64_t dropped = 0;
  auto spans = tracing::take(c.rank(), dropped);
  auto mine = tracing::totals(spans);
  auto first = spans.empty() ? tracing::now() : spans.front().begin;
  std::vector<tracing::Totals> totals;
  std::int64_t origin = 0;
  auto kept = c.exchange(ByteWriter().num(first + offset).num(mine).num(dropped).take(), "trace: totals");
  dropped = 0;
  for (auto& text : kept) {
    ByteReader r(text);
    auto begin = r.num<std::int64_t>();
    origin = totals.empty() ? begin : std::min(origin, begin);
    totals.push_back(r.num<tracing::Totals>());
    dropped += r.num<std::uint64_t>();
  }
  auto all = gather_texts(c, events_of(spans, c.rank(), offset, origin));
  std::string problem;
  if (c.rank() == 0) {
    std::ofstream file(path);
    JsonWriter w;
    using enum JsonWriter::Elements;
    w.object()("displayTimeUnit", "ms")("otherData").object()("dropped", dropped)("totals").list(lines);
    for (std::size_t r = 0; r < totals.size(); ++r) {
      auto& t = totals[r];
      w.object()("rank", r)("steps", t.steps)("step", t.step)("kernel", t.kernel)("collective", t.collective);
      w("wait", t.wait).end();
    }
    w.end().end()("traceEvents").list(lines);
    for (std::string_view events : all)
      for (std::size_t at = 0, end; at < events.size(); at = end + 1) {
        end = events.find('\n', at);
        w.add(JsonWriter::Json{events.substr(at, end - at)});
        file << w.take();
      }
    file << w.end().end().take();
    file.close();
    if (!file) problem = "cannot write the trace to " + path + ": " + std::strerror(errno);
  }
  problem = c.exchange(problem, "trace: written")[0];
  if (!problem.empty()) fail<IoError>(problem);
  return totals;
}
}  // namespace bora::transport
