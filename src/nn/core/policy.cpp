#include "bora/nn/policy.h"
#include <set>
#include "bora/base/error.h"

namespace bora {
namespace {
Dtype computing_dtype(std::string_view name) {
  auto d = parse_dtype(name);
  check<DtypeError>(is_float(d) && dtype_size(d) > 1, "models compute in floating dtypes of 16 bits or more, not in ",
                    d);
  return d;
}
}  // namespace
Policy Policy::parse(std::string_view text) {
  Policy p;
  if (text.find('=') == std::string_view::npos) {
    try {
      p.parameter = p.compute = p.output = computing_dtype(text);
    } catch (const DtypeError& e) {
      fail<ConfigError>("policy '", text, "': ", e.text(), "; write f32, or p=f32,c=bf16,o=f32");
    }
    return p;
  }
  std::set<const Dtype*> given;
  while (!text.empty()) {
    auto comma = text.find(',');
    auto item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    auto equals = item.find('=');
    check<ConfigError>(equals != std::string_view::npos, "policy: '", item, "' is not of the form p=f32");
    auto name = item.substr(0, equals);
    Dtype d;
    try {
      d = computing_dtype(item.substr(equals + 1));
    } catch (const DtypeError& e) { fail<ConfigError>("policy: '", item, "': ", e.text()); }
    Dtype* part = name == "p" || name == "params" || name == "parameter" ? &p.parameter
                  : name == "c" || name == "compute"                       ? &p.compute
                  : name == "o" || name == "output"                        ? &p.output
                                                                           : nullptr;
    check<ConfigError>(part != nullptr, "policy: '", name, "' is none of p (parameter), c (compute), o (output)");
    check<ConfigError>(given.insert(part).second, "policy: '", name, "' is given twice");
    *part = d;
  }
  return p;
}
std::string to_string(const Policy& p) {
  return "p=" + std::string(dtype_name(p.parameter)) + ",c=" + std::string(dtype_name(p.compute)) +
         ",o=" + std::string(dtype_name(p.output));
}
}  // namespace bora
