// JAX's compiled programs as an oracle (tests/golden/make_jax_sharding.py): Bora sends no more bytes, does no more work
// and gives one rank's values. JAX is none for values: it has known wrong ones on meshes of CPUs.
#include <cstdio>
#include <set>
#include "bora/shard/abstract.h"
#include "compile/api/executable.h"
#include "laws/jax_sharding_programs.h"
#include "support/golden.h"

namespace bora::laws::jax_sharding_test {
namespace {
using namespace jax_sharding;
struct Input {
  Array value;
  Spec spec;
};
struct Row {
  std::string name, mesh_name;
  std::vector<MeshAxis> mesh;
  std::vector<Input> in;
  std::vector<Spec> out;
  FlatFn f;
  double flops_of_one = 0, flops = 0, bytes = 0;
  std::string kinds;
  std::string what() const { return name + " on " + mesh_name; }
  bool two_axes() const { return mesh.size() > 1; }
};
/// "data*model/-": the axes of each dimension; "." of a scalar.
Spec spec_from(const std::string& text) {
  Spec s;
  if (text == ".") return s;
  for (auto& d : test::parts(text + "/", '/')) {
    MeshAxes axes;
    if (d != "-")
      for (auto& a : test::parts(d, '*')) axes.push_back(AxisName(a));
    s.push_back(axes);
  }
  return s;
}
/// "f32[64,32]data/-" with numbers that every program takes: positions below 16, small real numbers.
Input input_from(const std::string& text, int seed) {
  auto open = text.find('['), close = text.find(']');
  auto dtype = text.substr(0, open);
  auto spec = spec_from(text.substr(close + 1));
  if (dtype == "key") return {random::key(3), spec};
  Shape shape;
  for (auto n : test::numbers(text.substr(open + 1, close - open - 1))) shape.push_back(n);
  if (dtype == "f32") return {rnd(shape, seed).astype(f32), spec};
  std::vector<std::int32_t> ids(static_cast<std::size_t>(volume(shape)));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * 7 + 3) % 16);
  return {asarray(ids, shape), spec};
}
const std::vector<Row>& rows() {
  static const auto all = [] {
    std::vector<Row> r;
    for (auto& line : test::golden_lines("jax_sharding.txt")) {
      Row row;
      row.name = line.name, row.mesh_name = line.parameters[0];
      auto sizes = test::numbers(row.mesh_name, 'x');
      row.mesh.push_back({"data", static_cast<int>(sizes[0])});
      if (sizes.size() > 1) row.mesh.push_back({"model", static_cast<int>(sizes[1])});
      auto arrow = std::find(line.parameters.begin(), line.parameters.end(), "->");
      for (auto p = line.parameters.begin() + 1; p != arrow; ++p)
        row.in.push_back(input_from(*p, static_cast<int>(row.in.size()) + 1));
      std::vector<std::string> steps;
      for (auto p = arrow + 1; p != line.parameters.end(); ++p) {
        bool is_spec = p == arrow + 1 || (!line.name.starts_with("random_"));
        if (is_spec) row.out.push_back(spec_from(*p));
        else steps.push_back(*p);
      }
      Axes axes{"data", "data", none};
      if (row.two_axes()) axes = {{"data", "model"}, "data", "model"};
      row.f = steps.empty() ? named_program(row.name, axes) : of_steps(steps);
      row.flops_of_one = std::stod(line.values[0]);
      row.flops = std::stod(line.values[1]);
      row.bytes = std::stod(line.values[2]);
      for (std::size_t k = 3; k < line.values.size(); ++k) row.kinds += " " + line.values[k];
      r.push_back(row);
    }
    return r;
  }();
  return all;
}
/// The program with results placed as JAX's are.
FlatFn placed_results(const Row& r) {
  return [&r](const Arrays& in) {
    auto y = r.f(in);
    for (std::size_t k = 0; k < y.size(); ++k) y[k] = with_sharding_constraint(y[k], r.out.at(k));
    return y;
  };
}
Arrays placed_inputs(const Row& r) {
  Arrays in;
  for (auto& x : r.in) in.push_back(with_sharding_constraint(x.value, x.spec));
  return in;
}
struct Work {
  double flops = 0, bytes = 0;
  std::string kinds;
};
/// Of the busier of the first and the last rank.
Work work_of(const Row& r, const std::vector<MeshAxis>& mesh) {
  int ranks = 1;
  for (auto& a : mesh) ranks *= a.size;
  Work w;
  for (int rank = 0; rank < ranks; rank += std::max(1, ranks - 1)) {
    auto abstract = Mesh::abstract(mesh, {}, rank);
    UseMesh on(abstract);
    auto in = placed_inputs(r);
    auto staged = stage(placed_results(r), types_of(in));
    auto e = executable(fx::local_program(staged.program, laws::joined(in, staged.captures)));
    auto& i = e->info();
    double bytes = 0;
    std::string kinds;
    for (auto& u : i.collective_uses) {
      bytes += static_cast<double>(u.received * u.times);
      kinds += " " + std::to_string(u.times) + " x " + u.what + ";";
    }
    w.flops = std::max(w.flops, i.flops);
    if (rank == 0 || bytes > w.bytes) w.bytes = bytes, w.kinds = kinds;
  }
  return w;
}
/// What Bora does worse than JAX on some mesh, and why. The law fails where one of them no longer does.
struct Exception {
  std::string_view what;  // bytes or flops
  std::vector<std::string_view> names;
  std::string_view why;
};
const std::vector<Exception>& exceptions() {
  static const std::vector<Exception> all{
      {"bytes", {"matmul_weights", "random_11", "random_15", "random_16", "random_20", "random_23", "random_28"},
       "a product whose operands are split otherwise keeps the split of the larger one: the smaller one is gathered, "
       "or the result is summed, where gathering the other operand would send less"},
      {"bytes", {"random_1", "random_3", "random_12", "random_14"},
       "on 2x2: a dimension that is split over both axes gathers where one of them moves to another dimension"},
      {"bytes", {"diff"}, "blocks are ragged, not padded: 63 of 64 rows have other bounds on the way there and back"},
      {"bytes", {"random_21"}, "the gradient of a row is a pending sum that is padded before it is completed"},
      {"bytes", {"random_26"}, "a matrix and its transpose are gathered each"},
      {"flops", {"random_4", "random_12"},
       "elementwise work on a completed sum is whole on every rank, as in JAX, which counts fewer operations"},
  };
  return all;
}
using Seen = std::set<std::pair<std::string_view, std::string_view>>;
bool excepted(const Row& r, std::string_view what, Seen& used) {
  for (auto& e : exceptions())
    for (auto& name : e.names)
      if (name == r.name && e.what == what) {
        used.insert({what, name});
        return true;
      }
  return false;
}
TEST(JaxSharding, BoraSendsAndComputesNoMore) {
  double ours = 0, theirs = 0, ours_flops = 0, theirs_flops = 0;
  std::string fewer;
  std::size_t better = 0, equal = 0;
  Seen used;
  for (auto& r : rows()) {
    ASSERT_TRUE(r.f) << "no program " << r.name;
    SCOPED_TRACE(r.what());
    std::vector<MeshAxis> alone = r.mesh;
    for (auto& a : alone) a.size = 1;
    auto one = work_of(r, alone), mine = work_of(r, r.mesh);
    ours += mine.bytes, theirs += r.bytes;
    ours_flops += mine.flops, theirs_flops += r.flops;
    if (mine.bytes > r.bytes && !excepted(r, "bytes", used))
      ADD_FAILURE() << r.what() << ": " << mine.bytes << " bytes by" << mine.kinds << " JAX " << r.bytes << " by"
                    << r.kinds;
    // JAX counts some operations otherwise: its share of one device's work counts too.
    auto share = r.flops_of_one > 0 ? r.flops / r.flops_of_one : 1;
    auto most = std::max(r.flops, one.flops * share) * 1.01 + 1000;
    if (mine.flops > most && !excepted(r, "flops", used))
      ADD_FAILURE() << r.what() << ": " << mine.flops << " flops of " << one.flops << ", JAX " << r.flops << " of "
                    << r.flops_of_one << "; by" << mine.kinds;
    if (mine.bytes < r.bytes) {
      ++better;
      fewer += "  " + r.what() + ": " + std::to_string(static_cast<long>(mine.bytes)) + " for " +
               std::to_string(static_cast<long>(r.bytes)) + "\n";
    }
    equal += mine.bytes == r.bytes;
  }
  for (auto& e : exceptions())
    for (auto& name : e.names)
      EXPECT_TRUE(used.count({e.what, name})) << name << ", " << e.what << ": the exception is no longer needed";
  std::printf("%zu programs on meshes: %.0f bytes a rank for JAX's %.0f, %.0f flops for %.0f; as many bytes in %zu, "
              "fewer in %zu:\n%s", rows().size(), ours, theirs, ours_flops, theirs_flops, equal, better, fewer.c_str());
}
class JaxShardingValues : public testing::TestWithParam<std::string> {};
TEST_P(JaxShardingValues, AreThoseOfOneRank) {
  for (auto& r : rows()) {
    if (r.mesh_name != GetParam()) continue;
    std::vector<MeshAxis> alone = r.mesh;
    for (auto& a : alone) a.size = 1;
    Arrays want;
    local_mesh(alone, [&](const Mesh&) { want = gathered(r.f(placed_inputs(r))); });
    local_mesh(r.mesh, [&](const Mesh&) {
      auto y = jit(placed_results(r))(placed_inputs(r));
      for (std::size_t k = 0; k < y.size(); ++k) EXPECT_EQ(spec_of(y[k]), r.out[k]) << r.what();
      close(gathered(y), want, 1e-4, r.what());
    });
  }
}
INSTANTIATE_TEST_SUITE_P(Laws, JaxShardingValues, testing::Values("2", "4", "2x2"),
                         [](auto& info) { return "Mesh" + info.param; });
}  // namespace
}  // namespace bora::laws::jax_sharding_test
