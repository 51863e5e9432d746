// Generates text from a trained model, one token at a time.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include "bora/ops/index.h"
#include "bora/ops/reduce.h"
#include "commands.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
/// Scores of the next token, f32 [vocab] -> a token, i32.
Array choose(const Array& scores, const Array& key, double temperature, std::int64_t k) {
  if (temperature < 1e-6) return argmax(scores, -1);  // the limit; dividing by less overflows f32
  auto s = scores / temperature;
  if (k > 0 && k < scores.shape()[0]) {
    auto least = view(top_k(s, k).values, -1);
    s = where(s < least, -1e30, s);
  }
  return random::categorical(key, s);
}
}  // namespace

int generate(const Arguments& a) {
  auto s = settings_on_job(a.path, a.settings, "generate");
  auto folder = checkpoint_of_run(a.path);
  return on_mesh(a, s, "generate " + fs::path(folder).filename().string(), [&](const Mesh& mesh) {
    auto tokenizer = s.tokenizer->open();
    auto storage = layout_mappings(parse_layout(s.mesh.layout), mesh.shape()).storage;
    auto pick = [temperature = a.temperature, top_k = a.top_k](const Array& scores, const Array& key) {
      return choose(scores, key, temperature, top_k);
    };
    auto model = s.model->generator(model_options(s, mesh.shape()), storage, random::key(s.seed), pick);
    io::restore_leaves(model->parameters(), folder, place_of(mesh), "params");
    auto write = [&](const std::string& text) {
      if (mesh.rank() == 0) std::fputs(text.c_str(), stdout), std::fflush(stdout);
    };
    auto ids = tokenizer->encode(a.prompt.empty() ? "\n" : a.prompt);
    if (!a.prompt.empty()) write(a.prompt);
    text::StreamDecoder decoder(tokenizer);
    auto positions = s.model->positions();
    auto key = random::key(a.seed);
    std::int64_t seen = 0;  // tokens that the model has seen since it began
    for (std::int64_t i = 0; i < a.length; ++i) {
      auto n = std::min(positions, static_cast<std::int64_t>(ids.size()));
      if (seen == positions) model->restart(), seen = 0;  // the window moves: every token gets another position
      std::vector<std::int32_t> unseen(seen ? ids.end() - 1 : ids.end() - n, ids.end());
      seen += static_cast<std::int64_t>(unseen.size());
      auto last = array(static_cast<std::int32_t>(n - 1));
      auto token = model->next(unseen, random::fold_in(random::fold_in(key, i), last));
      ids.push_back(token.item<std::int32_t>());
      write(decoder.next(ids.back()));
    }
    write(decoder.finish() + "\n");
    return 0;
  });
}
}  // namespace bora::app
