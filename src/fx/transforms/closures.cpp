// Rules of custom operations, closed: they become functions of what they close over, so that Programs that hold the
// operation can be differentiated later, on their own.
#include "compile/api/program.h"
#include "fx/retrace.h"
#include "ops/api/closures.h"

namespace bora::fx {
namespace {
/// Stands while the rule of an operation is closed, and changes nothing.
class Closing final : public Interpreter {
 public:
  Closing(Interpreter* p, const void* o) : Interpreter(p), of(o) {}
  Arrays process(const PrimitivePtr& p, const Arrays& in) override {
    Within w(parent);
    return parent->process(p, in);
  }
  const void* const of;
};
/// A rule that calls its own operation is closed for derivatives up to one order more than this.
constexpr int kOrders = 3;
/// Will the rule of an operation that is called now run later, or on other operands? Where it goes into a Program, or
/// where a vmap lifts the operation before a derivative sees it.
bool runs_elsewhere() {
  bool lifted = false;
  for (auto* i = current(); i; i = i->parent) {
    if (dynamic_cast<const Stage*>(i) || (lifted && (is_tape(*i) || is_dual(*i)))) return true;
    lifted = lifted || is_batch(*i);
  }
  return false;
}
std::optional<ops::Closed> closed(const FlatFn& f, const Types& in, const void* of) {
  if (!runs_elsewhere()) return std::nullopt;
  int within = 0;
  for (auto* i = current(); i; i = i->parent)
    if (auto* c = dynamic_cast<const Closing*>(i)) within += c->of == of;
  if (within >= kOrders) return std::nullopt;
  Closing here(current(), of);
  Within w(&here);
  Staged s;
  try {
    s = stage(f, in);
  } catch (const Error&) { return std::nullopt; }  // a derivative, if one is taken, throws it
  if (s.captures.empty()) return std::nullopt;
  return ops::Closed{[program = s.program](const Arrays& a) { return interpret(*program, a); }, s.captures};
}
FlatFn mapped(FlatFn f, const BatchRules& b) {
  return [f = std::move(f), size = b.size, name = b.axis_name, over = b.over](const Arrays& in) {
    VmapFlat how{{}, {0}, size, name, over};
    how.in.assign(in.size(), 0);
    return vmap_flat(f, in, how);
  };
}
[[maybe_unused]] const bool registered = (ops::closures() = {closed, mapped}, true);
}  // namespace
}  // namespace bora::fx
