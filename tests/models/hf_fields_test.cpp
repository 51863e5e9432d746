// Every field of the config.json of golden folders, and of its class in transformers, with another value
// (tests/golden/models/make_fields.py): the scores are those of transformers, or an error names the field.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include "base/api/file.h"
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/train/trainer.h"
#include "json/api/value.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace fs = std::filesystem;
namespace hf_fields_test {
using namespace bora;
using namespace bora::models;
namespace {
const std::string kFolders = test::source_dir() + "/tests/golden/models/";
/// The first row of the golden results, without padding behind it.
training::Example first_row(const std::string& folder) {
  auto golden = Safetensors::open(folder + "/golden.safetensors");
  auto row = [&](const std::string& name, const char* along) {
    auto all = golden.read(name).to_vector<std::int32_t>();
    auto n = golden.type(name).shape[1];
    all.resize(static_cast<std::size_t>(n));
    return named(asarray(all, Shape{1, n}), {Axis{nn::kBatch, 1}, Axis{along, n}});
  };
  if (!golden.has("decoder_ids")) {
    training::Example e{.tokens = row("ids", nn::kPosition)};
    if (golden.has("token_types")) e.token_types = row("token_types", nn::kPosition);
    return e;
  }
  training::Example e{.tokens = row("decoder_ids", nn::kPosition)};
  e.inputs = row("ids", "input");
  e.input_mask = row("mask", "input");
  return e;
}
/// The scores behind the last position of the folder's first row.
std::vector<double> last_scores(const std::string& folder, const training::Example& e) {
  std::vector<double> last;
  auto p = Pretrained::open(folder);
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh&) {
    auto scorer = p.model->scorer({p.vocabulary}, {}, random::key(1));
    load_pretrained(scorer->parameters(), folder, *p.model, p.vocabulary);
    auto all = scorer->scores(e).array().to_vector<double>();
    last.assign(all.end() - p.vocabulary, all.end());
  });
  return last;
}
double off(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}
}  // namespace
TEST(HfFields, AnotherValueIsHonouredOrRefusedByName) {
  auto file = kFolders + "fields.json";
  auto fields = json::parse(read_file(file), file, "field", json::Order::as_written);
  int honoured = 0, refused = 0, without_effect = 0;
  for (auto& [name, changes] : fields.members()) {
    auto from = kFolders + name;
    auto e = first_row(from);
    auto own = last_scores(from, e);
    test::TempFolder temp;
    auto folder = temp.path();
    fs::create_symlink(from + "/model.safetensors", folder + "/model.safetensors");
    for (auto& [field, change] : changes.members()) {
      SCOPED_TRACE(name + ": " + field + " " + change.list()[0].dump());
      auto config = json::parse(read_file(from + "/config.json"), "config.json", "field", json::Order::as_written);
      config.set(field, change.list()[0]);
      write_file(folder + "/config.json", config.dump(2));
      auto& result = change.list()[1];
      std::vector<double> got;
      std::string error;
      try {
        got = last_scores(folder, e);
      } catch (const Error& problem) { error = problem.text(); }
      if (result.is_null()) {
        EXPECT_FALSE(error.empty()) << "transformers refuses it";
        continue;
      }
      if (!error.empty()) {
        EXPECT_NE(error.find(field + ": "), error.npos) << error;
        ++refused;
        continue;
      }
      auto want = own;
      if (result.is_list()) {
        want.clear();
        for (auto& x : result.list()) want.push_back(x.number());
      }
      EXPECT_LT(off(got, want), 1e-4);
      ++(result.is_list() ? honoured : without_effect);
    }
  }
  EXPECT_GT(honoured, 60);
  EXPECT_GT(refused, 10);
  EXPECT_GT(without_effect, 40);
}
}  // namespace hf_fields_test
