// Operations that run a function of the program on the host.
#include "bora/ops/custom.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/closures.h"
#include "ops/api/support.h"
#include "bora/array/primitive.h"

namespace bora {
namespace ops {
Closures& closures() {
  static Closures c;
  return c;
}
namespace {
struct Definition {
  std::string name;
  CustomOp op;
  FlatFn rule = {};  // of ClosedCustom: its gradients, but for those that are zero
  Mask given = {};   // which gradients it gives
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
    return gradients(v, [&](const Arrays& a) { return op().vjp(a); });
  }
  /// By a rule that takes the cotangent and the inputs.
  Arrays gradients(const Vjp& v, const FlatFn& rule) const {
    Arrays arguments{v.ct[0]};
    arguments.insert(arguments.end(), v.in.begin(), v.in.end());
    auto g = rule(arguments);
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
    return op().elementwise ? b.lifted(primitive(*this), in) : one_by_one(*this, in, b);
  }
  template <class P> static std::vector<Mapped> one_by_one(const P& p, const std::vector<Mapped>& in,
                                                           const BatchRules& b) {
    Arrays parts;
    for (std::int64_t i = 0; i < b.size; ++i) {
      Arrays one;
      for (auto& m : in) one.push_back(m.axis < 0 ? m.value : index_in_dim(m.value, m.axis, i));
      parts.push_back(call_one(p, one));
    }
    check<ShapeError>(!parts.empty(), p.function->name, ": vmap over an axis of size 0");
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
/// The same where .vjp closes over values: they are further inputs, behind those of eval, on which the result does not
/// depend. `rule` takes the cotangent and all inputs, and gives the gradients of eval's.
struct ClosedCustom {
  Handle function;
  static constexpr std::string_view name = "custom_op_closed";
  static constexpr bool any_dtype = true;
  static ClosedCustom of(Definition d) {
    return {Handle(std::make_shared<const Definition>(std::move(d)))};
  }
  Custom open() const { return {function}; }
  std::size_t inputs() const { return function->op.eval.arity(); }
  template <class T> std::vector<T> own(const std::vector<T>& all) const {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(inputs())};
  }

  Type infer(const Types& in) const { return open().infer(own(in)); }
  Arrays run(const Arrays& in, const Types& out) const { return open().run(own(in), out); }
  Arrays vjp(const Vjp& v) const {
    auto in = own(v.in);
    auto needs = own(v.needs);
    auto g = open().gradients({in, v.out, v.ct, needs}, [&](const Arrays& a) {
      auto all = a;
      all.insert(all.end(), v.in.begin() + static_cast<std::ptrdiff_t>(inputs()), v.in.end());
      auto some = function->rule(all);
      Arrays g;
      std::size_t k = 0;
      for (bool given : function->given) g.push_back(given ? some.at(k++) : Array());
      return g;
    });
    g.resize(v.in.size());
    return g;
  }
  DimFactors factors(const Types& in) const {
    auto f = open().factors(own(in));
    for (auto i = inputs(); i < in.size(); ++i) f.in.push_back(Dims(in[i].shape.size(), kNone));
    return f;
  }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!function->op.elementwise) return Custom::one_by_one(*this, in, b);
    auto rule = closures().mapped(function->rule, b);
    return b.lifted(primitive(of({function->name, function->op, std::move(rule), function->given})), in);
  }
  /// Derivatives have been taken: what they read is not needed.
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& rules) const {
    Types types;
    auto mine = own(in);
    for (auto& x : mine) types.push_back(x.type);
    return rules.by_factors(primitive(open()), open().factors(types), mine);
  }
  static SamplesOf<ClosedCustom> samples() {
    auto scaled = [](const Arrays& a) { return Arrays{2 * a[1] * a[0] * a[2] / a[2]}; };
    auto make = [&](bool elementwise) {
      return of({"square",
                 {.eval = [](const Array& x) { return x * x; },
                  .vjp = [](const Array& ct, const Array& x) { return 2 * x * ct; },
                  .elementwise = elementwise},
                 scaled,
                 {true}});
    };
    static const auto square = make(true), whole = make(false);
    return {{square, {random_values({2, 3}, -1, 1, 1), random_values({3}, 1, 2, 2)}},
            {whole, {random_values({2, 3}, -1, 1, 3), random_values({2, 1}, 1, 2, 4)}}};
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
namespace {
/// Where .vjp will run later, as in a Program that is staged, it becomes a function of what it closes over.
Array called(const PrimitivePtr& p, const Arrays& inputs) {
  auto& custom = *as<ops::Custom>(p);
  Mask given;
  auto close = [&]() -> std::optional<ops::Closed> {
    auto closed = ops::closures().closed;
    if (!closed || evaluates() || !custom.op().vjp) return std::nullopt;
    Types types;
    for (auto& x : inputs) types.push_back(x.type());
    auto out = custom.infer(types);
    if (!is_inexact(out.dtype)) return std::nullopt;
    types.insert(types.begin(), out);
    auto gradients = [&](const Arrays& a) {
      auto g = custom.op().vjp(a);
      given.clear();
      for (auto& x : g) given.push_back(x.defined());
      std::erase_if(g, [](auto& x) { return !x.defined(); });
      return g;
    };
    return closed(gradients, types, custom.function.operator->());
  };
  std::optional<ops::Closed> rule;
  try {
    rule = close();
  } catch (const Error&) {}  // of inputs that do not fit: call() says where
  if (!rule) return call(p, inputs).front();
  auto all = inputs;
  all.insert(all.end(), rule->captures.begin(), rule->captures.end());
  return call_one(ops::ClosedCustom::of({custom.title(), custom.op(), std::move(rule->f), given}), all);
}
}  // namespace
Array HostOp::on(const Arrays& inputs) const {
  auto& custom = *as<ops::Custom>(primitive_);
  if (!custom.op().elementwise || inputs.size() < 2) return called(primitive_, inputs);
  Shape shape;
  for (auto& x : inputs) shape = broadcast_shapes(custom.title(), shape, x.shape());
  Arrays same;
  for (auto& x : inputs) same.push_back(broadcast_to(x, shape));
  return called(primitive_, same);
}
HostOp custom_op(std::string name, CustomOp definition) { return HostOp(std::move(name), std::move(definition)); }
}  // namespace bora
