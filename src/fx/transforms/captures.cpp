#include "fx/captures.h"
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include "bora/fx/jit.h"
#include "compile/api/program.h"

namespace bora::fx {
namespace {
/// The first difference of two Programs, in words; empty if there is none.
std::string difference(const Program& was, const Program& is) {
  if (was.in.size() != is.in.size() || was.out != is.out || was.code.size() != is.code.size())
    return "the function had " + std::to_string(was.code.size()) + " operations and has " +
           std::to_string(is.code.size());
  for (std::size_t i = 0; i < was.code.size(); ++i) {
    auto &a = was.code[i], &b = is.code[i];
    auto text = [](const Instruction& x) {
      auto params = x.primitive->params();
      return std::string(x.primitive->name()) + (params.empty() ? "" : "[" + params + "]");
    };
    auto held = a.primitive->programs(), other = b.primitive->programs();
    // Functions of the process, and held Programs, are made anew by each staging.
    bool same = a.primitive->name() == b.primitive->name() && held.size() == other.size() &&
                (a.primitive->equals(*b.primitive) ||
                 ((!held.empty() || a.primitive->traits.opaque || a.primitive->traits.effect) &&
                  a.primitive->params() == b.primitive->params()));
    if (!same || a.in != b.in || a.out != b.out) return "it was " + text(a) + " and is " + text(b);
    for (std::size_t k = 0; k < held.size(); ++k)
      if (auto inner = difference(*held[k], *other[k]); !inner.empty()) return inner;
  }
  for (std::size_t v = 0; v < was.vars.size(); ++v)
    if (v >= is.vars.size() || was.vars[v] != is.vars[v]) return "a value has another type";
  return {};
}
bool same_numbers(const Array& a, const Array& b) {
  if (a.value() == b.value()) return true;
  if (a.type() != b.type() || !is_buffer(a) || !is_buffer(b)) return false;
  return std::memcmp(a.bytes(), b.bytes(), a.type().nbytes()) == 0;
}
}  // namespace

bool always_checked() {
  static const bool always = [] {
    const char* word = std::getenv("BORA_CHECK_CAPTURES");
    return word != nullptr && std::string_view(word) != "0" && std::string_view(word) != "";
  }();
  return always;
}
std::string changed_captures(const Traced& was, const Traced& is) {
  auto found = difference(*was.program, *is.program);
  for (std::size_t i = 0; found.empty() && i < was.captures.size(); ++i)
    if (!same_numbers(was.captures[i], is.captures[i])) {
      std::ostringstream o;
      o << "a captured " << was.captures[i].type() << " has other numbers";
      found = o.str();
    }
  return found;
}
}  // namespace bora::fx
