#include "text/tokenizers/decoding.h"
#include "text/growth.h"
#include "text/json_node.h"

namespace bora::text {
namespace {
using StepKind = DecodeStep::Kind;

class DecoderReader {
 public:
  std::vector<DecodeStep> steps;
  void read(const Node& node) {
    auto& type = node.type();
    if (type == "Sequence") {
      node.only({"type", "decoders"});
      auto list = node.at("decoders");
      for (std::size_t i = 0, n = list.items(); i < n; ++i) read(list.item(i));
      return;
    }
    node.need(!fused_ || type == "Strip" || type == "Fuse", "'", type, "' after tokens are joined is not supported");
    if (type == "ByteLevel") {
      node.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
      node.need(steps.empty(), "ByteLevel after other decoders is not supported");
      steps.push_back({StepKind::byte_level});
      fused_ = true;
    } else if (type == "Fuse") {
      node.only({"type"});
      fused_ = true;
    } else if (type == "ByteFallback") {
      node.only({"type"});
      steps.push_back({StepKind::byte_fallback});
    } else if (type == "Metaspace") metaspace(node);
    else if (type == "Replace") {
      node.only({"type", "pattern", "content"});
      auto pattern = Pattern::read(node.at("pattern"), "a match of nothing");
      auto content = node.at("content").text();
      node.need(content.size() <= 4096, "the content has ", content.size(), " bytes");
      steps.push_back({.kind = StepKind::replace, .content = content, .pattern = pattern});
    } else if (type == "Strip") {
      node.only({"type", "content", "start", "stop"});
      node.need(node.count("stop", 1'000'000) == 0, "stop is not supported; set it to 0");
      steps.push_back({.kind = fused_ ? StepKind::strip_all : StepKind::strip,
                       .content = node.character("content"),
                       .count = node.count("start", 1'000'000)});
    } else if (type == "WordPiece") {
      node.only({"type", "prefix", "cleanup"});
      auto prefix = node.find("prefix");
      steps.push_back({.kind = StepKind::word_piece,
                       .content = prefix ? prefix->text() : "##",
                       .cleans = node.flag("cleanup", true)});
    } else node.unknown_type("null, ByteLevel, ByteFallback, Metaspace, Replace, Strip, Fuse, WordPiece, Sequence");
    node.need(steps.size() <= kMostSteps, "more than ", kMostSteps, " decoders");
  }

 private:
  void metaspace(const Node& node) {
    node.only({"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
    auto& space = node.character("replacement");
    if (auto text = node.find("str_rep")) text->need(text->text() == space, "differs from the replacement");
    std::string scheme = "always";
    if (auto given = node.find("prepend_scheme")) {
      scheme = given->text();
      given->need(scheme == "always" || scheme == "first" || scheme == "never", "'", scheme,
                  "' is not supported; there are always, first and never");
    }
    if (!node.flag("add_prefix_space", true))
      node.need(scheme == "never", "add_prefix_space contradicts the prepend_scheme, ", scheme);
    steps.push_back({.kind = StepKind::metaspace, .content = space, .first = scheme != "never"});
  }
  bool fused_ = false;
};

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
/// The byte of a token such as <0xE2>, read as Rust reads numbers: +F is one.
std::optional<char> byte_of(std::string_view t) {
  if (t.size() != 6 || !t.starts_with("<0x") || t[5] != '>') return {};
  int high = t[3] == '+' ? 0 : hex(t[3]), low = hex(t[4]);
  if (high < 0 || low < 0) return {};
  return static_cast<char>(high * 16 + low);
}

/// Of a token with a space in front: without it before punctuation and the ends of English short forms.
std::string without_spaces(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {" .", "."},     {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (auto& [from, to] : kForms)
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

class Chain final : public Decoder {
 public:
  Chain(const TokenTexts& tokens, const std::vector<DecodeStep>& steps, DecodeOptions options)
      : tokens_(tokens), steps_(steps), options_(options), states_(steps.size()) {}
  void add(std::int32_t id, std::string& text) override {
    auto i = static_cast<std::size_t>(id);
    check<ValueError>(id >= 0 && i < tokens_.texts.size(), "decode: id ", id, " is none of ", tokens_.texts.size());
    if (!options_.special && tokens_.special[i]) return;
    bytes_ = tokens_.texts[i].size();
    pass(0, tokens_.texts[i], text);
  }
  void finish(std::string& text) override {
    for (std::size_t k = 0; k < steps_.size(); ++k) flush(k, text);
    states_.assign(steps_.size(), {});
  }

 private:
  struct State {
    std::string held;        // bytes whose characters are not known yet
    bool begun = false;      // whether a token has come
    std::int64_t taken = 0;  // characters that strip took; -1: it is over
  };
  /// Gives what step k holds to the steps after it.
  void flush(std::size_t k, std::string& text) {
    auto held = std::move(states_[k].held);
    states_[k].held.clear();
    if (held.empty()) return;
    std::string out;
    if (steps_[k].kind == StepKind::byte_level) {
      append_utf8(held, false, out);
      return pass(k + 1, out, text);
    }
    std::string copy;
    if (valid_utf8(held, copy).data() == held.data()) return pass(k + 1, held, text);
    for (std::size_t i = 0; i < held.size(); ++i) pass(k + 1, "\ufffd", text);  // none is right if one is wrong
  }
  void pass(std::size_t k, std::string_view token, std::string& text) {
    if (k == steps_.size()) return void(text += token);
    auto& step = steps_[k];
    auto& state = states_[k];
    bool is_first = !state.begun;
    std::string changed;
    switch (step.kind) {
      case StepKind::join:
        if (!is_first) pass(k + 1, " ", text);
        break;
      case StepKind::word_piece:
        if (is_first) changed = token;
        else if (token.starts_with(step.content)) changed = token.substr(step.content.size());
        else changed.append(" ").append(token);
        if (step.cleans) changed = without_spaces(std::move(changed));
        token = changed;
        break;
      case StepKind::byte_level:
        state.held += token;
        state.held.erase(0, append_utf8(state.held, true, changed));
        token = changed;
        break;
      case StepKind::byte_fallback:
        if (auto byte = byte_of(token)) {
          state.held += *byte;
          return;
        }
        flush(k, text);
        break;
      case StepKind::metaspace:
        for (std::size_t i = 0; i < token.size();)
          if (token.substr(i).starts_with(step.content)) {
            if (!is_first || !step.first) changed += ' ';
            i += step.content.size();
          } else changed += token[i++];
        token = changed;
        break;
      case StepKind::replace:
        step.pattern->split(token, [&](std::string_view piece, bool match) {
          changed += match ? std::string_view(step.content) : piece;
          check_growth("decoder", bytes_, changed.size());
        });
        token = changed;
        break;
      case StepKind::strip:
        for (std::int64_t n = 0; n < step.count && token.starts_with(step.content); ++n)
          token.remove_prefix(step.content.size());
        break;
      case StepKind::strip_all:
        while (state.taken >= 0 && !token.empty())
          if (state.taken < step.count && token.starts_with(step.content)) {
            token.remove_prefix(step.content.size());
            ++state.taken;
          } else state.taken = -1;
        break;
    }
    state.begun = true;
    pass(k + 1, token, text);
  }
  const TokenTexts& tokens_;
  const std::vector<DecodeStep>& steps_;
  DecodeOptions options_;
  std::size_t bytes_ = 0;  // of the token that comes in
  std::vector<State> states_;
};
}  // namespace

std::vector<DecodeStep> read_decoder(const std::optional<Node>& node) {
  if (!node) return {{StepKind::join}};
  DecoderReader reader;
  reader.read(*node);
  return std::move(reader.steps);
}
std::optional<std::string> part_of_character(const TokenTexts& t, const std::vector<DecodeStep>& steps,
                                             std::int32_t id) {
  auto& token = t.texts[static_cast<std::size_t>(id)];
  for (auto& step : steps) {
    if (step.kind == StepKind::byte_level) return token;
    if (step.kind != StepKind::byte_fallback) continue;
    if (auto byte = byte_of(token)) return std::string(1, *byte);
  }
  return {};
}
std::unique_ptr<Decoder> make_decoder(const TokenTexts& t, const std::vector<DecodeStep>& steps, DecodeOptions o) {
  return std::make_unique<Chain>(t, steps, o);
}
}  // namespace bora::text
