#include "job/pair_encoder.h"
#include <algorithm>
#include "base/api/file.h"
#include "bora/text/tokenizer.h"
#include "json/api/value.h"

namespace bora::job {
namespace {
Pair read_pair(std::string_view line, const std::string& where) {
  json::Value j;
  try {
    j = json::parse(line, where);
  } catch (const IoError& e) { throw ConfigError(e.text()); }
  check<ConfigError>(j.is_object(), where, ": expected an object with context and continuation, got ", j.type_name());
  for (auto& [name, value] : j.members())
    check<ConfigError>(name == "context" || name == "continuation", where, ": '", name,
                       "' is no field of a pair; there are context and continuation");
  auto text = [&](const char* name) {
    auto found = j.find(name);
    check<ConfigError>(found && found->is_text(), where, ": ", name, ": expected a text, got ",
                       found ? found->type_name() : "nothing");
    return found->text();
  };
  Pair p{text("context"), text("continuation")};
  check<ConfigError>(!p.continuation.empty(), where, ": continuation: it is empty");
  return p;
}
/// The white space at the end of UTF-8, in bytes: what Python's rstrip takes.
std::size_t space_at_end(std::string_view text) {
  static constexpr std::string_view kSpaces[] = {
      "\t", "\n", "\v", "\f", "\r", "\x1c", "\x1d", "\x1e", "\x1f", " ", "\u0085", "\u00a0", "\u1680", "\u2000",
      "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
      "\u2029", "\u202f", "\u205f", "\u3000"};
  auto size = text.size();
  for (bool found = true; found;) {
    found = false;
    for (auto space : kSpaces)
      if (text.ends_with(space)) text.remove_suffix(space.size()), found = true;
  }
  return size - text.size();
}
}  // namespace

std::vector<Pair> read_pairs(const std::string& file) {
  auto text = read_file(file);
  std::vector<Pair> pairs;
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    auto end = std::min(text.find('\n', begin), text.size());
    pairs.push_back(read_pair(std::string_view(text).substr(begin, end - begin),
                              file + ": line " + std::to_string(number)));
    begin = end + 1;
  }
  check<ConfigError>(!pairs.empty(), file, ": it has no line");
  return pairs;
}
EncodedPair PairEncoder::operator()(const Pair& p) const {
  std::string begins;  // a text that has it already gets it no second time
  if (prefix) begins = plain->decode({&*prefix, 1});
  auto first = [&] {
    check<ConfigError>(prefix.has_value(), "the context is empty, and the tokenizer has no token that begins or ends a "
                       "text to stand for it");
    return *prefix;
  };
  auto ids = [&](const std::string& text) {
    return (!begins.empty() && text.starts_with(begins) ? plain : whole)->encode(text);
  };
  if (p.context.empty()) {
    auto continuation = plain->encode(p.continuation);
    EncodedPair e{{first()}, continuation, std::ssize(p.continuation)};
    if (!continuation.empty() && continuation[0] == *prefix) e.continuation.erase(e.continuation.begin());
    return e;
  }
  auto context = p.context;
  auto spaces = space_at_end(context);
  auto continuation = context.substr(context.size() - spaces) + p.continuation;
  context.resize(context.size() - spaces);
  EncodedPair e{ids(context), {}, std::ssize(continuation)};
  auto taken = e.context.size();
  if (e.context.empty()) e.context = {first()};  // it was white space alone
  if (encoder) return e.continuation = plain->encode(continuation), e;
  e.continuation = ids(context + continuation);
  auto n = std::min(taken, e.continuation.size());
  e.continuation.erase(e.continuation.begin(), e.continuation.begin() + static_cast<std::ptrdiff_t>(n));
  return e;
}
}  // namespace bora::job
