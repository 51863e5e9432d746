#include "text/tokenizers/pre_tokenizer.h"
#include "text/json_node.h"

namespace bora::text {
namespace {
// GPT-2's words, which ByteLevel has built in.
constexpr std::string_view kWords = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// Punctuation and words, for pre-tokenizers whose rules are code and no regular expression.
constexpr std::string_view kPunctuation = R"([!-/:-@\[-`{-~\p{P}])";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d})";
}  // namespace

PreTokenizer::Behavior PreTokenizer::behavior(const Node& node) {
  auto& name = node.text();
  if (name == "Isolated") return Behavior::isolated;
  if (name == "Removed") return Behavior::removed;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  node.need(name == "Contiguous", "'", name,
            "' is not supported; there are Isolated, Removed, MergedWithPrevious, MergedWithNext and Contiguous");
  return Behavior::contiguous;
}
PreTokenizer::Step PreTokenizer::metaspace(const Node& node) {
  node.only({"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
  Step step{.space = node.character("replacement")};
  if (auto text = node.find("str_rep")) text->need(text->text() == step.space, "differs from the replacement");
  std::string scheme = "always";
  auto given = node.find("prepend_scheme");
  if (given) scheme = given->text();
  if (!node.flag("add_prefix_space", true))
    node.need(scheme == "never", "add_prefix_space contradicts the prepend_scheme, ", scheme);
  if (scheme == "always") step.prefix = Prefix::always;
  else if (scheme == "first") step.prefix = Prefix::first;
  else given->need(scheme == "never", "'", scheme, "' is not supported; there are always, first and never");
  if (node.flag("split", true)) {
    step.pattern.emplace(literal_pattern(step.space), node.place);
    step.behavior = Behavior::merged_with_next;
  }
  return step;
}
PreTokenizer::Step PreTokenizer::split_step(const Node& node) {
  node.only({"type", "pattern", "behavior", "invert"});
  Step step{.behavior = behavior(node.at("behavior")), .invert = node.flag("invert")};
  // A match of nothing only cuts; other behaviors would have to know of it.
  bool cuts = step.behavior == Behavior::isolated;
  step.pattern = Pattern::read(node.at("pattern"), cuts ? nullptr : "a match of nothing with this behavior");
  return step;
}
void PreTokenizer::read(const Node& node) {
  auto& type = node.type();
  node.need(!byte_level_, "'", type, "' after ByteLevel is not supported");
  if (type == "Sequence") {
    node.only({"type", "pretokenizers"});
    auto list = node.at("pretokenizers");
    for (std::size_t i = 0, n = list.items(); i < n; ++i) read(list.item(i));
    return;
  }
  Step step;
  auto words = [&](std::string_view pattern, Behavior behavior) {
    step.pattern.emplace(pattern, node.place);
    step.behavior = behavior;
  };
  if (type == "ByteLevel") {
    node.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (node.flag("add_prefix_space", true)) step.prefix = Prefix::always;
    if (node.flag("use_regex", true)) words(kWords, Behavior::isolated);
    byte_level_ = true;
  } else if (type == "Metaspace") {
    step = metaspace(node);
    // There more than one piece may begin at the text's first character, if normalization made several of it.
    node.need(step.prefix != Prefix::first || steps_.empty(), "prepend_scheme first after others is not supported");
  } else if (type == "Split") step = split_step(node);
  else if (type == "Digits") {
    node.only({"type", "individual_digits"});
    words(node.flag("individual_digits") ? "\\p{N}" : "\\p{N}+", Behavior::isolated);
  } else if (type == "WhitespaceSplit") {
    node.only({"type"});
    words("\\s+", Behavior::removed);
  } else if (type == "Whitespace") {
    node.only({"type"});
    auto word = std::string(kWord);
    step.pattern = Pattern::of_pcre2("[" + word + "]+|[^" + word + "\\p{White_Space}]+", node.place, type);
    step.behavior = Behavior::removed;
    step.invert = true;
  } else if (type == "Punctuation") {
    node.only({"type", "behavior"});
    step.pattern = Pattern::of_pcre2(kPunctuation, node.place, type);
    auto given = node.find("behavior");
    step.behavior = given ? behavior(*given) : Behavior::isolated;
  } else if (type == "BertPreTokenizer") {
    node.only({"type"});
    words("\\s+", Behavior::removed);
    steps_.push_back(std::move(step));
    step = {.pattern = Pattern::of_pcre2(kPunctuation, node.place, type)};
  } else if (type == "CharDelimiterSplit") {
    node.only({"type", "delimiter"});
    words(literal_pattern(node.character("delimiter")), Behavior::removed);
  } else node.unknown_type("ByteLevel, Metaspace, Split, Digits, Whitespace, WhitespaceSplit, Punctuation, "
                           "BertPreTokenizer, CharDelimiterSplit, Sequence");
  steps_.push_back(std::move(step));
  node.need(steps_.size() <= kMostSteps, "more than ", kMostSteps, " pre-tokenizers");
}
bool PreTokenizer::keeps_text() const {
  for (auto& s : steps_)
    if (s.prefix != Prefix::never || s.space != " " || s.behavior == Behavior::removed) return false;
  return true;
}
void PreTokenizer::cut(const Step& step, std::string_view text, const Word& f) {
  auto b = step.behavior;
  std::string_view held;  // the piece that the next one may join
  bool held_match = false;
  auto join = [&](std::string_view piece) { held = {held.data(), held.size() + piece.size()}; };
  step.pattern->split(text, [&](std::string_view piece, bool match) {
    match = match != step.invert;
    if (b == Behavior::isolated) return f(piece);
    if (b == Behavior::removed) {
      if (!match) f(piece);
      return;
    }
    bool joins = b == Behavior::contiguous             ? match == held_match
                 : b == Behavior::merged_with_previous ? match && !held_match
                                                       : !match && held_match;
    if (joins && !held.empty()) join(piece);
    else {
      if (!held.empty()) f(held);
      held = piece;
    }
    held_match = match;
  });
  if (!held.empty()) f(held);
}
void PreTokenizer::split(std::string_view text, bool first, std::size_t k, const Word& f) const {
  if (k == steps_.size()) return f(text);
  auto& step = steps_[k];
  std::string changed;
  if (step.space != " ") {
    for (char c : text)
      if (c == ' ') changed += step.space;
      else changed += c;
    text = changed;
  }
  if ((step.prefix == Prefix::always || (step.prefix == Prefix::first && first)) && !text.starts_with(step.space)) {
    if (step.space == " ") changed = text;
    changed.insert(0, step.space);
    text = changed;
  }
  if (!step.pattern) return split(text, first, k + 1, f);
  auto begin = text.data();
  cut(step, text, [&](std::string_view piece) { split(piece, first && piece.data() == begin, k + 1, f); });
}
}  // namespace bora::text
