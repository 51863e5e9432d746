// Llama (Touvron et al. 2023): RMS norms, rotary positions, heads of queries that share keys and values, gated MLP, no
// biases. The code mentions no mesh.
#include "bora/models/lm.h"
#include "bora/nn/layers.h"
#include "bora/nn/stacked.h"

namespace bora::models {
namespace {
struct LlamaConfig {
  static constexpr std::string_view type = "llama";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, hidden = 0, positions = 128;
  double theta = 10000;
  float eps = 1e-6F;
  bool tied = false;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of queries in a block; embed is cut into as many equal parts"},
      {"kv_heads", "of keys and values, each shared by heads / kv_heads queries; 0: as many as heads"},
      {"hidden", "hidden units of a block's gated MLP; 0: 8/3 of embed, rounded up to a multiple of 64"},
      {"positions", "tokens that the model sees at once"},
      {"theta", "base of the rotary angles"},
      {"eps", "of norms"},
      {"tied", "the output layer is the table of the tokens' vectors"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything"}};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : (embed * 8 / 3 + 63) / 64 * 64; }
  void check() const {
    for (auto [name, size] :
         {std::pair{"layers", layers}, {"embed", embed}, {"heads", heads}, {"positions", positions}}) {
      config::domain(size >= 1, name, size, "1 or more");
      bora::check<ConfigError>(size <= 1 << 30, name, ": ", size, " is more than 2^30");
    }
    bora::check<ConfigError>(embed % heads == 0 && embed / heads % 2 == 0, "heads: model.embed ", embed,
                             " cannot be cut into ", heads, " equal heads of an even size");
    bora::check<ConfigError>(kv_heads >= 0 && heads % key_heads() == 0, "kv_heads: model.heads ", heads,
                             " cannot be cut into ", kv_heads, " equal groups");
    config::domain(hidden >= 0 && hidden <= 1 << 30, "hidden", hidden, "from 1 to 2^30 (or 0)");
    config::domain(std::isfinite(theta) && theta > 0, "theta", theta, "above 0");
    config::domain(config::finite(eps) && eps > 0, "eps", eps, "above 0");
    try {
      (void)remat::parse(checkpoint);
    } catch (const ConfigError& e) { fail<ConfigError>("checkpoint: ", e.text()); }
  }
  std::vector<AxisSize> axes() const {
    return {{nn::kHeads, "model.kv_heads", key_heads(), "head of keys"},
            {nn::kMlp, "model.hidden", hidden_units(), "hidden unit"},
            {nn::kEmbed, "model.embed", embed, "number", " of a vector"}};
  }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
};
struct LlamaBlock {
  nn::RmsNorm norm_1;
  nn::Attention attn;
  nn::RmsNorm norm_2;
  nn::GatedMlp mlp;
  static LlamaBlock init(const LlamaConfig& c, const Array& key) {
    auto keys = random::split<2>(key);
    nn::LinearOptions bare{.weight = nn::Init::normal(0.02), .use_bias = false};
    auto group = c.heads / c.key_heads();
    return {
        nn::RmsNorm::init(c.embed_axis(), c.eps),
        nn::Attention::init(c.embed_axis(), {nn::kHeads, c.key_heads()}, {nn::kHeadSize, c.embed / c.heads}, keys[0],
                            {.in = bare,
                             .out = bare,
                             .group = group > 1 ? std::optional<Axis>(Axis{nn::kHeadGroup, group}) : none,
                             .theta = c.theta}),
        nn::RmsNorm::init(c.embed_axis(), c.eps),
        nn::GatedMlp::init(c.embed_axis(), {nn::kMlp, c.hidden_units()}, keys[1], bare, bare)};
  }
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask,
                        const std::optional<NamedArray>& positions) const {
    auto y = auto_sharded(x + attn(norm_1(x), mask, positions));
    return auto_sharded(y + mlp(norm_2(y)));
  }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& cache,
                                              const Array& seen) const {
    auto [a, kv] = attn.decode(norm_1(x), cache, seen);
    auto y = auto_sharded(x + a);
    return {auto_sharded(y + mlp(norm_2(y))), kv};
  }
};
struct Llama {
  nn::Embedding wte;
  nn::Stacked<LlamaBlock> blocks;
  nn::RmsNorm norm;
  std::optional<nn::Linear> lm_head;
  using Config = LlamaConfig;
  static Llama init(const LlamaConfig& c, std::int64_t vocabulary, const Array& key) {
    c.check();
    auto keys = random::split<3>(key);
    Axis vocab{nn::kVocab, vocabulary};
    auto weights = nn::Init::normal(0.02);
    Llama m{nn::Embedding::init(vocab, c.embed_axis(), keys[0], weights),
            nn::Stacked<LlamaBlock>::init({nn::kLayers, c.layers}, c, nn::per_layer(random::split(keys[1], c.layers))),
            nn::RmsNorm::init(c.embed_axis(), c.eps), none};
    if (!c.tied) m.lm_head = nn::Linear::init(c.embed_axis(), vocab, keys[2], {.weight = weights, .use_bias = false});
    return m;
  }
  NamedArray hidden(const training::Example& e, const std::optional<Array>&, const remat::Policy& remat) const {
    auto x = auto_sharded(wte.embed(auto_sharded(e.tokens)));
    return norm(nn::fold(blocks, x, {.checkpoint = remat})(causal_mask(e), e.positions));
  }
  nn::Head head() const { return {auto_sharded(lm_head ? lm_head->weight : wte.weight)}; }
  Cache cache(const Axis& batch, std::int64_t length) const {
    return {blocks.layer.attn.cache({blocks.axis, batch}, length), array(0)};
  }
  std::pair<NamedArray, Cache> decode(const NamedArray& tokens, const Cache& cache) const {
    auto x = auto_sharded(wte.embed(auto_sharded(tokens)));
    auto one = [](const LlamaBlock& block, const NamedArray& v, const nn::KeyValues& kv, const Array& seen) {
      return block.decode(v, kv, seen);
    };
    auto [y, kv] = nn::scan(blocks, one, x)(nn::per_layer(cache.layers), cache.seen);
    return {norm(y), {kv, cache.seen + tokens.axis(nn::kPosition).size}};
  }
};
[[maybe_unused]] const bool added = config::add<ModelOf<Llama>>();
}  // namespace
}  // namespace bora::models
