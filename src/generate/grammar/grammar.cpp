#include "bora/generate/grammar.h"
#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include "bora/base/error.h"
#include "bora/text/tokenizer.h"
#include "generate/api/grammar_matcher.h"
#include "generate/grammar/masks.h"
#include "generate/grammar/schema.h"

namespace bora::generate {
namespace {
constexpr std::size_t kMostKept = 32;
constexpr std::int64_t kPrepared = 12;  // some 3 ms each with 150,000 tokens
}  // namespace

struct Grammar::State {
  State(grammar::Automaton a, std::int32_t rule, std::shared_ptr<const grammar::Vocabulary> v)
      : masks(std::move(a), rule, std::move(v)) {
    try {
      masks.prepare(kPrepared);
      auto begin = masks.begin();
      (void)masks.mask(begin);
    } catch (const ValueError& e) { fail<ValueError>("schema: ", e.text()); }
  }
  std::mutex mutex = {};
  grammar::Masks masks;
};
Grammar::Grammar(std::unique_ptr<State> s) : state_(std::move(s)) {}
Grammar::~Grammar() = default;

struct Grammars::State {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::mutex mutex = {};
  std::shared_ptr<const grammar::Vocabulary> vocabulary = {};
  struct Kept {
    std::string schema;
    std::shared_ptr<const Grammar> grammar;
  };
  std::deque<Kept> kept = {};  // the last used one first; an empty schema: any object

  std::shared_ptr<const Grammar> of(std::string_view schema, bool any_object) {
    std::lock_guard lock(mutex);
    std::string key(any_object ? "" : schema);
    auto known = std::find_if(kept.begin(), kept.end(), [&](auto& k) { return k.schema == key; });
    Kept found;
    if (known != kept.end()) {
      found = std::move(*known);
      kept.erase(known);
    } else {
      if (!vocabulary) vocabulary = std::make_shared<grammar::Vocabulary>(*tokenizer);
      found = {key, compiled(schema, any_object)};
      if (kept.size() >= kMostKept) kept.pop_back();
    }
    kept.push_front(found);
    return found.grammar;
  }
  std::shared_ptr<const Grammar> compiled(std::string_view schema, bool any_object) const {
    grammar::Automaton a;
    json::Value document;
    if (!any_object) {
      try {
        document = json::parse(schema, "schema", "key", json::Order::as_written);
      } catch (const IoError& e) { fail<ValueError>(e.text()); }
    }
    grammar::Schema of(a, document, vocabulary->longest());
    auto rule = any_object ? of.any_object() : of.rule();
    return std::make_shared<Grammar>(std::make_unique<Grammar::State>(std::move(a), rule, vocabulary));
  }
};
Grammars::Grammars(std::shared_ptr<const text::Tokenizer> t)
    : state_(new State{.tokenizer = std::move(t)}) {}
Grammars::~Grammars() = default;
std::shared_ptr<const Grammar> Grammars::json_object() const { return state_->of({}, true); }
std::shared_ptr<const Grammar> Grammars::json_schema(std::string_view schema) const {
  bora::check<ValueError>(!schema.empty(), "schema: it is empty");
  return state_->of(schema, false);
}

namespace grammar {
struct Matcher::State {
  std::shared_ptr<const Grammar> grammar;
  Masks::Place place;
  std::shared_ptr<const Mask> mask = {};
};
Matcher::Matcher(std::shared_ptr<const Grammar> g) : state_(new State{std::move(g), {}}) {
  auto& all = state_->grammar->state();
  std::lock_guard lock(all.mutex);
  state_->place = all.masks.begin();
}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;
const std::vector<std::uint64_t>& Matcher::mask() {
  auto& all = state_->grammar->state();
  std::lock_guard lock(all.mutex);
  state_->mask = all.masks.mask(state_->place);
  return *state_->mask;
}
void Matcher::take(std::int32_t id) {
  auto& all = state_->grammar->state();
  std::lock_guard lock(all.mutex);
  all.masks.take(state_->place, bytes(id));
}
const std::string& Matcher::bytes(std::int32_t id) const {
  return state_->grammar->state().masks.vocabulary().bytes(id);
}
bool Matcher::whole() const {
  auto& all = state_->grammar->state();
  std::lock_guard lock(all.mutex);
  return all.masks.at(state_->place).whole;
}
bool Matcher::over() const {
  auto& all = state_->grammar->state();
  std::lock_guard lock(all.mutex);
  auto& at = all.masks.at(state_->place);
  return at.whole && at.tops.empty();
}
}  // namespace grammar
}  // namespace bora::generate
