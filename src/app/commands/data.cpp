// The data of a configuration, as a run would see them: sources, rows, examples, and who reads what.
#include <algorithm>
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/base/text.h"
#include "bora/data/data.h"
#include "bora/job/host_table.h"
#include "bora/job/job.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/shard/mesh.h"

namespace bora::app {
namespace {
std::string grouped(std::int64_t n) {  // 12,345
  auto text = std::to_string(n);
  for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}
std::string fixed(double x, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}
/// Columns of equal width, the first one to the left.
void print_table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> width;
  for (auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) {
      width.resize(std::max(width.size(), c + 1));
      width[c] = std::max(width[c], line[c].size());
    }
  for (auto& line : lines) {
    std::string text = "  ";
    for (std::size_t c = 0; c < line.size(); ++c) {
      std::string space(width[c] - line[c].size(), ' ');
      text += c == 0 ? line[c] + space : "  " + space + line[c];
    }
    std::printf("%s\n", text.c_str());
  }
}

struct Data {
  static constexpr std::string_view name = "data",
                                    help = "sources, tokens, packing, examples and hosts x rows of a configuration";
  static constexpr Row row{.place = 35};
  ConfigWords config = {};
  std::int64_t examples = 5, ranks_per_host = 0;

  void declare(Flags& flags) {
    config.declare(flags);
    flags.add("--examples", examples, "rows of the first step to show").between(0, 1000);
    declare_ranks_per_host(flags, ranks_per_host);
  }
  void settle() { config.settle(); }
  int run() const {
    auto s = config.load();
    check_settings(s);
    auto tokenizer = s.tokenizer->open();
    s.data->check_files(s.model->positions());
    auto& axes = s.mesh.axes;
    auto shape = resolve_mesh(s.mesh, axes.open() ? 1 : static_cast<int>(axes.ranks()));
    set_threads(s, 1);
    local_mesh({{"data", 1}}, [&](const Mesh& mesh) {
      auto data = open_data(s, tokenizer, mesh);
      print_sources(s, data);
      print_examples(s, data, *tokenizer);
    });
    std::printf("hosts and their rows of a step of %lld:\n%s", static_cast<long long>(s.batch),
                host_table(s, shape, ranks_per_host).c_str());
    return 0;
  }
  static void print_sources(const Settings& s, const bora::data::Datasets& data) {
    auto& parts = data.train.parts();
    std::vector<std::vector<std::string>> lines{{"source", "files", "bytes", "documents", "held out", "left out",
                                                 "tokens", "rows", "filled", "share", "passes"}};
    auto samples = s.steps * s.batch;
    auto counts = data.train.mix().counts(std::max<std::int64_t>(samples, 1));
    std::int64_t total = 0;
    for (auto n : counts) total += n;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      auto& f = parts[p].facts;
      auto rows = parts[p].rows->size();
      auto room = static_cast<double>(rows * data.shape.positions);
      auto share = static_cast<double>(counts[p]);
      lines.push_back({parts[p].name, grouped(f.files), bytes_text(f.bytes), grouped(f.documents), grouped(f.held_out),
                       grouped(f.skipped), grouped(f.tokens), grouped(rows),
                       fixed(100 * static_cast<double>(f.filled) / room, 1) + " %",
                       fixed(100 * share / static_cast<double>(total), 1) + " %",
                       fixed(share / static_cast<double>(rows), 2)});
    }
    std::printf(
        "data: %s; rows of %lld tokens%s\n", s.data->type().data(), static_cast<long long>(data.shape.positions),
        data.shape.inputs > 0 ? (", and of " + std::to_string(data.shape.inputs) + " for an encoder").c_str() : "");
    print_table(lines);
    std::printf("held out: %s rows; in %s steps of %lld rows: %s tokens of targets and padding\n",
                grouped(data.held_out ? data.held_out->size() : 0).c_str(), grouped(s.steps).c_str(),
                static_cast<long long>(s.batch),
                grouped(samples * data.shape.positions).c_str());
  }
  /// The classes, the numbers, the answer or the score of a row.
  static void print_predicted(const bora::data::Rows& rows, const std::vector<std::string>& labels,
                              const text::Tokenizer& tokenizer) {
    std::string all;
    if (rows.shape.pairs) {
      if (!rows.values.empty()) std::printf("    + %s\n", number_text(rows.values[0]).c_str());
      return;
    }
    if (rows.shape.prediction == bora::data::Prediction::spans) {
      auto at = [&](std::size_t i) { return rows.tokens.begin() + rows.targets[i]; };
      std::vector<std::int32_t> ids(at(0), at(1) + 1);
      return static_cast<void>(std::printf("    + %s\n", one_line(tokenizer.decode(ids)).c_str()));
    }
    for (std::size_t i = 0; i < rows.weights.size(); ++i) {
      if (rows.weights[i] == 0) continue;
      bool number = rows.shape.prediction == bora::data::Prediction::numbers;
      all += " " + (number ? number_text(rows.values[i]) : labels.at(static_cast<std::size_t>(rows.targets[i])));
    }
    std::printf("    +%s\n", one_line(all).c_str());
  }
  void print_examples(const Settings& s, const bora::data::Datasets& data, const text::Tokenizer& tokenizer) const {
    if (examples == 0) return;
    std::printf("examples (+ learnt, - given, | the next document of the row):\n");
    auto show = [&](char mark, std::vector<std::int32_t>& ids) {
      if (!ids.empty()) std::printf("    %c %s\n", mark, one_line(tokenizer.decode(ids)).c_str());
      ids.clear();
    };
    for (std::int64_t r = 0; r < examples; ++r) {
      auto rows = bora::data::Rows::zeros(r, r + 1, data.shape);
      auto part = data.train.at(r, s.seed, rows.row(r));
      auto filled = static_cast<std::size_t>(rows.filled[0]);
      auto positions = static_cast<std::size_t>(data.shape.positions);
      std::printf("  row %lld, of %s, %zu of %zu positions\n", static_cast<long long>(r),
                  data.train.parts()[static_cast<std::size_t>(part)].name.c_str(), filled, positions);
      std::vector<std::int32_t> ids;
      if (data.shape.prediction != bora::data::Prediction::tokens) {
        for (std::size_t text = 0, n = data.shape.pairs ? 2 : 1; text < n; ++text) {
          auto begin = text * positions / 2, end = n == 2 ? begin + positions / 2 : filled;
          for (auto i = begin; i < end && (n == 1 || rows.weights[i] > 0); ++i) ids.push_back(rows.tokens[i]);
          show('-', ids);
        }
        print_predicted(rows, s.model->labels(), tokenizer);
        continue;
      }
      for (std::size_t i = 0; i < rows.inputs.size(); ++i)
        if (rows.input_mask[i]) ids.push_back(rows.inputs[i]);
      show('-', ids);
      bool encoder = data.shape.inputs > 0 || data.shape.in_place, begun = false, learnt = false;
      for (std::size_t i = 0; i < positions; ++i) {
        bool there = data.shape.segments ? rows.segments[i] > 0 : i < filled;
        if (!there) continue;
        bool next = begun && data.shape.segments && rows.segments[i] != rows.segments[i - 1];
        if (next) {
          show(learnt ? '+' : '-', ids);
          std::printf("    |\n");
        }
        if ((next || !begun) && !encoder) ids.push_back(rows.tokens[i]), learnt = false;
        bool last = data.shape.segments && !encoder && rows.weights[i] == 0 && i + 1 < positions &&
                    rows.segments[i + 1] > rows.segments[i];
        if (last) continue;  // its target is in another document
        begun = true;
        if (bool now = rows.weights[i] > 0; now != learnt) show(learnt ? '+' : '-', ids), learnt = now;
        ids.push_back(rows.targets[i]);
      }
      show(learnt ? '+' : '-', ids);
    }
  }
};
}  // namespace
template const bool added<Data>;
}  // namespace bora::app
