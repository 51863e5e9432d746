#include "bora/array/params.h"
#include "bora/base/wire.h"

namespace bora::param_rules {
void no_bytes() { fail<ValueError>("it holds a function of this program, which cannot be written to a file"); }
std::span<const Field> detail::no_fields(const void*) { return {}; }

std::size_t Reader::length() {
  auto n = number<std::uint64_t>();
  check<IoError>(n <= bytes_.size(), "it lists ", n, " things in ", bytes_.size(), " bytes");
  return static_cast<std::size_t>(n);
}
std::string_view Reader::take(std::size_t n) {
  check<IoError>(n <= bytes_.size(), "it ends in the middle of a value");
  auto r = bytes_.substr(0, n);
  bytes_.remove_prefix(n);
  return r;
}

void print(std::ostream& o, const void* x, const Kind& k) {
  if (k.print) return k.print(o, x);
  bool first = true;
  for (auto& f : k.fields(x)) {
    o << (first ? "" : " ") << f.name << '=';
    first = false;
    print(o, f.in(x), *f.kind);
  }
}
bool equal(const void* a, const void* b, const Kind& k) {
  if (k.equal) return k.equal(a, b);
  for (auto& f : k.fields(a))
    if (!equal(f.in(a), f.in(b), *f.kind)) return false;
  return true;
}
std::size_t hash(const void* x, const Kind& k) {
  if (k.hash) return k.hash(x);
  std::size_t h = 7;
  for (auto& f : k.fields(x)) h = hash_combine(h, hash(f.in(x), *f.kind));
  return h;
}
void write(Writer& w, const void* x, const Kind& k) {
  if (k.write) return k.write(w, x);
  for (auto& f : k.fields(x)) write(w, f.in(x), *f.kind);
}
void read(Reader& r, void* x, const Kind& k) {
  if (k.read) return k.read(r, x);
  for (auto& f : k.fields(x)) read(r, f.in(x), *f.kind);
}

template const Kind& kind<bool>();
template const Kind& kind<int>();
template const Kind& kind<std::int64_t>();
template const Kind& kind<std::uint16_t>();
template const Kind& kind<float>();
template const Kind& kind<double>();
template const Kind& kind<std::string>();
template const Kind& kind<Dims>();
template const Kind& kind<std::vector<bool>>();
template const Kind& kind<std::vector<int>>();
template const Kind& kind<std::vector<std::string>>();
template const Kind& kind<std::vector<Dims>>();
template const Kind& kind<std::optional<std::int64_t>>();
template const Kind& kind<Dtype>();
template const Kind& kind<Shape>();
template const Kind& kind<Type>();
template const Kind& kind<Types>();
template const Kind& kind<Scalar>();
template const Kind& kind<AxisName>();
template const Kind& kind<MeshAxes>();
template const Kind& kind<Spec>();
template const Kind& kind<Wire>();
template const Kind& kind<Reduction>();
template const Kind& kind<ProgramPtr>();
}  // namespace bora::param_rules
