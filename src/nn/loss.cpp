#include "bora/nn/loss.h"
#include <limits>

namespace bora::nn {
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets) {
  auto s = scores.astype(f32);
  auto& axis = s.axes()[static_cast<std::size_t>(s.position(vocab))];
  // The target's score as a masked sum: one pass over the row together with logsumexp, forward and backward, and split rows stay split.
  auto hit = broadcast_to(arange(axis), Axes(s.axes())) == broadcast_to(targets.astype(i32), Axes(s.axes()));
  auto loss = logsumexp(s, vocab) - sum(where(hit, s, 0), AxisNames(axis));
  auto valid = targets >= 0 && targets < axis.size;
  return where(aligned(valid, loss.axes()), loss, std::numeric_limits<double>::quiet_NaN());
}
}  // namespace bora::nn
namespace bora {
Policy Policy::parse(std::string_view text) {
  Policy p;
  if (text.find('=') == std::string_view::npos) {
    try {
      p.parameter = p.compute = p.output = parse_dtype(text);
    } catch (const DtypeError& e) {
      fail<ConfigError>("policy '", text, "': ", e.text(), "; write f32, or p=f32,c=bf16,o=f32");
    }
    check<ConfigError>(is_float(p.parameter), "policy '", text, "': not a floating dtype");
    return p;
  }
  while (!text.empty()) {
    auto comma = text.find(',');
    auto item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    auto equals = item.find('=');
    check<ConfigError>(equals != std::string_view::npos, "policy: '", item, "' is not of the form p=f32");
    auto name = item.substr(0, equals);
    Dtype d;
    try {
      d = parse_dtype(item.substr(equals + 1));
    } catch (const DtypeError& e) { fail<ConfigError>("policy: '", item, "': ", e.text()); }
    check<ConfigError>(is_float(d), "policy: '", item, "': not a floating dtype");
    if (name == "p" || name == "params" || name == "parameter") p.parameter = d;
    else if (name == "c" || name == "compute") p.compute = d;
    else if (name == "o" || name == "output") p.output = d;
    else fail<ConfigError>("policy: '", name, "' is none of p (parameter), c (compute), o (output)");
  }
  return p;
}
std::string to_string(const Policy& p) {
  return "p=" + std::string(dtype_name(p.parameter)) + ",c=" + std::string(dtype_name(p.compute)) +
         ",o=" + std::string(dtype_name(p.output));
}
}  // namespace bora
