// Lines of JSON objects. With a field of text: one stream of documents, each ended by the tokenizer's end of text (or a
// newline). With fields of a prompt and its completion: a row for each line, with weights on the completion alone. The
// file is read and encoded when it is opened, and kept in memory, 4 bytes a token.
#include <cmath>
#include <nlohmann/json.hpp>
#include "bora/base/file.h"
#include "bora/data/windows.h"

namespace bora::data {
namespace {
struct Pair {
  std::vector<std::int32_t> tokens;
  std::size_t prompt;  // of them
};
/// A pair in a row: its first `positions` + 1 tokens; what is left of the row has no weight.
struct Pairs final : Dataset {
  explicit Pairs(std::vector<Pair> p) : pairs(std::move(p)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(pairs.size()); }
  void at(const Place& place, const Row& row) const override {
    auto& pair = pairs[static_cast<std::size_t>(place.index)];
    auto n = std::min(pair.tokens.size(), static_cast<std::size_t>(row.positions + 1));
    for (std::size_t i = 0; i + 1 < n; ++i) {
      row.tokens[i] = pair.tokens[i];
      row.targets[i] = pair.tokens[i + 1];
      row.weights[i] = i + 1 >= pair.prompt ? 1 : 0;
    }
  }
  std::vector<Pair> pairs;
};
struct JsonLines {
  static constexpr std::string_view type = "jsonl";
  std::string path = {};
  double hold_out = 0.05;
  std::string text = "text", prompt = "prompt", completion = {};
  static constexpr config::Meaning meanings[] = {
      {"path", "a file with a JSON object on each line; must be given"},
      {"hold_out", "fraction of the lines kept for evaluation"},
      {"text", "the field with a document"},
      {"prompt", "the field with a prompt, where completion is given"},
      {"completion",
       "the field with the text to learn after a prompt, cut at the row's end; empty: documents are learned"}};
  void check() const { config::domain(hold_out > 0 && hold_out < 1, "hold_out", hold_out, "between 0 and 1"); }
  void check_files(std::int64_t) const {
    std::string problem;
    int fd = open_file(path, problem);
    bora::check<ConfigError>(fd >= 0, "data: cannot read ", path, ": ", problem);
    ::close(fd);
  }
  Datasets open(std::shared_ptr<const text::Tokenizer> tokenizer, std::int64_t positions) const {
    auto all = read_file<ConfigError>(path);
    auto end = tokenizer->end_of_text();
    std::vector<std::int32_t> streams[2];
    std::vector<Pair> pairs[2];
    std::int64_t line = 0, documents = 0;
    for (std::size_t at = 0; at < all.size();) {
      auto stop = std::min(all.find('\n', at), all.size());
      auto words = std::string_view(all).substr(at, stop - at);
      at = stop + 1;
      ++line;
      if (words.find_first_not_of(" \t\r") == words.npos) continue;
      auto object = nlohmann::json::parse(words, nullptr, false);
      bora::check<ConfigError>(object.is_object(), "data: ", path, ":", line, ": expected a JSON object");
      auto field = [&](const std::string& name) -> std::string {
        auto there = object.find(name);
        bora::check<ConfigError>(there != object.end() && there->is_string(), "data: ", path, ":", line,
                                 ": there is no text in the field '", name, "'");
        return there->get<std::string>();
      };
      auto held = [&](std::int64_t n) { return std::floor(static_cast<double>(n) * hold_out + 0.5); };
      auto part = held(documents + 1) > held(documents) ? 1 : 0;
      ++documents;
      if (completion.empty()) {
        auto ids = tokenizer->encode(field(text) + (end ? "" : "\n"));
        if (end) ids.push_back(*end);
        streams[part].insert(streams[part].end(), ids.begin(), ids.end());
        continue;
      }
      Pair pair{tokenizer->encode(field(prompt)), 0};
      pair.prompt = pair.tokens.size();
      bora::check<ConfigError>(pair.prompt <= static_cast<std::size_t>(positions), "data: ", path, ":", line,
                               ": the prompt has ", pair.prompt, " tokens and leaves none of a row of ", positions,
                               " (model.positions) to its completion; shorten it, or raise model.positions");
      auto ids = tokenizer->encode(field(completion) + (end ? "" : "\n"));
      if (end) ids.push_back(*end);
      pair.tokens.insert(pair.tokens.end(), ids.begin(), ids.end());
      bora::check<ConfigError>(pair.tokens.size() >= 2, "data: ", path, ":", line,
                               ": prompt and completion are empty; there is nothing to learn");
      pairs[part].push_back(std::move(pair));
    }
    Datasets d{nullptr, nullptr, positions, path};
    if (completion.empty()) {
      d.train = windows(tokens_of(std::move(streams[0])), positions, true);
      d.held_out = windows(tokens_of(std::move(streams[1])), positions, false);
    } else {
      d.train = std::make_shared<Pairs>(std::move(pairs[0]));
      d.held_out = std::make_shared<Pairs>(std::move(pairs[1]));
    }
    bora::check<ConfigError>(d.train->size() > 0 && d.held_out->size() > 0, "data: ", path, " has ", documents,
                             " documents: too few tokens for a row of ", positions,
                             " (model.positions) to train on and one held out (hold_out=", hold_out, ")");
    return d;
  }
};
[[maybe_unused]] const bool added = config::add<SourceOf<JsonLines>>();
}  // namespace
}  // namespace bora::data
