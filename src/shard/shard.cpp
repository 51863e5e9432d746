// Public functions on sharded arrays.
#include "shard/api/shaped.h"
#include "shard/api/split.h"
#include <algorithm>
#include <sstream>
#include "bora/array/communicator.h"
#include "bora/base/parallel.h"
#include "compile/api/control.h"
#include "bora/shard/abstract.h"
#include "ops/api/blocks.h"
#include "ops/api/same_everywhere.h"
#include "shard/interpreter.h"
#include "shard/replication.h"
#include "ops/api/primitives.h"

namespace bora {
namespace {
/// The Shard interpreter in force, or ShardError.
Shard& in_force(std::string_view what) {
  auto* s = nearest<Shard>();
  check<ShardError>(s != nullptr, what, ": no mesh is active; open one with UseMesh or local_mesh");
  return *s;
}
/// This rank's part of x; under a derivative, of the value at which it is taken.
Sharded held(std::string_view what, const Shard& s, Array x) {
  (void)x.type();  // throws for an empty Array
  while (auto* primal = x.get()->primal_value()) x = Array(*primal);
  bool whole = is_buffer(x) || (on_abstract_mesh() && s.parent->owns(x));
  check<TraceError>(
      whole || s.owns(x), what, ": ", [&] { return x.get()->describe(); },
      " has no known Spec here: a traced value gets one when its Program is partitioned, and one of "
      "another mesh ended with it");
  return s.view(x);
}
Spec padded(Spec s, std::size_t n) {
  s.resize(std::max(n, s.size()));
  return s;
}
}  // namespace

Array shard(const Array& x, const Spec& spec, const ShardOptions& options) {
  auto& s = in_force("shard");
  for (auto& axes : spec) (void)s.mesh().parts(axes);  // throws for what is no place
  return ops::placed("shard", x, spec, {}, options.compare_up_to);
}
Array from_local_block(const Array& block, const Shape& global_shape, const Spec& spec) {
  auto& s = in_force("from_local_block");
  check<TraceError>(current() == &s, "from_local_block: call it outside of transforms");
  auto full = padded(spec, global_shape.size());
  check<ShardError>(full.size() == global_shape.size(), "from_local_block: Spec", spec, " has more entries than ",
                    global_shape, " has dimensions");
  auto want = s.local_shape(global_shape, full);
  check<ShapeError>(block.shape() == want, "from_local_block: this rank's block of ", global_shape, " under Spec", spec,
                    " is ", want, ", got ", block.shape());
  return s.wrap({block.concrete(), {global_shape, block.dtype()}, full});
}
Array gather(const Array& x) { return x.concrete(); }
bool fx::is_split(const Array& x) {
  auto* s = nearest<Shard>();
  if (!s || !s->owns(x)) return false;
  auto v = s->view(x);
  return !v.spec.trivial() || !v.partial.empty() || v.moved;
}
Spec Array::spec() const { return spec_of(*this); }
Spec spec_of(const Array& x) {
  auto* s = nearest<Shard>();
  return s ? held("spec", *s, x).spec : Spec::replicated(static_cast<std::size_t>(x.ndim()));
}
LocalBlock local_block(const Array& x) {
  if (x.defined() && x.get()->primal_value()) (void)x.concrete();  // throws: its numbers carry a derivative
  auto* s = nearest<Shard>();
  if (!s)
    return {x.concrete(), x.shape(), Dims(static_cast<std::size_t>(x.ndim()), 0),
            Spec::replicated(static_cast<std::size_t>(x.ndim()))};
  Within w(s->parent);
  auto v = held("local_block", *s, x);
  About about([&] { return Origin::joined({s->origin(x), Origin::of({describe(v)})}); });
  v = s->resolve(s->real(v));
  Dims begin;
  for (std::size_t d = 0; d < v.spec.size(); ++d)
    begin.push_back(s->mesh().block_of_rank(v.type.shape[d], v.spec[d], s->rank()).begin);
  return {v.local.concrete(), v.type.shape, begin, v.spec};
}
std::string visualize_sharding(const Array& x) {
  auto* s = nearest<Shard>();
  check<ShapeError>(x.ndim() <= 2, "visualize_sharding: draws arrays of 1 or 2 dimensions, got ", x.type());
  if (!s) return to_string(x.type()) + ": one process, not split\n";
  auto v = held("visualize_sharding", *s, x);
  auto& m = s->mesh();
  auto rows = x.ndim() == 2 ? v.spec[0] : MeshAxes{},
       columns = x.ndim() == 0 ? MeshAxes{} : v.spec[static_cast<std::size_t>(x.ndim() - 1)];
  std::vector<std::vector<std::string>> cell(static_cast<std::size_t>(m.parts(rows)),
                                             std::vector<std::string>(static_cast<std::size_t>(m.parts(columns))));
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
namespace {
/// Code in its scope works on blocks.
struct InBlocks {
  InBlocks() { here().in_blocks = true; }
  ~InBlocks() { here().in_blocks = false; }
  InBlocks(const InBlocks&) = delete;
  InBlocks& operator=(const InBlocks&) = delete;
};
void check_speaks_of_blocks(const Program& p) {
  for (auto& i : p.code) {
    auto* bits = as<ops::RandomBits>(i.primitive);
    bool global = i.primitive->traits.enters_shard && !i.primitive->traits.holds && !(bits && bits->spec.trivial());
    check<ShardError>(!global, bits ? "a draw with a Spec" : i.primitive->name(),
                      " inside shard_map: there values are this rank's blocks; place global arrays outside of it");
    for (auto& held : i.primitive->programs()) check_speaks_of_blocks(*held);
  }
}
/// The shapes of the arrays that these blocks make up, from every rank's blocks.
std::vector<Shape> global_shapes(const Types& local, const std::vector<OutSpec>& specs, const std::string& arguments,
                                 const MeshShape& mesh) {
  auto* talk = here().communicator;
  check<ShardError>(talk != nullptr, "shard_map: this thread is not a rank of a mesh");
  constexpr char kEnd = '\x1d';  // between the arguments and the results
  auto mine = arguments + kEnd;
  for (auto& t : local) {
    mine += std::string(dtype_name(t.dtype));
    for (auto n : t.shape) mine += " " + std::to_string(n);
    mine += "\n";
  }
  std::vector<std::vector<Dims>> sizes;  // rank, result, dimension
  auto all = mesh.size() == 1 ? std::vector<std::string>{mine} : talk->exchange(mine, "shard_map");
  std::vector<std::string> given;
  for (auto& text : all) given.push_back(text.substr(0, text.find(kEnd)));
  check_agreement(given, "shard_map: the ranks' arguments",
                  "they must be arrays of the same global shapes and dtypes (do the ranks' data differ in length?)");
  for (auto& text : all) {
    sizes.emplace_back();
    std::istringstream lines(text.substr(text.find(kEnd) + 1));
    for (std::string line, dtype; std::getline(lines, line);) {
      std::istringstream words(line);
      words >> dtype;
      sizes.back().emplace_back();
      for (std::int64_t n; words >> n;) sizes.back().back().push_back(n);
      auto k = sizes.back().size() - 1;
      check<ShardError>(
          k < local.size() && dtype == dtype_name(local[k].dtype) && sizes.back()[k].size() == local[k].shape.size(),
          "shard_map: result ", k, " is ", [&] { return k < local.size() ? to_string(local[k]) : "missing"; },
          " on this rank and ", dtype, to_string(sizes.back()[k]), " on another");
    }
    check<ShardError>(sizes.back().size() == local.size(), "shard_map: the ranks return different numbers of results");
  }
  std::vector<Shape> r;
  for (std::size_t k = 0; k < local.size(); ++k) {
    auto& spec = specs[k].spec;
    check<ShardError>(spec.size() <= local[k].shape.size(), "shard_map: out Spec", spec, " has ", spec.size(),
                      " entries, but f returned ", local[k]);
    Shape shape = local[k].shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      auto axes = d < spec.size() ? spec[d] : MeshAxes{};
      Dims blocks(static_cast<std::size_t>(mesh.parts(axes)), -1);
      auto block = [&](int rank) -> std::int64_t& { return blocks[static_cast<std::size_t>(mesh.part(rank, axes))]; };
      for (int rank = 0; rank < mesh.size(); ++rank) {
        auto n = sizes[static_cast<std::size_t>(rank)][k][d];
        check<ShardError>(block(rank) < 0 || block(rank) == n, "shard_map: result ", k, " has ", block(rank), " and ",
                          n, " elements along dimension ", d, " on ranks that hold the same part of it (out Spec", spec,
                          ")");
        block(rank) = n;
      }
      std::int64_t n = 0;
      for (auto b : blocks) n += b;
      for (int part = 0; part < mesh.parts(axes); ++part)
        check<ShardError>(blocks[static_cast<std::size_t>(part)] == mesh.block(n, axes, part).size(),
                          "shard_map: result ", k, ": the ranks' parts along dimension ", d, " have ", blocks,
                          " elements, which is not how an array of ", n, " is split over ", axes);
      shape[d] = n;
    }
    r.push_back(shape);
  }
  return r;
}
/// Throws if a result that should be the same on all ranks of an axis may differ between them.
void check_replicated(const Program& body, const std::vector<Spec>& in, const std::vector<OutSpec>& out,
                      const MeshShape& mesh) {
  auto axes_of = [&](const Spec& s) {
    MeshAxes r;
    for (auto& d : s) r.append(d);
    (void)mesh.parts(r);  // throws for an axis that does not exist
    return r;
  };
  std::vector<Same> same;
  for (auto& s : in) same.push_back(same_over_all_but(axes_of(s), mesh));
  same.resize(body.in.size(), ~Same{0});  // f's captures are whole on every rank
  auto has = same_results(body, same, mesh);
  for (std::size_t k = 0; k < has.size(); ++k) {
    auto missing = same_over_all_but(axes_of(out[k].spec), mesh) & ~has[k];
    MeshAxes differs;
    for (std::size_t i = 0; i < mesh.axes.size(); ++i)
      if (missing >> i & 1) differs.push_back(mesh.axes[i].first);
    if (differs.empty()) continue;
    auto type = body.vars[static_cast<std::size_t>(body.out[k])];
    fail<ShardError>("shard_map: ", out[k].path.empty() ? "the result" : "result '" + out[k].path + "'", " (", type,
                     ") may differ between the ranks of ", differs.size() > 1 ? "axes " : "axis ", differs,
                     ", but its out Spec", out[k].spec, " says that it is the same on all of them; combine it inside "
                     "(psum, pmean, pmax or all_gather over ", differs, "), or name the axis in the out Spec; where it "
                     "is the same for a reason that the operations do not show: shard_map(f, mesh, in, out, {.check = "
                     "false})");
  }
}
void add_named(const Program& p, MeshAxes& named) {
  for (auto& i : p.code) {
    named.append(i.primitive->named_axes());
    for (auto& held : i.primitive->programs()) add_named(*held, named);
  }
}
/// The mesh axes that neither a Spec nor anything in the body names.
MeshAxes unused_axes(const Program& body, const std::vector<Spec>& in, const std::vector<OutSpec>& out,
                     const MeshShape& mesh) {
  MeshAxes named, unused;
  auto add = [&](const Spec& s) {
    for (auto& d : s) named.append(d);
  };
  for (auto& s : in) add(s);
  for (auto& o : out) add(o.spec);
  add_named(body, named);
  for (auto& axis : mesh.axes)
    if (!named.has(axis.first)) unused.push_back(axis.first);
  return unused;
}
/// The results' shapes from what this rank has: the Program of f and facts about the arguments.
using ShapesOf = std::function<std::vector<Shape>(const Program&, const std::vector<OutSpec>&, const std::string&)>;
/// f is staged to find its captures: each becomes an argument that every rank has whole, whose gradient is summed over
/// the ranks.
Arrays mapped(const FlatFn& f, const Arrays& in, const std::vector<Spec>& in_specs,
              const std::function<std::vector<OutSpec>()>& specs_of, const ShardMapOptions& options,
              const ShapesOf& shapes_of) {
  check<ShardError>(in.size() == in_specs.size(), "shard_map: ", in.size(), " arrays, but ", in_specs.size(), " Specs");
  auto& mesh = this_mesh("shard_map");
  check<ShardError>(!here().in_blocks, "shard_map inside shard_map: there values are this rank's blocks already");
  Arrays local, inputs;
  Stage stage(current(), true);
  for (std::size_t i = 0; i < in.size(); ++i) inputs.push_back(stage.input(local_type(in[i], in_specs[i])));
  std::vector<OutSpec> out_specs;
  ProgramPtr body;
  {
    Within w(&stage);
    InBlocks blocks;
    auto out = f(inputs);
    out_specs = specs_of();
    body = stage.finish(out);
  }
  check_speaks_of_blocks(*body);
  if (options.check) check_replicated(*body, in_specs, out_specs, mesh);
  auto unused = unused_axes(*body, in_specs, out_specs, mesh);
  for (std::size_t i = 0; i < in.size(); ++i) local.push_back(to_local(in[i], in_specs[i], unused));
  for (auto& closed_over : stage.captures) local.push_back(to_local(closed_over, Spec{}, unused));
  std::vector<Sharded> given;
  for (std::size_t i = 0; i < in.size(); ++i) given.push_back({{}, in[i].type(), in_specs[i]});
  for (auto& closed_over : stage.captures) given.push_back({{}, closed_over.type(), {}});
  auto shapes = shapes_of(*body, out_specs, facts_of("argument", said_of(given, Whole::same)));
  auto out = interpret(*body, local);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_global(out[i], shapes[i], out_specs[i].spec, {}, unused);
  return out;
}
}  // namespace
Arrays shard_map_flat(const FlatFn& f, const Arrays& in, const std::vector<Spec>& in_specs,
                      const std::function<std::vector<OutSpec>()>& specs_of, const ShardMapOptions& options) {
  return mapped(f, in, in_specs, specs_of, options,
                [](const Program& body, const std::vector<OutSpec>& out_specs, std::string agreed) {
                  for (auto& o : out_specs)
                    agreed += fact("the out Spec of " + (o.path.empty() ? "the result" : o.path) + " is",
                                   to_string(o.spec));
                  return global_shapes(body.out_types(), out_specs, agreed, this_mesh("shard_map"));
                });
}
Arrays shard_map_shaped(const FlatFn& f, const Arrays& in, const std::vector<Spec>& in_specs,
                        const std::vector<Shape>& shapes, const std::vector<Spec>& specs) {
  auto specs_of = [&] {
    std::vector<OutSpec> r;
    for (auto& s : specs) r.push_back({"", s});
    return r;
  };
  return mapped(f, in, in_specs, specs_of, {},
                [&](const Program& body, const std::vector<OutSpec>&, const std::string&) {
                  auto types = body.out_types();
                  check<ShardError>(types.size() == shapes.size(), "shard_map_shaped: ", types.size(), " results, but ",
                                    shapes.size(), " shapes");
                  auto* s = nearest<Shard>();
                  for (std::size_t k = 0; s && k < shapes.size(); ++k) {
                    auto want = s->local_shape(shapes[k], padded(specs[k], shapes[k].size()));
                    check<ShardError>(types[k].shape == want, "shard_map_shaped: result ", k, " is ", types[k],
                                      " on this rank, whose block of ", shapes[k], " under Spec", specs[k], " is ",
                                      want);
                  }
                  return shapes;
                });
}
ProgramPtr local_program(const ProgramPtr& p, const Arrays& in) {
  check<TraceError>(in.size() == p->in.size(), "the Program takes ", p->in.size(), " arrays, got ", in.size(),
                    "; the last are those that the function makes or closes over: pass jit(f).inputs(arguments..)");
  auto* s = nearest<Shard>();
  if (!s) return p;
  std::vector<Sharded> v;
  for (auto& a : in) v.push_back(s->view(a));
  Within w(s->parent);
  return shard_program(p, v, *s).program;
}
}  // namespace fx
}  // namespace bora
