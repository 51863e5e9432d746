// tokens.cpp -- ids of English text: Debian's fortunes, in documents of about 2000 bytes, on one thread.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include "bora/text/tokenizer.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
constexpr std::size_t kBytes = 10'000'000;
std::vector<std::string> documents() {
  std::vector<std::filesystem::path> files;
  for (auto& f : std::filesystem::directory_iterator("/usr/share/games/fortunes"))
    if (f.is_regular_file() && !f.path().has_extension()) files.push_back(f.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> out(1);
  for (std::size_t bytes = 0; bytes < kBytes && !files.empty();)
    for (auto& f : files) {
      std::ifstream in(f);
      for (std::string line; bytes < kBytes && std::getline(in, line); bytes += line.size() + 1) {
        if (out.back().size() > 2000) out.emplace_back();
        out.back() += line + "\n";
      }
    }
  return out;
}
Case tokenize() {
  auto tokenizer = text::open_tokenizer(
      {"type=bpe", std::string("path=") + BORA_SOURCE_DIR + "/tests/golden/tokenizer_gpt2.json"});
  auto texts = std::make_shared<const std::vector<std::string>>(documents());
  auto run = [=] {
    double count = 0, sum = 0;
    for (auto& t : *texts) {
      auto ids = tokenizer->encode(t);
      count += static_cast<double>(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i) sum += static_cast<double>(ids[i]) * static_cast<double>(i % 97);
    }
    return Values{{"out0", {count, sum}}};
  };
  return {[=] { run(); }, run};
}
}  // namespace

void add_tokens(Cases& to) { to["tokenize"] = tokenize; }
}  // namespace cases
