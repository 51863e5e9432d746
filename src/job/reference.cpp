#include "job/reference.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include "base/api/file.h"
#include "base/api/sha256.h"
#include "bora/data/data.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/train/batch.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "bora/tree/node.h"
#include "job/initial.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
using Numbers = std::vector<float>;  // two of each row
using RowsPtr = std::shared_ptr<const data::Dataset>;

struct ComparedRows final : data::Dataset {
  ComparedRows(RowsPtr r, Numbers n) : rows(std::move(r)), numbers(std::move(n)) {}
  std::int64_t size() const override { return rows->size(); }
  std::int64_t filled() const override { return rows->filled(); }
  void at(const data::Place& place, const data::Row& row) const override {
    rows->at(place, row);
    auto first = 2 * static_cast<std::size_t>(place.index);
    row.values[0] = numbers[first];
    row.values[row.shape.positions / 2] = numbers[first + 1];
  }
  RowsPtr rows;
  Numbers numbers;
};
Numbers ask(Trainable& model, const data::Dataset& rows, const data::RowShape& shape, std::int64_t batch,
            const Mesh& mesh) {
  Numbers all;
  auto mine = rows_of_rank(batch, mesh);
  for (std::int64_t step = 0; step * batch < rows.size(); ++step) {
    auto part = data::evaluation_rows(rows, shape, step, batch, mine.begin, mine.end, rows.size());
    auto said = model.evaluate(make_batch(part, batch, mesh)).to_vector<float>();  // two sums, then [2, batch]
    for (std::int64_t i = 0; i < std::min(batch, rows.size() - step * batch); ++i)
      for (auto half : {0, 1}) {
        all.push_back(said[static_cast<std::size_t>(2 + half * batch + i)]);
        check<ValueError>(std::isfinite(all.back()), "preference.ahead: what the reference model says of row ",
                          step * batch + i, " is not finite");
      }
  }
  return all;
}
/// The file of data.cache that keeps the numbers; empty: there is no cache. Reads all rows.
std::string kept_file(const Settings& s, const data::RowShape& shape, const std::vector<RowsPtr>& all,
                      const std::string& digest) {
  auto data = s.data;
  auto* cache = data.edit().cache();
  if (!cache || cache->empty()) return {};
  Sha256 key;
  auto add = [&](const auto& x) { key.update(x.data(), x.size() * sizeof x[0]); };
  add("reference 1\n" + digest + "\n" + s.precision.policy + "\n" + std::to_string(shape.positions) + "\n");
  for (auto& rows : all)
    for (std::int64_t i = 0; i < rows->size(); ++i) {
      auto one = data::Rows::zeros(i, i + 1, shape);
      rows->at({i}, one.row(i));
      add(one.tokens), add(one.targets), add(one.weights);
    }
  return *cache + "/reference/" + key.hex() + ".f32";
}
/// The bytes of such a file without the digest at its end; empty if it has others than it was written with.
std::string read_kept(const std::string& file, std::size_t bytes) {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return {};
  auto all = read_file(file);
  bool whole = all.size() == bytes + 64 && sha256(std::string_view(all).substr(0, bytes)) == all.substr(bytes);
  return whole ? all.substr(0, bytes) : std::string();
}
}  // namespace

data::RowShape row_shape(const Settings& s) {
  auto shape = s.data->shape(s.model->positions());
  shape.reference = s.preference.ahead && has_pairs(s);
  return shape;
}
data::Datasets with_reference(data::Datasets data, const Job& job, const Mesh& mesh, std::string& digest) {
  auto& s = job.settings;
  auto parts = data.train.parts();
  std::vector<RowsPtr> all;
  for (auto& part : parts) all.push_back(part.rows);
  if (data.held_out) all.push_back(data.held_out);
  for (auto& set : data.sets) all.push_back(set.rows);
  std::size_t rows = 0;
  for (auto& one : all) rows += static_cast<std::size_t>(one->size());

  auto begin = std::chrono::steady_clock::now();
  auto model = trainable_of(s, *job.tokenizer, mesh.shape(),
                            {.pipeline = job.context.pipeline, .init = true, .asks = true});
  auto own = tree::count_leaves(model->base()) > 0 ? model->base() : model->parameters();
  if (!s.init_from.path.empty()) (void)read_init_from(own, s, vocabulary_of(s, *job.tokenizer));
  digest = parameter_digest(own, mesh);

  std::string file;  // on rank 0
  auto bytes = rows * 2 * sizeof(float);
  auto kept = on_first(mesh, "preference: what is kept of the reference model", [&] {
    file = kept_file(s, data.shape, all, digest);
    return read_kept(file, bytes);
  });
  std::vector<Numbers> numbers;
  for (std::size_t at = 0; auto& one : all) {
    if (kept.empty()) {
      numbers.push_back(ask(*model, *one, data.shape, s.batch / s.accumulate, mesh));
      continue;
    }
    numbers.emplace_back(2 * static_cast<std::size_t>(one->size()));
    auto n = numbers.back().size() * sizeof(float);
    std::memcpy(numbers.back().data(), kept.data() + at, n);
    at += n;
  }
  on_first(mesh, "preference: keep what the reference model says", [&] {
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!kept.empty()) std::printf("reference: of %zu pairs, from %s\n", rows, file.c_str());
    else std::printf("reference: asked about %zu pairs in %.1f s\n", rows, seconds);
    std::fflush(stdout);
    if (!kept.empty() || file.empty()) return;
    std::string text;
    for (auto& one : numbers) text.append(reinterpret_cast<const char*>(one.data()), one.size() * sizeof(float));
    fs::create_directories(fs::path(file).parent_path());
    write_file(file, text + sha256(text));
  });

  auto next = numbers.begin();
  auto asked = [&](const RowsPtr& one) -> RowsPtr { return std::make_shared<ComparedRows>(one, std::move(*next++)); };
  for (auto& part : parts) part.rows = asked(part.rows);
  data.train = data::TrainingRows(parts, data.train.mix());
  if (data.held_out) data.held_out = asked(data.held_out);
  for (auto& set : data.sets) set.rows = asked(set.rows);
  data.shape.reference = true;
  return data;
}
}  // namespace bora::job
