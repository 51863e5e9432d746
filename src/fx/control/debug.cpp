// An operation that shows some of its inputs and hands on the others. They are apart so that on a mesh the first may be
// gathered while the others keep their split.
#include "bora/fx/debug.h"
#include <algorithm>
#include <iostream>
#include <sstream>
#include "bora/array/communicator.h"
#include "array/api/nans.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/print.h"
#include "ops/api/support.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora {
namespace fx {
std::string formatted(const std::string& format, const Arrays& values);
}
namespace ops {
namespace {
/// Equal only to itself: two calls are never one.
class Eye {
 public:
  explicit Eye(std::function<void(const Arrays&)> f)
      : f_(std::make_shared<const std::function<void(const Arrays&)>>(std::move(f))) {}
  void operator()(const Arrays& a) const { (*f_)(a); }
  operator std::string_view() const { return "callback"; }
  bool operator==(const Eye&) const = default;
  friend std::ostream& operator<<(std::ostream& o, const Eye&) { return o << "callback"; }
 private:
  std::shared_ptr<const std::function<void(const Arrays&)>> f_;
};
/// Inputs: the observed values, then as many that are handed on. every_rank: inside shard_map.
struct Observe {
  Eye see;
  bool every_rank = false;
  static constexpr std::string_view name = "debug_callback";
  static constexpr bool any_dtype = true, random = true;  // neither folded nor moved out of a loop
  Types infer(const Types& in) const { return {in.begin() + static_cast<std::ptrdiff_t>(in.size() / 2), in.end()}; }
  Arrays run(const Arrays& in, const Types&) const {
    auto half = static_cast<std::ptrdiff_t>(in.size() / 2);
    if (every_rank || here().rank == 0) {
      Within host(eval_interpreter());
      Arrays copies;  // the numbers may lie in memory that the next run overwrites
      for (auto a = in.begin(); a != in.begin() + half; ++a) copies.push_back(from_bytes(a->type(), a->bytes()));
      see(copies);
    }
    return {in.begin() + half, in.end()};
  }
  Arrays vjp(const Vjp& v) const {
    Arrays g(v.in.size() / 2);
    g.insert(g.end(), v.ct.begin(), v.ct.end());
    return g;
  }
  Pushed jvp(const Arrays& in, const Arrays& t) const {
    return {call(primitive(*this), in), {t.begin() + static_cast<std::ptrdiff_t>(in.size() / 2), t.end()}};
  }
  /// Lane by lane, each after the one before.
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    auto half = in.size() / 2;
    std::vector<Mapped> r(in.begin() + static_cast<std::ptrdiff_t>(half), in.end());
    for (std::int64_t i = 0; i < b.size; ++i) {
      Arrays a;
      for (std::size_t k = 0; k < half; ++k)
        a.push_back(in[k].axis < 0 ? in[k].value : index_in_dim(in[k].value, in[k].axis, i));
      for (auto& m : r) a.push_back(m.value);
      auto y = call(primitive(*this), a);
      for (std::size_t k = 0; k < half; ++k) r[k].value = y[k];
    }
    return r;
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto half = in.size() / 2;
    std::vector<Sharded> out(in.begin() + static_cast<std::ptrdiff_t>(half), in.end());
    Arrays a;
    for (std::size_t k = 0; k < half; ++k) a.push_back(s.reshard(in[k], Spec::replicated(in[k].spec.size())).local);
    for (auto& x : out) a.push_back(x.local);
    auto y = call(primitive(*this), a);
    for (std::size_t k = 0; k < half; ++k) out[k].local = y[k];
    return out;
  }
  static SamplesOf<Observe> samples() {
    static const Observe silent{Eye([](const Arrays&) {})};
    return {{silent, {random_values({2, 3}, -1, 1, 1), random_values({2, 3}, -1, 1, 2)}}};
  }
};
/// Inputs: the condition, then values for the message; the first `lanes` dimensions of all of them are vmaps'. Gives
/// true.
struct Check {
  std::string message;
  std::int64_t lanes;
  static constexpr std::string_view name = "check";
  static constexpr bool effect = true, random = true, flat = true;
  Types infer(const Types&) const { return {{{}, boolean}}; }
  Arrays run(const Arrays& in, const Types&) const {
    Within host(eval_interpreter());
    auto* ok = in[0].data<bool>();
    auto failed = std::find(ok, ok + in[0].size(), false) - ok;
    if (failed == in[0].size()) return {constant(true, boolean)};
    std::int64_t count = 1;
    for (std::int64_t d = 0; d < lanes; ++d) count *= in[0].shape(d);
    auto lane = failed / (in[0].size() / count);
    Arrays values;
    for (auto a = in.begin() + 1; a != in.end(); ++a) {
      auto t = a->type();
      for (std::int64_t d = 0; d < lanes; ++d) t.shape.erase(0);
      values.push_back(from_bytes(t, static_cast<const char*>(a->bytes()) +
                                         static_cast<std::size_t>(lane) * t.nbytes()));
    }
    std::string where;
    for (auto d = lanes; d-- > 0; lane /= in[0].shape(d))
      where = std::to_string(lane % in[0].shape(d)) + (where.empty() ? "" : ", ") + where;
    fail<ValueError>(fx::formatted(message, values), where.empty() ? "" : " (lane " + where + " of vmap)");
  }
  Arrays vjp(const Vjp& v) const { return Arrays(v.in.size()); }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    Arrays a;
    for (auto& m : in) a.push_back(b.front(m));
    return {{call_one(Check{message, lanes + 1}, a), -1}};
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    Arrays a;
    for (auto& x : in) a.push_back(s.reshard(x, Spec::replicated(x.spec.size())).local);
    auto y = call_one(*this, a);
    return {{{y, y.type(), Spec{}}}};
  }
  static SamplesOf<Check> samples() {  // no element: laws try the opposite condition too
    return {{{"is {}", 0}, {values({0}, {}, boolean), random_values({2, 3}, -1, 1, 1)}}};
  }
};
}  // namespace
}  // namespace ops

namespace fx {
Arrays observe(std::function<void(const Arrays&)> see, const Arrays& observed) {
  auto in = observed;
  in.insert(in.end(), observed.begin(), observed.end());
  return call(ops::Observe{ops::Eye(std::move(see)), here().in_blocks}, in);
}
namespace {
std::vector<std::string> pieces(std::string_view format) {
  std::vector<std::string> r;
  for (auto at = format.find("{}"); at != std::string_view::npos; at = format.find("{}")) {
    r.emplace_back(format.substr(0, at));
    format.remove_prefix(at + 2);
  }
  r.emplace_back(format);
  return r;
}
}  // namespace
static void check_places_of(std::string_view function, std::string_view format, std::size_t n) {
  auto places = pieces(format).size() - 1;
  check<ValueError>(places == n, function, ": '", format, "' has ", places, " {} but is given ", n,
                    n == 1 ? " value" : " values");
}
void check_places(std::string_view format, std::size_t n) { check_places_of("debug::print", format, n); }
std::string formatted(const std::string& format, const Arrays& values) {
  auto text = pieces(format);
  std::ostringstream line;
  for (std::size_t k = 0; k < text.size(); ++k) {
    line << text[k];
    if (k < values.size()) line << to_string(values[k]);
  }
  return line.str();
}
void print_formatted(const std::string& format, const Arrays& values) {
  std::cout << formatted(format, values) + '\n' << std::flush;
}
void check_flat(const Array& condition, std::string_view message, const Arrays& values) {
  check_places_of("debug::check", message, values.size());
  check<DtypeError>(condition.dtype() == boolean, "debug::check: the condition must be boolean, got ",
                    condition.type());
  Arrays in{condition};
  in.insert(in.end(), values.begin(), values.end());
  (void)call(ops::Check{std::string(message), 0}, in);
}
}  // namespace fx
void debug::nans(bool on) { stop_at_nan(on); }
}  // namespace bora
