// Batch: one mapped axis. An operation that names this axis is handled here even when none of its inputs is mapped.
#include <algorithm>
#include "bora/array/communicator.h"
#include "compile/api/control.h"
#include "bora/fx/jit.h"
#include "bora/ops/manipulation.h"
#include "ops/api/collective_primitives.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
struct BatchValue final : ArrayValue {
  Array inner;
  std::int64_t axis;
  BatchValue(Array a, std::int64_t ax, std::uint64_t o) : ArrayValue(a.type(), o), inner(std::move(a)), axis(ax) {
    type.shape.erase(static_cast<std::size_t>(axis));
  }
  Array concrete() const override {
    fail<TraceError>("this ", type, " stands for the ", inner.type().shape[static_cast<std::size_t>(axis)],
                     " elements of a vmap, which have no one number; return it from the function and read it outside "
                     "(choose with where() or cond())");
  }
};
class Rules final : public BatchRules {
 public:
  using BatchRules::BatchRules;
  std::vector<Mapped> lifted(const PrimitivePtr& p, const std::vector<Mapped>& in) const override {
    Arrays x;
    for (auto& m : in) x.push_back(front(m));
    std::vector<Mapped> r;
    for (auto& y : call(p, x)) r.push_back({y, 0});
    return r;
  }
  std::vector<Mapped> composite(const FlatFn& f, const std::vector<Mapped>& in) const override {
    Arrays x;
    VmapFlat how{{}, {0}, size, {}, over};
    for (auto& m : in) {
      x.push_back(m.value);
      how.in.push_back(m.axis < 0 ? std::nullopt : std::optional(m.axis));
    }
    std::vector<Mapped> r;
    for (auto& y : vmap_flat(f, x, how)) r.push_back({y, 0});
    return r;
  }
};
class Batch final : public Interpreter {
 public:
  Batch(Interpreter* p, const BatchRules& like) : Interpreter(p), rules(like.size, like.axis_name, like.over) {}
  const Rules rules;
  Array wrap(const Mapped& m) const {
    return m.axis < 0 ? m.value : Array(std::make_shared<BatchValue>(m.value, m.axis, id));
  }
  Mapped view(const Array& a) const {
    if (!owns(a)) return {a, -1};
    auto* v = static_cast<const BatchValue*>(a.get());
    return {v->inner, v->axis};
  }
  Arrays process(const PrimitivePtr& p, const Arrays& in) override {
    Within w(parent);
    if (!owns_any(in) && !names_me(*p)) return parent->process(p, in);
    std::vector<Mapped> m;
    auto size = rules.size;
    for (auto& a : in) {
      m.push_back(view(a));
      if (m.back().axis >= 0) size = m.back().value.shape(m.back().axis);
    }
    Arrays out;
    // Inside of a shard_map that is split over this axis a rank has some of the elements (ToLocal::batch).
    for (auto& y : size == rules.size ? p->batch(m, rules) : p->batch(m, Rules(size, rules.axis_name, rules.over)))
      out.push_back(wrap(y));
    return out;
  }

 private:
  bool names_me(const Primitive& p) const {
    if (rules.axis_name.empty()) return false;
    if (p.named_axes().has(AxisName(rules.axis_name))) return true;
    for (auto& held : p.programs())
      for (auto& i : held->code)
        if (names_me(*i.primitive)) return true;
    return false;
  }
};
/// jit keys depend on the axis names in force: a staged function may read their sizes.
std::size_t axes_hash() {
  std::size_t h = 5;
  for (auto* i = current(); i; i = i->parent)
    if (auto* b = dynamic_cast<const Batch*>(i); b && !b->rules.axis_name.empty())
      h = hash_combine(hash_combine(h, std::hash<std::string>{}(b->rules.axis_name)),
                       static_cast<std::size_t>(b->rules.size));
  return h;
}
[[maybe_unused]] const bool registered = (register_context(axes_hash), true);
}  // namespace

Arrays vmap_flat(const FlatFn& f, const Arrays& in, const VmapFlat& how) {
  auto size = how.size;
  std::size_t first = 0;
  Dims axes(in.size(), -1);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!how.in.at(i)) continue;
    auto n = in[i].ndim();
    auto axis = *how.in[i] < 0 ? *how.in[i] + n : *how.in[i];
    check<ShapeError>(0 <= axis && axis < n, "vmap: an argument is mapped along axis ", axis,
                      ", which implies that its rank should be at least ", axis + 1, ", but its shape is ",
                      in[i].type().shape, " (argument leaf ", i, ")");
    axes[i] = axis;
    auto extent = in[i].type().shape[static_cast<std::size_t>(axis)];
    check<ShapeError>(size < 0 || size == extent, "vmap: got inconsistent sizes for array axes to be mapped: ", size,
                      how.size >= 0 ? " (the size given)" : "", " and ", extent, " (argument leaf ", i, " of type ",
                      in[i].type(), ", axis ", axis, "; leaf ", first, " came first)");
    if (size < 0) first = i;
    size = extent;
  }
  check<ValueError>(size >= 0, "vmap: nothing is mapped; map at least one argument or give the size");
  if (auto* mesh = here().mesh) (void)mesh->parts(how.over.axes);  // throws for an axis that does not exist
  Batch b(current(), Rules(size, how.axis_name, how.over));
  Arrays x;
  for (std::size_t i = 0; i < in.size(); ++i) x.push_back(b.wrap({in[i], axes[i]}));
  Arrays out;
  {
    Within w(&b);
    out = f(x);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto to = how.out.size() == 1 ? how.out[0] : how.out.at(i);
    auto m = b.view(out[i]);
    if (!to) {
      check<ValueError>(m.axis < 0, "vmap: result ", i,
                        " depends on what is mapped, but .out = none says that it does not; give it an axis in .out "
                        "(which arguments are mapped stands in .in: vmap(f, {.in = {0, none}}))");
      out[i] = m.value;
      continue;
    }
    auto y = b.rules.front(m);
    out[i] = moveaxis(y, 0, *to);
  }
  return out;
}
bool is_batch(const Interpreter& i) { return dynamic_cast<const Batch*>(&i) != nullptr; }
std::int64_t axis_size(const MeshAxes& axes) { return ops::named_axis_size(axes); }
BatchedProgram batch_program(const ProgramPtr& p, const Mask& in, const BatchRules& c, const Mask& force) {
  auto* mesh = here().mesh;  // constraints split a mapped axis that the mesh has
  bool split = mesh && !c.axis_name.empty() && mesh->has(AxisName(c.axis_name));
  std::string key = std::to_string(c.size) + (split ? " on mesh axis " : " ") + c.axis_name + " " +
                    bits(in) + " " + bits(force) + (c.over.strict ? " over " : " mapped to ") + to_string(c.over.axes);
  return *p->memo.get<BatchedProgram>(Form::batched, key, [&] {
    Stage s(current(), false, p->compile);
    Batch b(&s, c);
    Arrays x;
    auto types = p->in_types();
    for (std::size_t i = 0; i < in.size(); ++i)
      x.push_back(b.wrap({s.input(in[i] ? ops::with_length(types[i], c.size) : types[i],
                                  i < p->labels.size() ? p->labels[i] : std::string()),
                          in[i] ? 0 : -1}));
    Arrays out;
    {
      Within w(&b);
      out = interpret(*p, x);
    }
    BatchedProgram r;
    Within w(&s);
    for (std::size_t k = 0; k < out.size(); ++k) {
      auto m = b.view(out[k]);
      r.out.push_back(m.axis >= 0 || (k < force.size() && force[k]));
      out[k] = r.out[k] ? b.rules.front(m) : m.value;
    }
    r.program = s.finish(out);
    check<TraceError>(s.captures.empty(), "a batching rule made a concrete array while a Program was batched");
    return r;
  });
}
}  // namespace bora::fx

namespace bora {
std::int64_t ops::named_axis_size(const MeshAxes& axes) {
  std::int64_t n = 1;
  MeshAxes seen;
  for (auto& a : axes) {
    check<ShardError>(!seen.has(a), "axis '", a.str(), "' is named twice in ", axes);
    seen.push_back(a);
    const fx::Batch* found = nullptr;
    for (auto* i = current(); i && !found; i = i->parent)
      if (auto* b = dynamic_cast<fx::Batch*>(i); b && b->rules.axis_name == a.str()) found = b;
    if (!found) {
      check<ShardError>(here().mesh != nullptr, "unbound axis name: '", a.str(),
                        "'; it is neither the axis_name of a vmap nor a mesh axis in force");
      (void)here().mesh->axis_size(a);  // throws, listing the axes that exist
      check<ShardError>(here().in_blocks, "axis '", a.str(),
                        "' of the mesh is not bound here: collectives act on blocks; call them inside shard_map");
    }
    n *= found ? found->rules.size : here().mesh->axis_size(a);
  }
  return n;
}
}  // namespace bora
