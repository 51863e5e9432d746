// Adapters in a run's checkpoint: only those that the settings add to the base are read.
#include <gtest/gtest.h>
#include <filesystem>
#include "bora/io/checkpoint.h"
#include "bora/job/job.h"
#include "bora/job/trained_run.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace bora::job::adapters_test {
namespace {
using bora::test::error_of;
using Types = std::vector<std::pair<std::string, Type>>;
/// A run whose checkpoint can be written again with other leaves.
struct TunedRun {
  test::TempFolder folder;
  std::string out = folder / "run";
  std::map<std::string, std::string> notes;
  Types types;
  explicit TunedRun(const std::vector<std::string>& more = {}) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + " of a short text\n";
    std::vector<std::string> items = {"data=" + folder.write("text.txt", text), "out=" + out, "batch=4", "steps=1",
                                      "model={type: gpt2, layers: 2, embed: 6, heads: 3, positions: 8}",
                                      "eval.rows=4", "log.digest=false", "lora.rank=2"};
    items.insert(items.end(), more.begin(), more.end());
    EXPECT_EQ(train(Job::open(load_settings("", items))), 0);
    auto m = io::read_manifest(io::list_checkpoints(out + "/checkpoints").back().folder);
    notes = m.notes;
    for (auto& leaf : m.leaves) types.emplace_back(leaf.path, leaf.type);
  }
  /// The error of an evaluation beside a checkpoint of these leaves, all zeros.
  std::string error_with(const Types& all) const {
    std::vector<std::vector<char>> bytes;
    std::vector<io::Leaf> leaves;
    for (auto& [path, type] : all) {
      auto& data = bytes.emplace_back(static_cast<std::size_t>(volume(type.shape)) * dtype_size(type.dtype));
      leaves.push_back({path, type, Spec::replicated(type.shape.size()), data.data()});
    }
    fs::remove_all(out + "/checkpoints");
    io::save_checkpoint(out + "/checkpoints", 1, leaves, {}, notes);
    return error_of<CheckpointError>([&] { (void)evaluate(TrainedRun{out}); });
  }
  std::vector<std::size_t> adapters() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (types[i].first.starts_with("params.") && types[i].first.find(".lora.") != std::string::npos) all.push_back(i);
    return all;
  }
};
/// Shapes that are not this one, most of them of as many elements.
std::vector<Shape> others(const Shape& s) {
  auto n = volume(s);
  Shape turned, longer = s, more = s;
  for (std::size_t d = s.size(); d-- > 0;) turned.push_back(s[d]);
  longer.push_back(1);
  more[more.size() - 1] += 1;
  std::vector<Shape> all{Shape{}, Shape{n}, Shape{1, 1, 1, 1, 1, 1, 1, n}, Shape{0}, turned, longer, more};
  std::erase(all, s);
  return all;
}

TEST(Adapters, AreThoseOfTheSettings) {
  TunedRun run;
  EXPECT_EQ(run.error_with(run.types), "no error");
  auto adapters = run.adapters();
  ASSERT_EQ(adapters.size(), 12U);
  int tried = 0;
  auto is_refused = [&](const Types& types, const std::string& path) {
    auto e = run.error_with(types);
    EXPECT_NE(e.find("'" + path + "'"), e.npos) << e;
    ++tried;
  };
  for (auto i : adapters) {
    auto changed = run.types;
    auto& [path, type] = changed[i];
    auto shapes = others(type.shape);
    if (i != adapters[0] && i != adapters[1]) shapes = {shapes[static_cast<std::size_t>(tried) % shapes.size()]};
    for (auto& shape : shapes) {
      type.shape = shape;
      is_refused(changed, path);
    }
  }
  auto changed = run.types;
  auto path = changed[adapters[0]].first;
  changed[adapters[0]].second.dtype = f64;
  is_refused(changed, path);
  changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(adapters[0]));  // one is missing
  is_refused(changed, path);
  changed = run.types;
  changed.emplace_back("params.wpe.lora.a", Type{{8, 2}, f32});  // one too many
  is_refused(changed, "params.wpe.lora.a");
  std::erase_if(changed, [](auto& leaf) { return leaf.first.find(".lora.") != std::string::npos; });
  is_refused(changed, "params.blocks.layer.attn.k.lora.a");  // none at all
  EXPECT_GT(tried, 20);
}
TEST(Adapters, HaveTheDtypeOfTheBase) {
  TunedRun run({"precision=p=bf16,c=f32,o=f32"});
  EXPECT_EQ(run.types[run.adapters()[0]].second.dtype, bf16);
  EXPECT_EQ(run.error_with(run.types), "no error");
}
}  // namespace
}  // namespace bora::job::adapters_test
