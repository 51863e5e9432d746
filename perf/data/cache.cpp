// The cost of a cache beside its tokens: data_cache FILE.jsonl TOKENIZER FOLDER [ROUNDS]
// Encodes the field `text` of all records, in memory and with all threads, and then builds the cache of the same file
// in FOLDER, which must not exist; each in a process of its own, in turn, ROUNDS times. Prints seconds of both, by the
// clock and of all processors (on a busy machine only these say something), the most memory of the build, and ratios.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "bora/text/tokenizer.h"
#include "data/store/cache.h"

using namespace bora;
using namespace bora::data;
namespace {
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double processor_seconds() {
  struct ::rusage u {};
  ::getrusage(RUSAGE_SELF, &u);
  auto seconds = [](::timeval t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}
struct Cost {
  double clock = 0, processor = 0;
  long long tokens = 0;
  long kilobytes = 0;
};
/// Runs it in a child, whose memory begins small.
template <class F> Cost in_child(const F& f) {
  int ends[2];
  check<Error>(::pipe(ends) == 0, "no pipe");
  auto pid = ::fork();
  if (pid == 0) try {
      auto cost = f();
      ::_exit(::write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      ::_exit(1);
    }
  ::close(ends[1]);
  Cost cost;
  bool whole = ::read(ends[0], &cost, sizeof cost) == sizeof cost;
  ::close(ends[0]);
  struct ::rusage u {};
  ::wait4(pid, nullptr, 0, &u);
  check<Error>(whole, "the child failed");
  cost.kilobytes = u.ru_maxrss;
  return cost;
}
/// The cost of the encoding alone: texts are read into memory a piece at a time.
Cost encode(const SourceFile& file, const std::string& tokenizer) {
  auto t = text::tokenizer_at(tokenizer, false);
  RecordReader reader(file, Format::jsonl);
  Cost cost;
  for (bool more = true; more;) {
    std::vector<std::string> texts;
    std::vector<std::size_t> counts;
    Raw raw;
    for (std::size_t bytes = 0; bytes < 64 << 20 && (more = reader.next(raw)); bytes += raw.bytes.size())
      texts.push_back(Record(*reader.layout(), raw).text("text"));
    counts.resize(texts.size());
    auto clock = now(), processor = processor_seconds();
    // Ranges of a few texts, taken one after the other: no thread waits for another one's long texts.
    std::atomic<std::size_t> next = 0;
    parallel_for(thread_count(), 1, [&](std::int64_t, std::int64_t) {
      for (std::size_t i; (i = next.fetch_add(64)) < texts.size();)
        for (auto end = std::min(i + 64, texts.size()); i < end; ++i) counts[i] = t->encode(texts[i]).size();
    });
    cost.clock += now() - clock;
    cost.processor += processor_seconds() - processor;
    for (auto n : counts) cost.tokens += static_cast<long long>(n);
  }
  return cost;
}
Cost build(const SourceFile& file, const std::string& tokenizer, const std::string& folder) {
  auto clock = now(), processor = processor_seconds();
  auto t = text::tokenizer_at(tokenizer, false);
  Making making;
  making.name = file.path;
  making.recipe = {.files = {file},
                   .formats = {Format::jsonl},
                   .fields = 1,
                   .vocabulary = t->size(),
                   .encode = [&](const Record& r, Document& d) { d[0] = t->encode(r.text("text")); }};
  auto store = open_store(making, folder, {});
  return {now() - clock, processor_seconds() - processor, store->tokens(0)};
}
}  // namespace

int main(int argc, char** argv) try {
  check<Error>(argc >= 4 && !std::filesystem::exists(argv[3]), "data_cache FILE.jsonl TOKENIZER FOLDER [ROUNDS]");
  auto file = file_at(argv[1]);
  std::string tokenizer = argv[2], folder = argv[3];
  std::printf("threads %d\n%10s %10s %10s %10s %10s %8s %8s\n", thread_count(), "encode s", "cpu s", "build s", "cpu s",
              "MB", "ratio", "of cpu");
  for (int r = argc > 4 ? std::atoi(argv[4]) : 3; r > 0; --r) {
    auto e = in_child([&] { return encode(file, tokenizer); });
    auto b = in_child([&] { return build(file, tokenizer, folder); });
    std::filesystem::remove_all(folder);
    check<Error>(e.tokens == b.tokens, "the cache has ", b.tokens, " tokens instead of ", e.tokens);
    std::printf("%10.2f %10.2f %10.2f %10.2f %10.1f %8.3f %8.3f\n", e.clock, e.processor, b.clock, b.processor,
                static_cast<double>(b.kilobytes) / 1000, b.clock / e.clock, b.processor / e.processor);
    std::fflush(stdout);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
