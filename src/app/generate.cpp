// Generates text from a trained model, one byte at a time.
#include <cstdio>
#include "bora/ops/index.h"
#include "bora/ops/reduce.h"
#include "commands.h"
#include "gpt_task.h"

namespace bora::app {
namespace {
/// Scores of the byte after position `last` -> a byte, i32.
Array choose(const Array& scores, const Array& key, double temperature, std::int64_t k) {
  if (temperature < 1e-6) return argmax(scores, -1);  // the limit; dividing by less overflows f32
  auto s = scores / temperature;
  if (k > 0 && k < kVocab) {
    auto least = view(top_k(s, k).values, -1);
    s = where(s < least, -1e30, s);
  }
  return random::categorical(key, s);
}
}  // namespace

int generate(const Arguments& a) {
  auto s = settings_of_run(a.path);
  auto folder = checkpoint_of_run(a.path);
  check_settings(s);
  set_threads(s, 1);
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    auto model = named_jit(gpt_task(s).init)(random::key(s.seed));
    io::restore_leaves(tree::node(model), folder, place_of(mesh), "params");
    auto policy = Policy::parse(s.policy);
    auto positions = s.model.positions;
    // Runs the whole window each time: position `last` does not see later ones.
    auto next = jit([=, temperature = a.temperature, top_k = a.top_k](const models::Gpt2& m, const NamedArray& window,
                                                                      const Array& last, const Array& key) {
      auto scores = policy.cast_to_output(policy.cast_to_compute(m)(window)).array();
      return choose(take(view(scores, 0), last, 0), random::fold_in(key, last), temperature, top_k);
    });
    std::string text = a.prompt.empty() ? "\n" : a.prompt;
    if (!a.prompt.empty()) std::printf("%s", a.prompt.c_str());
    auto key = random::key(a.seed);
    for (std::int64_t i = 0; i < a.length; ++i) {
      auto n = std::min<std::int64_t>(positions, static_cast<std::int64_t>(text.size()));
      std::vector<std::int32_t> window(static_cast<std::size_t>(positions));
      for (std::int64_t p = 0; p < n; ++p)
        window[static_cast<std::size_t>(p)] =
            static_cast<unsigned char>(text[text.size() - static_cast<std::size_t>(n - p)]);
      auto tokens = NamedArray(asarray(window, Shape{1, positions}), {{nn::kBatch, 1}, {nn::kPosition, positions}});
      auto byte = static_cast<char>(
          next(model, tokens, array(static_cast<std::int32_t>(n - 1)), random::fold_in(key, i)).item<std::int32_t>());
      text += byte;
      std::fputc(byte, stdout);
      std::fflush(stdout);
    }
    std::printf("\n");
  });
  return 0;
}
}  // namespace bora::app
