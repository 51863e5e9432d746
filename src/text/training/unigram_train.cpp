#include "bora/text/unigram_train.h"
#include <sentencepiece_trainer.h>
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "base/api/threads.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
constexpr std::size_t kMostLineBytes = 4000;  // of a line: SentencePiece leaves out longer ones than 4192
constexpr int kThreads = 8;               // sums are made by thread: another number would give other pieces

class Iterator final : public sentencepiece::SentenceIterator {
 public:
  explicit Iterator(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t at_ = 0;
};
/// The lines without all but the `most` most frequent characters; the lines end where one was. Nothing if there are no
/// more. SentencePiece would want a piece for each: its character_coverage cannot be below 0.98.
std::optional<std::vector<std::string>> of_frequent_characters(const std::vector<std::string>& lines,
                                                               std::size_t most) {
  std::unordered_map<std::string_view, std::int64_t> counts;
  for (std::string_view line : lines)
    for (std::size_t i = 0; i < line.size(); i += character_size(line[i]))
      ++counts[line.substr(i, character_size(line[i]))];
  counts[" "] = std::numeric_limits<std::int64_t>::max();  // each line gets one in front
  if (counts.size() <= most) return {};
  std::vector<std::pair<std::int64_t, std::string_view>> order;
  for (auto& [character, n] : counts) order.emplace_back(-n, character);
  std::sort(order.begin(), order.end());
  std::unordered_set<std::string_view> kept;
  for (std::size_t i = 0; i < most; ++i) kept.insert(order[i].second);
  std::vector<std::string> parts;
  for (std::string_view line : lines) {
    std::string part;
    for (std::size_t i = 0, n; i < line.size(); i += n) {
      n = character_size(line[i]);
      bool keep = kept.contains(line.substr(i, n));
      if (keep) part += line.substr(i, n);
      if ((!keep || i + n == line.size()) && !part.empty()) parts.push_back(std::exchange(part, {}));
    }
  }
  return parts;
}
/// Trains a model; 0, or the largest possible vocabulary if that is too small.
std::int64_t train(const std::vector<std::string>& lines, const char* coverage, const UnigramTraining& options,
                   std::string& model) {
  std::string specials;
  for (auto& s : options.specials) specials += (specials.empty() ? "" : ",") + s;
  std::unordered_map<std::string, std::string> settings = {{"model_type", "unigram"},
                                                           {"vocab_size", std::to_string(options.vocab)},
                                                           {"character_coverage", coverage},
                                                           {"byte_fallback", "true"},
                                                           {"split_digits", "true"},
                                                           {"normalization_rule_name", "identity"},
                                                           {"remove_extra_whitespaces", "false"},
                                                           {"allow_whitespace_only_pieces", "true"},
                                                           {"num_threads", std::to_string(kThreads)},
                                                           {"minloglevel", "2"}};
  if (!specials.empty()) settings["user_defined_symbols"] = specials;
  Iterator iterator(lines);
  auto status = sentencepiece::SentencePieceTrainer::Train(settings, &iterator, &model);
  if (status.ok()) return 0;
  std::string why = status.ToString();
  constexpr std::string_view bound = "value <= ";  // ".. too high (9000). Please set it to a value <= 812."
  auto at = why.find(bound);
  auto digits = at == why.npos ? std::string_view() : std::string_view(why).substr(at + bound.size());
  auto most = parse_as<std::int64_t>(digits.substr(0, digits.find_first_not_of("0123456789")));
  check<ConfigError>(most && *most > 0, "SentencePiece cannot train a vocabulary of ", options.vocab, ": ", why);
  return *most;
}
}  // namespace

void Lines::add(std::string_view bytes) {
  std::string copy;
  auto text = valid_utf8(bytes, copy);
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    while (!line.empty()) {
      auto n = line.size();
      if (n > kMostLineBytes) {
        n = line.find_last_of(" \t", kMostLineBytes);
        if (n == line.npos || n == 0) {
          n = kMostLineBytes;
          while (n > kMostLineBytes - 4 && (static_cast<unsigned char>(line[n]) & 0xc0) == 0x80) --n;
        }
      }
      lines_.emplace_back(line.substr(0, n));
      line.remove_prefix(n);
    }
  }
}

std::string problem_of_unigram_special(const std::string& token) {
  if (token.empty()) return "is empty";
  if (first_not_utf8(token) != token.npos) return "is no UTF-8";
  return token.find(',') != token.npos                           ? "SentencePiece takes none with a comma"
         : token == "<unk>" || token == "<s>" || token == "</s>" ? "SentencePiece has it anyhow"
                                                                 : "";
}
std::string train_unigram(const Lines& lines, const UnigramTraining& options) {
  // <unk> <s> </s> and the bytes are there anyhow.
  auto given = 259 + static_cast<std::int64_t>(options.specials.size()), left = options.vocab - given;
  check<ConfigError>(left >= 2, "a unigram vocabulary of ", options.vocab, " is too small: there are ", given,
                     " tokens besides pieces");
  check<ConfigError>(!lines.all().empty(), "the texts have only empty lines: there is nothing to train on");
  check_threads(kThreads, "SentencePiece");
  // Half of the pieces are characters, or more if a small text has not enough longer ones.
  for (auto characters = std::max<std::int64_t>(2, left / 2);;) {
    auto cut = of_frequent_characters(lines.all(), static_cast<std::size_t>(characters));
    std::string model;
    auto most = train(cut ? *cut : lines.all(), cut ? "1" : "0.99995", options, model);
    if (most == 0) return model;
    check<ConfigError>(cut && characters < left, "the text has too few pieces for a unigram vocabulary of ",
                       options.vocab, "; ", most, " are possible");
    characters = std::min(left, std::max(2 * characters, characters + options.vocab - most));
  }
}
}  // namespace bora::text
