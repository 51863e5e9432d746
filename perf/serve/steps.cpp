// steps.cpp -- serve_steps FOLDER WEIGHTS [key=value ..] [COMMAND ..]: the Bora side of perf/serve/compare. Reads a
// folder of Hugging Face's as `bora serve` does, then runs commands, of its arguments or else of the lines of stdin,
// and rank 0 answers each with a line of JSON. Every rank gets the same commands.
//   decode ROWS CACHED STEPS   seconds of each step that gives ROWS sequences of CACHED tokens one more
//   prefill TOKENS             seconds from a prompt of so many tokens to its answer's first token
//   again TOKENS               the same for a prompt that begins with so many tokens of the one before
//   read                       bytes a second of reading, on all threads
//   copy                       seconds for the folder's files into new memory of huge pages, on one thread
//   sums NUMBERS TIMES         seconds of so many sums of f32 numbers over all ranks
//   memory                     most resident bytes so far, and those of weights and pages
// On the command line a command's words are joined by colons: decode:8:64:16.
#include <immintrin.h>
#include <sys/mman.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>
#include "bora/base/parallel.h"
#include "bora/bora.h"
#include "bora/generate/engine.h"
#include "bora/job/job.h"
#include "bora/job/served_model.h"
#include "bora/job/trained_run.h"
#include "bora/models/stepper.h"
#include "bora/text/tokenizer.h"

namespace {
using namespace bora;
using Clock = std::chrono::steady_clock;
using I = std::int64_t;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// A model whose steps are told: when each began, how many rows and tokens it had.
struct Watched final : models::Stepper {
  struct Began {
    Clock::time_point at;
    std::size_t rows, tokens;
  };
  explicit Watched(models::Stepper& s) : inner(s) {}
  tree::Node parameters() override { return inner.parameters(); }
  I positions() const override { return inner.positions(); }
  I window() const override { return inner.window(); }
  I vocabulary() const override { return inner.vocabulary(); }
  I page_bytes() const override { return inner.page_bytes(); }
  void allot(I n) override { pages = n, inner.allot(n); }
  I read(const std::vector<std::int32_t>& inputs) override { return inner.read(inputs); }
  void forget(I inputs) override { inner.forget(inputs); }
  Array step(const models::Step& s) override {
    steps.push_back({Clock::now(), s.rows.size(), s.tokens.size()});
    return inner.step(s).concrete();
  }
  models::Stepper& inner;
  std::vector<Began> steps;
  I pages = 0;
};
struct Numbers {
  std::vector<double> all;
};
std::ostream& operator<<(std::ostream& o, const Numbers& n) {
  o << "[";
  for (std::size_t i = 0; i < n.all.size(); ++i) o << (i ? ", " : "") << n.all[i];
  return o << "]";
}
__attribute__((target("avx2"))) I read_all(const char* p, I bytes) {
  __m256i sum[8] = {};
  for (I i = 0; i < bytes; i += 256)
    for (int k = 0; k < 8; ++k)
      sum[k] = _mm256_add_epi64(sum[k], _mm256_load_si256(reinterpret_cast<const __m256i*>(p + i + 32 * k)));
  I r = 0;
  for (auto& s : sum) r += _mm256_extract_epi64(s, 0);
  return r;
}
/// The best of some passes over more memory than caches hold.
double read_rate() {
  constexpr I bytes = I{1} << 30, huge = I{2} << 20;
  static char* memory = [] {
    auto* p = static_cast<char*>(std::aligned_alloc(huge, bytes));
    ::madvise(p, bytes, MADV_HUGEPAGE);
    parallel_for(bytes / huge, 1, [&](I b, I e) { std::fill_n(p + b * huge, (e - b) * huge, 1); });
    return p;
  }();
  static std::atomic<I> kept;
  double best = 0;
  for (int k = 0; k < 4; ++k) {
    auto begun = Clock::now();
    parallel_for(bytes / 4096, 1, [&](I b, I e) { kept += read_all(memory + b * 4096, (e - b) * 4096); });
    best = std::max(best, static_cast<double>(bytes) / since(begun));
  }
  return best;
}
double copy_files(const std::string& folder) {
  I bytes = 0;
  auto begun = Clock::now();
  double seconds = 0;
  for (auto& f : std::filesystem::directory_iterator(folder)) {
    if (f.path().extension() != ".safetensors") continue;
    auto size = static_cast<std::streamsize>(f.file_size());
    auto* to = static_cast<char*>(::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::madvise(to, static_cast<std::size_t>(size), MADV_HUGEPAGE);
    begun = Clock::now();
    std::ifstream in(f.path(), std::ios::binary);
    in.rdbuf()->pubsetbuf(nullptr, 0);
    in.read(to, size);
    seconds += since(begun);
    bytes += in.gcount();
    ::munmap(to, static_cast<std::size_t>(size));
  }
  check<IoError>(bytes > 0, folder, ": there is no file of tensors");
  return seconds;
}
I status(const char* name) {  // of /proc/self/status, bytes
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) return std::stoll(line.substr(line.find(':') + 1)) * 1024;
  return 0;
}

class Run {
 public:
  Run(models::Stepper& s, std::shared_ptr<const text::Tokenizer> t, const Mesh& mesh, std::string folder)
      : model_(s), tokenizer_(std::move(t)), mesh_(mesh), folder_(std::move(folder)) {}
  void answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    auto number = [&] {
      I n = 0;
      check<ConfigError>(bool(words >> n), "serve_steps: '", line, "' lacks a number");
      return n;
    };
    std::ostringstream o;
    o.precision(9);
    if (command == "decode") {
      auto rows = number(), cached = number();
      o << "{\"seconds\": " << decode(rows, cached, number()) << "}";
    } else if (command == "prefill") o << "{\"seconds\": " << prompt(number(), 0) << "}";
    else if (command == "again") {
      auto n = number();
      prompt(n, 0);
      o << "{\"seconds\": " << prompt(n, n) << "}";
    } else if (command == "read") o << "{\"rate\": " << read_rate() << "}";
    else if (command == "copy") o << "{\"seconds\": " << copy_files(folder_) << "}";
    else if (command == "sums") {
      auto n = number();
      o << "{\"seconds\": " << sums(n, number()) << "}";
    } else if (command == "memory")
      o << "{\"peak\": " << status("VmHWM") << ", \"pages\": " << model_.pages * model_.page_bytes() << "}";
    else fail<ConfigError>("serve_steps: no command ", command);
    if (mesh_.rank() == 0) std::cout << o.str() << std::endl;
  }

 private:
  generate::Engine engine(I rows, I tokens) {
    auto pages = rows * ((tokens + models::Stepper::kPagePositions - 1) / models::Stepper::kPagePositions + 2);
    return {model_, tokenizer_, mesh_,
            {.cache_bytes = model_.page_bytes() * pages, .step_tokens = 512, .rows = rows, .queue = 4 * rows}};
  }
  generate::Request drawn(I tokens, I answers) {
    generate::Request q{.choosing = {.temperature = 0}, .max_tokens = answers, .ignore_eos = true, .seed = 1};
    for (I k = 0; k < tokens; ++k) {
      draw_ = draw_ * 6364136223846793005ULL + 1442695040888963407ULL;
      auto id = (draw_ >> 33) % static_cast<std::uint64_t>(tokenizer_->size());
      q.prompt.push_back(static_cast<std::int32_t>(id));
    }
    return q;
  }
  Numbers decode(I rows, I cached, I steps) {
    auto e = engine(rows, cached + 2 * steps + 4);
    model_.steps.clear();
    // Prompts end at different steps; those rows that began early go on until the last one has had its steps.
    for (I r = 0; r < rows && mesh_.rank() == 0; ++r) {
      auto early = (rows - 1 - r) * cached / 512;
      (void)e.submit(drawn(cached, steps + 2 + early), {});
    }
    e.run(true);
    Numbers found;
    auto n = static_cast<std::size_t>(rows);
    for (std::size_t i = 2; i + 1 < model_.steps.size(); ++i) {
      auto &before = model_.steps[i - 1], &now = model_.steps[i], &next = model_.steps[i + 1];
      if (before.rows == n && now.rows == n && before.tokens == n && now.tokens == n)
        found.all.push_back(std::chrono::duration<double>(next.at - now.at).count());
    }
    if (found.all.size() > static_cast<std::size_t>(steps)) found.all.resize(static_cast<std::size_t>(steps));
    return found;
  }
  /// shared: tokens of the prompt before that it begins with; the engine is kept for it.
  double prompt(I tokens, I shared) {
    if (shared == 0) {
      kept_.reset();
      kept_ = std::make_unique<generate::Engine>(model_, tokenizer_, mesh_, keeping(tokens));
    }
    auto q = drawn(tokens, 1);
    std::copy_n(last_.begin(), shared, q.prompt.begin());
    if (shared > 0) q.prompt.push_back(q.prompt[0]);
    last_ = q.prompt;
    double seconds = 0;
    auto begun = Clock::now();
    auto first = [&](I, const generate::Chosen&, const std::string&) { seconds = since(begun); };
    if (mesh_.rank() == 0) (void)kept_->submit(q, {.token = first});
    kept_->run(true);
    return seconds;
  }
  generate::EngineOptions keeping(I tokens) const {
    auto pages = 2 * tokens / models::Stepper::kPagePositions + 4;
    return {.cache_bytes = model_.page_bytes() * pages, .step_tokens = 512};
  }
  double sums(I numbers, I times) {
    auto ranks = mesh_.size();
    auto x = shard(ones({ranks, numbers}, f32), Spec{"model"});
    auto f = jit([](const Array& a) {
      return with_sharding_constraint(sum(a, 0), Spec::replicated(1));
    });
    (void)f(x).concrete();
    auto begun = Clock::now();
    for (I i = 0; i < times; ++i) (void)f(x).concrete();
    return since(begun);
  }
  Watched model_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  const Mesh& mesh_;
  std::string folder_;
  std::unique_ptr<generate::Engine> kept_ = {};
  std::vector<std::int32_t> last_ = {};
  std::uint64_t draw_ = 1;
};

int work(int argc, char** argv) {
  check<ConfigError>(argc >= 3, "serve_steps FOLDER WEIGHTS [key=value ..] [COMMAND ..]");
  job::TrainedRun words{.run = argv[1], .weights = argv[2]};
  std::vector<std::string> commands;
  for (int i = 3; i < argc; ++i) {
    std::string word = argv[i];
    if (word.find('=') != word.npos) words.settings.push_back(word);
    else {
      std::replace(word.begin(), word.end(), ':', ' ');
      commands.push_back(word);
    }
  }
  auto begun = Clock::now();
  auto s = job::settings_to_generate(words, "serve_steps");
  auto tokenizer = s.tokenizer->open();
  return job::on_mesh({s, tokenizer, "serve_steps"}, [&](const Mesh& mesh) {
    job::ServedModel model(words, s, *tokenizer, mesh);
    Run run(model.stepper(), tokenizer, mesh, words.run);
    if (mesh.rank() == 0)
      std::cout << "{\"loaded\": " << since(begun) << ", \"peak\": " << status("VmHWM") << "}" << std::endl;
    for (auto& c : commands) run.answer(c);
    if (commands.empty())
      for (std::string line; std::getline(std::cin, line);) run.answer(line);
    return 0;
  });
}
}  // namespace

int main(int argc, char** argv) {
  try {
    return work(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "serve_steps: %s\n", e.what());
    return 1;
  }
}
