// bora logits and bora loss on runs and on Hugging Face's folders: numbers, padding, meshes, bad files.
#include <cmath>
#include "bora/bora.h"
#include "command.h"
#include "support/places.h"

namespace logits_test {
using namespace bora;
namespace {
using Ids = std::vector<std::int32_t>;
struct LogitsTest : CommandTest {
  std::string save(const std::string& name, const Array& x) const {
    auto file = folder + "/" + name + ".npy";
    save_npy(file, x);
    return file;
  }
  std::string save(const std::string& name, const Ids& ids, std::int64_t rows) const {
    return save(name, asarray(ids, Shape{rows, std::ssize(ids) / rows}));
  }
  /// A small run of random parameters.
  std::string trained(const std::string& model) const {
    auto out = folder + "/" + model, r = "train --out " + out + " " + config;
    EXPECT_EQ(run(r + " steps=2 warmup=0 lr=0.05 eval_every=0 model.embed=24 model.type=" + model).code, 0);
    return out;
  }
  /// f32 [batch, position, vocabulary]
  Array logits(const std::string& words, const std::string& launch = {}) const {
    auto file = folder + "/logits.npy";
    std::filesystem::remove(file);
    auto r = run(launch + "logits " + words + " --out " + file);
    EXPECT_EQ(r.code, 0) << words << "\n" << r.err;
    return r.code ? zeros({1, 1, 1}) : load_npy(file);
  }
  double loss(const std::string& words, const std::string& launch = {}) const {
    auto r = run(launch + "loss " + words);
    EXPECT_EQ(r.code, 0) << words << "\n" << r.err;
    auto text = r.line("loss: ");
    EXPECT_EQ(r.out, "loss: " + text + "\n");
    return r.code ? 0 : std::stod(text);
  }
};
double far(const Array& a, const Array& b) { return amax(abs(a - b)).item<double>(); }
constexpr auto kLaunch = "launch -n 2 -- ";
}  // namespace

TEST_F(LogitsTest, AreTheSameOnEveryMeshAndGiveTheLoss) {
  auto out = trained("gpt2");
  Ids ids, labels;
  for (int i = 0; i < 33; ++i) ids.push_back(i * 37 % 256), labels.push_back(i % 4 == 1 ? -100 : i * 29 % 256);
  auto words = out + " --ids " + save("ids", ids, 3);
  auto want = logits(words);
  ASSERT_EQ(want.shape(), (Shape{3, 11, 256}));
  EXPECT_EQ(want.dtype(), f32);
  for (auto more : {"", " layout=fsdp", " layout=tp mesh=data=1,model=2"})
    EXPECT_LT(far(logits(words + more, kLaunch), want), 2e-5) << more;
  double sum = 0;
  int count = 0;
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t at = 0; at < 10; ++at) {
      auto label = labels[static_cast<std::size_t>(row * 11 + at + 1)];
      if (label == -100) continue;
      sum += cross_entropy(view(want, row, at), array(label)).item<double>();
      ++count;
    }
  auto with = words + " --labels " + save("labels", asarray(labels, Shape{3, 11}).astype(i64));
  EXPECT_NEAR(loss(with), sum / count, 2e-6);
  EXPECT_NEAR(loss(with, kLaunch), sum / count, 2e-6);
  // One row on two ranks: one of them has none.
  auto one = out + " --ids " + save("one", Ids(ids.begin(), ids.begin() + 11), 1);
  EXPECT_LT(far(logits(one), view(want, range(0, 1))), 2e-5);
  EXPECT_LT(far(logits(one, kLaunch), view(want, range(0, 1))), 2e-5);
}
TEST_F(LogitsTest, PaddingIsNotSeen) {
  Ids row{5, 17, 99, 3, 200, 41}, right = row, left = row, ones(6, 1), at_end{1, 1, 1, 1, 1, 1, 0, 0, 0},
                                  at_begin{0, 0, 0, 1, 1, 1, 1, 1, 1};
  for (int i : {250, 7, 31}) right.push_back(i), left.insert(left.begin(), i);
  for (std::string model : {"gpt2", "llama", "opt", "gptj"}) {
    SCOPED_TRACE(model);
    auto out = trained(model), ids = out + " --ids ";
    auto want = logits(ids + save("row", row, 1));
    EXPECT_LT(far(logits(ids + save("row", row, 1) + " --mask " + save("ones", ones, 1)), want), 1e-6);
    auto r = ids + save("right", right, 1), l = ids + save("left", left, 1);
    auto after = logits(r + " --mask " + save("end", at_end, 1));
    EXPECT_LT(far(view(after, all(), range(0, 6)), want), 2e-5);
    EXPECT_GT(far(view(logits(r), all(), range(6, 9)), view(after, all(), range(6, 9))), 1e-3);
    auto before = logits(l + " --mask " + save("begin", asarray(at_begin, Shape{1, 9}) == 1));
    auto tail = view(before, all(), range(3, 9));
    EXPECT_GT(far(view(logits(l), all(), range(3, 9)), tail), 1e-3);
    // Relative and counted positions do not depend on padding; a table of positions begins with the padding.
    if (model == "gpt2") EXPECT_GT(far(tail, want), 1e-3);
    else EXPECT_LT(far(tail, want), 2e-5);
    EXPECT_LT(far(logits(l + " --mask " + folder + "/begin.npy", kLaunch), before), 2e-5);
  }
}
TEST_F(LogitsTest, OfHuggingFacesFoldersAreThoseOfTransformers) {
  const std::string models = test::source_dir() + "/tests/golden/models/";
  auto golden = load_npz(models + "padded.npz");
  for (std::string name : {"gpt2_plain", "gptj_options", "opt_plain", "opt_post_norm"}) {
    SCOPED_TRACE(name);
    auto mask = golden.at(name + ".mask"), want = golden.at(name + ".logits");
    auto words = models + name + " --ids " + save("ids", golden.at(name + ".ids")) + " --mask " + save("mask", mask);
    auto tokens = view(mask, all(), all(), newaxis()).astype(f32);
    auto labels = " --labels " + save("labels", golden.at(name + ".labels"));
    for (auto launch : {"", kLaunch}) {
      EXPECT_LT(far(logits(words, launch) * tokens, want * tokens), 1e-4);
      EXPECT_NEAR(loss(words + labels, launch), golden.at(name + ".loss").item<double>(), 1e-5);
    }
  }
}
TEST_F(LogitsTest, AnEncoderReadsTheIds) {
  for (std::string name : {"t5_v1_0", "t5_options"}) {
    SCOPED_TRACE(name);
    auto model = test::source_dir() + "/tests/golden/models/" + name;
    auto golden = Safetensors::open(model + "/golden.safetensors");
    auto file = [&](const std::string& of) { return save(of, golden.read(of)); };
    auto seen = model + " --ids " + file("ids"), mask = " --mask " + file("mask"),
         labels = " --labels " + file("labels");
    auto decoder = " --decoder-ids " + file("decoder_ids");
    auto want = golden.read("logits");
    auto wanted = golden.read("loss").item<double>();
    for (auto launch : {"", kLaunch}) {
      EXPECT_LT(far(logits(seen + mask + decoder, launch), want), 1e-4);
      EXPECT_NEAR(loss(seen + mask + labels, launch), wanted, 1e-5);
    }
    EXPECT_NEAR(loss(seen + mask + labels + decoder), wanted, 1e-5);
    EXPECT_GT(far(logits(seen + decoder), want), 1e-3);  // the encoder sees its padding
    auto out = " --out " + folder + "/l.npy";
    is_bad_input("logits " + seen + out, "has an encoder, which reads --ids, and a decoder: give --decoder-ids");
    is_bad_input("logits " + seen + out + " --decoder-ids " + save("row", Ids{1, 2}, 1), "row.npy: 1 rows, but --ids");
    is_bad_input("loss " + seen + labels + " --decoder-ids " + save("short", Ids{1, 2, 3}, 3), "labels.npy: the shape");
  }
}
TEST_F(LogitsTest, BadInputIsOneLine) {
  auto out = trained("gpt2"), good = save("ids", Ids{1, 2, 3, 4, 5, 6}, 2), file = " --out " + folder + "/l.npy";
  auto refused = [&](const std::string& words, const std::string& part) { is_bad_input(words, part); };
  auto ids = [&](const std::string& name, const Ids& v, std::int64_t rows) {
    return "logits " + out + file + " --ids " + save(name, v, rows);
  };
  refused(ids("high", {1, 2, 3, 256}, 2), "high.npy: 256 at [1, 1]; ids are from 0 to 255");
  refused(ids("low", {1, -1}, 1), "low.npy: -1 at [0, 1]; ids are from 0 to 255");
  refused(ids("long", Ids(17, 1), 1), "long.npy: 17 positions, but the model sees at most 16");
  refused("logits " + out + file + " --ids " + save("f", zeros({2, 2})), "f.npy: the numbers are f32");
  refused("logits " + out + file + " --ids " + save("flat", arange(3)), "flat.npy: the shape is [3]");
  refused("logits " + out + file + " --ids " + save("no", zeros({2, 0}, i32)), "no.npy: the shape is [2, 0]");
  refused("logits " + out + file + " --ids " + folder + "/none.npy", "none.npy");
  refused("logits " + out + file + " --ids " + config, "tiny.yaml");
  refused("logits " + folder + file + " --ids " + good, "is no folder of a run");
  refused("logits " + out + " --ids " + good, "--out is required");
  refused("logits " + out + file, "--ids is required");
  refused("logits " + out + " --ids " + good + " --out " + folder + "/none/l.npy", "there is no folder");
  refused("logits " + out + " --ids " + good + " --out " + folder, "is a folder");
  refused("logits " + out + file + " --ids " + good + " --decoder-ids " + good, "model.type gpt2 has no encoder");
  auto mask = [&](const std::string& name, const Ids& v, std::int64_t rows) {
    return "logits " + out + file + " --ids " + good + " --mask " + save(name, v, rows);
  };
  refused(mask("hole", {1, 1, 1, 1, 0, 1}, 2), "hole.npy: row 1 has padding between its tokens, at 1");
  refused(mask("nothing", {1, 1, 1, 0, 0, 0}, 2), "nothing.npy: row 1 has no token");
  refused(mask("two", {1, 2, 1, 1, 1, 1}, 2), "two.npy: 2 at [0, 1]; 1 is a token, 0 is padding");
  refused(mask("small", {1, 1, 1, 1}, 2), "small.npy: the shape is [2, 2], but --ids " + good + " has [2, 3]");
  auto labels = [&](const std::string& name, const Ids& v, std::int64_t rows) {
    return "loss " + out + " --ids " + good + " --labels " + save(name, v, rows);
  };
  refused(labels("high", {1, 2, 3, 4, 5, 256}, 2), "high.npy: 256 at [1, 2]; labels are from 0 to 255, or -100");
  refused(labels("low", {1, 2, 3, 4, -1, 5}, 2), "low.npy: -1 at [1, 1]");
  refused(labels("none", {1, -100, -100, 1, -100, -100}, 2), "none.npy: no label counts");
  refused(labels("small", {1, 2}, 1), "small.npy: the shape is [1, 2]");
  refused("loss " + out + " --ids " + good, "--labels is required");
  is_bad_input(std::string(kLaunch) + "logits " + out + file + " --ids " + folder + "/none.npy", "none.npy");
  EXPECT_FALSE(std::filesystem::exists(folder + "/l.npy"));
}
}  // namespace logits_test
