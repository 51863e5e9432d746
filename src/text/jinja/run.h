// run.h -- one rendering of a template: its limits, and the names that it sees.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include "bora/base/error.h"
#include "text/jinja/value.h"

namespace bora::text::jinja {
/// Throws what is wrong in a template or with its values; the caller adds the place.
template <class... Parts> [[noreturn]] void problem(const Parts&... parts) { fail<ValueError>(parts...); }

/// Variables of a frame, behind those of the frames around.
struct Scope {
  std::vector<std::pair<std::string, Value>> names = {};
  std::shared_ptr<Scope> outer = {};
  const Value* find(std::string_view name) const {
    for (auto s = this; s != nullptr; s = s->outer.get())
      for (auto& [n, v] : s->names)
        if (n == name) return &v;
    return nullptr;
  }
  void set(std::string_view name, Value v) {
    for (auto& [n, old] : names)
      if (n == name) {
        old = std::move(v);
        return;
      }
    names.emplace_back(name, std::move(v));
  }
};

class Run {
 public:
  static constexpr std::int64_t kSteps = 4'000'000;  // published templates take some hundreds a turn
  static constexpr std::int64_t kDepth = 2000;  // 1 to 2 MB of a thread's stack
  /// bytes: of the conversation.
  explicit Run(std::size_t bytes)
      : steps_(kSteps + 128 * static_cast<std::int64_t>(bytes)), longest_((std::size_t{1} << 20) + 64 * bytes) {}
  ~Run() {
    // A macro in its own scope holds itself, as a namespace in itself does.
    for (auto& s : scopes_) s->names.clear();
    for (auto& s : objects_) s->clear();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int line = 1;   // of what is being done
  std::optional<std::int64_t> now = {};
  /// Throws if the template has done too much. Of texts and lists, n is a part of their size.
  void step(std::size_t n = 1) {
    if ((steps_ -= static_cast<std::int64_t>(n)) < 0)
      problem("the template takes more than ", kSteps, " steps; does a loop of it not end?");
  }
  /// Before a new text of n bytes is made.
  void bytes(std::size_t n) {
    if (n > longest_) problem("a text of ", n, " bytes, above the limit of ", longest_, " for this conversation");
    step(n / 4);
  }
  /// Before n bytes are added to a text of `size`.
  void more_bytes(std::size_t size, std::size_t n) {
    if (size + n > longest_) bytes(size + n);
    step(n / 4);
  }
  void keep(std::shared_ptr<Scope> s) { scopes_.push_back(std::move(s)); }
  void keep(std::shared_ptr<Object> o) { objects_.push_back(std::move(o)); }
  /// Counts calls and expressions within each other.
  class Deeper {
   public:
    explicit Deeper(Run& r) : r_(r) {
      if (r_.depth_ >= kDepth) problem("expressions and calls lie in each other more than ", kDepth, " deep");
      ++r_.depth_;
    }
    ~Deeper() { --r_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Run& r_;
  };

 private:
  std::int64_t steps_;
  std::size_t longest_;
  std::int64_t depth_ = 0;
  std::vector<std::shared_ptr<Scope>> scopes_;
  std::vector<std::shared_ptr<Object>> objects_;
};

/// Filters, tests, methods and global functions by their names; null for unknown ones.
using Filter = Value (*)(Run&, const Value& x, Args&);
using Test = bool (*)(Run&, const Value& x, Args&);
Filter filter_named(std::string_view name);
Test test_named(std::string_view name);
/// x.name(..), for the methods of Python's texts, lists and dicts; undefined for others.
Value method_of(const Value& x, std::string_view name);
Value global_named(std::string_view name);
/// x.name and x[name], as Jinja looks them up; undefined where there is none.
Value attribute_of(Run&, const Value& x, std::string_view name);
Value item_of(Run&, const Value& x, const Value& key);
/// A function of this program as a value.
Value function(std::string_view name, std::function<Value(Run&, Args&)>);
/// Texts of characters.
std::size_t characters(std::string_view);
std::vector<Marked> each_character(const Marked&);
/// str.strip: white space, or the characters of a set.
Marked stripped(const Marked&, bool left, bool right, const Value& set);
Marked joined(Run&, const Values&, const Marked& between);
Marked replaced(Run&, const Marked&, const Marked& from, const Marked& to, std::int64_t most);
enum class Case { lower, upper, title, capitalize };
Marked in_case(const Marked&, Case);
/// What str.isdigit and the like say of all characters.
bool all_of_category(const Marked&, std::string_view name);
/// Filters and methods for letters.
template <Case how> Value cased(Run& run, const Value& x, Args&) {
  auto s = string_of(run, x);
  run.bytes(2 * s.size());
  return in_case(s, how);
}
inline std::int64_t integer_in(const Value& v, std::string_view what) {
  if (!v.is(Kind::integer) && !v.is(Kind::boolean)) problem(what, " takes an integer, got ", v.type());
  return v.integer();
}
inline void need_defined(const Value& v) {
  if (v.is(Kind::undefined)) problem("'", v.missing(), "' is undefined");
}
}  // namespace bora::text::jinja
