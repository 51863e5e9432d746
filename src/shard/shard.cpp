// What users ask of sharded arrays.
#include "bora/shard/shard.h"
#include <algorithm>
#include <iomanip>
#include "bora/base/parallel.h"
#include "shard/interpreter.h"

namespace bora {
namespace {
/// The Shard interpreter in force, or ShardError.
Shard& in_force(std::string_view what) {
  auto* s = nearest<Shard>();
  check<ShardError>(s != nullptr, what, ": no mesh is active; open one with UseMesh or local_mesh");
  return *s;
}
Spec padded(Spec s, std::size_t n) {
  s.resize(std::max(n, s.size()));
  return s;
}
std::string bytes_text(double b) {
  std::ostringstream o;
  const char* unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int k = 0;
  while (b >= 1024 && k < 4) {
    b /= 1024;
    ++k;
  }
  o << std::fixed << std::setprecision(k ? 1 : 0) << b << " " << unit[k];
  return o.str();
}
}  // namespace

Array shard(const Array& x, const Spec& spec) {
  (void)in_force("shard");
  return with_sharding_constraint(x, spec);
}
Array from_local_block(const Array& block, const Shape& global_shape, const Spec& spec) {
  auto& s = in_force("from_local_block");
  check<TraceError>(current() == &s, "from_local_block: call it outside of transforms");
  auto full = padded(spec, global_shape.size());
  check<ShardError>(full.size() == global_shape.size(), "from_local_block: Spec", spec, " has more entries than ", global_shape, " has dimensions");
  auto want = s.local_shape(global_shape, full);
  check<ShapeError>(block.shape() == want, "from_local_block: this rank's block of ", global_shape, " under Spec", spec, " is ", want, ", got ", block.shape());
  return s.wrap({block.concrete(), {global_shape, block.dtype()}, full});
}
Array gather(const Array& x) { return x.concrete(); }
Spec Array::spec() const { return spec_of(*this); }
Spec spec_of(const Array& x) {
  auto* s = nearest<Shard>();
  return s ? s->view(x).spec : Spec::replicated(static_cast<std::size_t>(x.ndim()));
}
LocalBlock local_block(const Array& x) {
  auto* s = nearest<Shard>();
  if (!s) return {x.concrete(), x.shape(), Dims(static_cast<std::size_t>(x.ndim()), 0), Spec::replicated(static_cast<std::size_t>(x.ndim()))};
  Within w(s->parent);
  auto v = s->resolve(s->real(s->view(x)));
  Dims begin;
  for (std::size_t d = 0; d < v.spec.size(); ++d) begin.push_back(block_of(v.type.shape[d], s->mesh().parts(v.spec[d]), s->mesh().part(s->rank(), v.spec[d])).begin);
  return {v.local.concrete(), v.type.shape, begin, v.spec};
}
std::string visualize_sharding(const Array& x) {
  auto* s = nearest<Shard>();
  check<ShapeError>(x.ndim() <= 2, "visualize_sharding: draws arrays of 1 or 2 dimensions, got ", x.type());
  if (!s) return to_string(x.type()) + ": one process, not split\n";
  auto v = s->view(x);
  auto& m = s->mesh();
  auto rows = x.ndim() == 2 ? v.spec[0] : MeshAxes{}, columns = x.ndim() == 0 ? MeshAxes{} : v.spec[static_cast<std::size_t>(x.ndim() - 1)];
  std::vector<std::vector<std::string>> cell(static_cast<std::size_t>(m.parts(rows)), std::vector<std::string>(static_cast<std::size_t>(m.parts(columns))));
  std::size_t width = 4;
  for (int r = 0; r < m.size(); ++r) {
    auto& c = cell[static_cast<std::size_t>(m.part(r, rows))][static_cast<std::size_t>(m.part(r, columns))];
    c += (c.empty() ? "rank " : ",") + std::to_string(r);
    width = std::max(width, c.size());
  }
  std::string line = "+", text;
  for (std::size_t c = 0; c < cell[0].size(); ++c) line += std::string(width + 2, '-') + "+";
  text = describe(v) + "\n" + line + "\n";
  for (auto& row : cell) {
    text += "|";
    for (auto& c : row) {
      auto left = (width - c.size()) / 2;
      text += " " + std::string(left, ' ') + c + std::string(width - c.size() - left, ' ') + " |";
    }
    text += "\n" + line + "\n";
  }
  return text;
}
namespace fx {
Arrays shard_map_flat(const FlatFn& f, const Arrays& in, const std::vector<Spec>& in_specs,
                      const std::function<std::vector<Spec>(const Arrays&)>& specs_of) {
  check<ShardError>(in.size() == in_specs.size(), "shard_map: ", in.size(), " arrays, but ", in_specs.size(), " Specs");
  auto& mesh = this_mesh("shard_map");
  Arrays local;
  for (std::size_t i = 0; i < in.size(); ++i) local.push_back(to_local(in[i], in_specs[i]));
  auto out = f(local);
  auto out_specs = specs_of(out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto& spec = out_specs[i];
    auto shape = out[i].shape();
    check<ShardError>(spec.size() <= shape.size(), "shard_map: out Spec", spec, " has ", spec.size(), " entries, but f returned ", out[i].type());
    for (std::size_t d = 0; d < spec.size(); ++d) {
      auto parts = mesh.parts(spec[d]);
      if (parts == 1) continue;
      // A ragged input split the same way tells the global size; otherwise every rank has as much as this one.
      std::int64_t n = shape[d] * parts;
      for (std::size_t k = 0; k < in.size(); ++k)
        for (std::size_t e = 0; e < in_specs[k].size(); ++e)
          if (in_specs[k][e] == spec[d] && block_of(in[k].shape()[e], parts, mesh.part(here().rank, spec[d])).size() == shape[d] && in[k].shape()[e] % parts != 0) n = in[k].shape()[e];
      shape[d] = n;
    }
    out[i] = to_global(out[i], shape, spec);
  }
  return out;
}
ProgramPtr local_program(const ProgramPtr& p, const Arrays& in) {
  auto* s = nearest<Shard>();
  if (!s) return p;
  std::vector<Sharded> v;
  for (auto& a : in) v.push_back(s->view(a));
  Within w(s->parent);
  return shard_program(p, v, *s).program;
}
}  // namespace fx

std::string explain_program(const ProgramPtr& p, const Arrays& in) {
  auto local = fx::local_program(p, in);
  auto e = executable(local);
  auto& i = e->info();
  std::ostringstream o;
  if (auto* s = nearest<Shard>()) o << "mesh " << to_string(s->mesh()) << ", rank " << s->rank() << "\n";
  o << "inputs " << bytes_text(static_cast<double>(i.input_bytes)) << ", outputs " << bytes_text(static_cast<double>(i.output_bytes)) << ", temporaries "
    << bytes_text(static_cast<double>(i.slab_bytes)) << ", " << i.flops / 1e9 << " GFLOP, " << i.kernels << " kernels (" << i.fused << " fused)\n";
  for (auto& c : i.collective_uses) o << "  " << c.times << " x " << c.what << ", " << bytes_text(static_cast<double>(c.bytes)) << " each\n";
  o << e->explain();
  return o.str();
}
}  // namespace bora
