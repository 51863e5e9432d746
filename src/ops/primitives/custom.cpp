// Operations that run a function of the program on the host.
#include "bora/ops/custom.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/support.h"
#include "bora/array/primitive.h"

namespace bora {
namespace ops {
namespace {
struct Definition {
  std::string name;
  CustomOp op;
};
/// Prints and hashes as its name, is equal only to itself.
class Handle {
 public:
  explicit Handle(std::shared_ptr<const Definition> d) : d_(std::move(d)) {}
  operator std::string_view() const { return d_->name; }
  const Definition* operator->() const { return d_.get(); }
  bool operator==(const Handle&) const = default;
  friend std::ostream& operator<<(std::ostream& o, const Handle& h) { return o << h.d_->name; }
 private:
  std::shared_ptr<const Definition> d_;
};

struct Custom {
  Handle function;
  static constexpr std::string_view name = "custom_op";
  static constexpr bool any_dtype = true;
  const CustomOp& op() const { return function->op; }
  const std::string& title() const { return function->name; }

  Type infer(const Types& in) const {
    check<ValueError>(in.size() == op().eval.arity(), title(), ": takes ", op().eval.arity(), " inputs, got ",
                      in.size());
    std::vector<Shape> shapes;
    for (auto& t : in) shapes.push_back(t.shape);
    if (op().elementwise)
      for (auto& s : shapes)
        check<ShapeError>(s == shapes[0], title(), ": elementwise inputs of different shapes: ", shapes[0], " and ", s);
    Shape shape = op().shape && !op().elementwise ? op().shape(shapes) : in.empty() ? Shape{} : shapes[0];
    auto dtype = op().dtype ? *op().dtype : op().eval.dtype() ? *op().eval.dtype() : in.empty() ? f32 : in[0].dtype;
    return {shape, dtype};
  }
  Arrays run(const Arrays& in, const Types& out) const {
    Within host(eval_interpreter());
    auto y = op().eval(in).concrete();
    check<ShapeError>(y.shape() == out[0].shape, title(), ": eval gave ", y.type(), " where the shape ", out[0].shape,
                      " was promised; say .shape = [](const std::vector<Shape>& in) { .. }");
    check<DtypeError>(y.dtype() == out[0].dtype || op().dtype, title(), ": eval gave ", y.type(), " where ",
                      out[0].dtype, " was expected; say .dtype = ", y.dtype());
    return {y.astype(out[0].dtype)};
  }
  Arrays vjp(const Vjp& v) const {
    check<TraceError>(static_cast<bool>(op().vjp), title(),
                      " cannot be differentiated in reverse: give custom_op a .vjp");
    Arrays arguments{v.ct[0]};
    arguments.insert(arguments.end(), v.in.begin(), v.in.end());
    auto g = op().vjp(arguments);
    check<ValueError>(g.size() == v.in.size(), title(), ": vjp gave ", g.size(), " gradients for ", v.in.size(),
                      " inputs");
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (!v.needs[i] || !is_inexact(v.in[i].dtype())) g[i] = {};
      if (!g[i].defined()) continue;
      check<ShapeError>(g[i].shape() == v.in[i].shape(), title(), ": the gradient of input ", i, " has shape ",
                        g[i].shape(), ", the input ", v.in[i].shape());
      g[i] = g[i].astype(v.in[i].dtype());
    }
    return g;
  }
  DimFactors factors(const Types& in) const {
    if (op().elementwise) return elementwise_factors(in);
    DimFactors f;
    for (auto& t : in) f.in.push_back(Dims(t.shape.size(), kNone));
    f.out.push_back(Dims(infer(in).shape.size(), kNone));
    return f;
  }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (op().elementwise) return b.lifted(primitive(*this), in);
    Arrays parts;
    for (std::int64_t i = 0; i < b.size; ++i) {
      Arrays one;
      for (auto& m : in) one.push_back(m.axis < 0 ? m.value : index_in_dim(m.value, m.axis, i));
      parts.push_back(call_one(*this, one));
    }
    check<ShapeError>(!parts.empty(), title(), ": vmap over an axis of size 0");
    return {{stack(parts, 0), 0}};
  }
  static SamplesOf<Custom> samples() {
    auto make = [](std::string name, CustomOp op) {
      return Custom{Handle(std::make_shared<const Definition>(Definition{std::move(name), std::move(op)}))};
    };
    static const auto cube = make("cube", {.eval = [](const Array& x) { return x * x * x; },
                                           .vjp = [](const Array& ct, const Array& x) { return 3 * x * x * ct; },
                                           .elementwise = true});
    static const auto mixed = make("mixed", {.eval = [](const Array& a, const Array& b) { return a + flip(b); },
                                             .vjp =
                                                 [](const Array& ct, const Array&, const Array&) {
                                                   return std::pair{ct, flip(ct)};
                                                 }});
    return {{cube, {random_values({2, 3}, -1, 1, 1)}},
            {mixed, {random_values({2, 3}, -1, 1, 2), random_values({2, 3}, -1, 1, 3)}}};
  }
};
}  // namespace
}  // namespace ops

HostOp::HostOp(std::string name, CustomOp definition) {
  check<ValueError>(static_cast<bool>(definition.eval), name, ": custom_op needs .eval");
  check<ValueError>(!definition.vjp || definition.vjp.arity() == definition.eval.arity() + 1, name,
                    ": vjp takes the cotangent and ", definition.eval.arity(), " inputs; it has ",
                    definition.vjp.arity(), " parameters");
  check<ValueError>(!definition.elementwise || !definition.shape, name,
                    ": .shape says nothing of an elementwise operation");
  primitive_ = primitive(ops::Custom{
      ops::Handle(std::make_shared<const ops::Definition>(ops::Definition{std::move(name), std::move(definition)}))});
}
Array HostOp::on(const Arrays& inputs) const {
  auto& custom = *as<ops::Custom>(primitive_);
  if (!custom.op().elementwise || inputs.size() < 2) return call(primitive_, inputs).front();
  Shape shape;
  for (auto& x : inputs) shape = broadcast_shapes(custom.title(), shape, x.shape());
  Arrays same;
  for (auto& x : inputs) same.push_back(broadcast_to(x, shape));
  return call(primitive_, same).front();
}
HostOp custom_op(std::string name, CustomOp definition) { return HostOp(std::move(name), std::move(definition)); }
}  // namespace bora
