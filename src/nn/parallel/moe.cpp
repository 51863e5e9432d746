#include "bora/nn/moe.h"
#include "bora/nn/checkpoint_names.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "nn/core/position_parts.h"
#include "nn/core/support.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"
#include "bora/named/reduce.h"

namespace bora::nn {
namespace {
// Shape letters: R batches of tokens (any number of dimensions), T tokens, k chosen, M = T k, E experts, D embed
/// x's axes without `embed`, the one along which tokens are sorted last.
AxisList token_axes(const NamedArray& x, const std::string& embed) {
  AxisList axes;
  auto last = x.has_axis(kWithin) ? kWithin : kPosition;
  for (auto& a : x.axes())
    if (a.name != embed && a.name != last) axes.push_back(a);
  if (x.has_axis(last)) axes.push_back(x.axis(last));
  return axes;
}
/// x [R.., T, ..], its last axes these; a single token without axes is one of T = 1.
Array by_token(const NamedArray& x, AxisList tokens, const Axis& last) {
  bool one = tokens.empty();
  tokens.push_back(last);
  auto a = array_over(x, tokens);
  return one ? expand_dims(a, 0) : a;
}
/// x [R.., n, ..] at indices [R.., M] along its dimension after R...
Array taken(const Array& x, const Array& indices) {
  auto rows = indices.ndim() - 1;
  return call_one(ops::Take{rows, false, rows}, {x, indices});
}
Shape with(Shape s, std::initializer_list<std::int64_t> more) {
  for (auto n : more) s.push_back(n);
  return s;
}
/// The tokens' way to the experts and back.
struct Route {
  Array weights;       // [R.., T, k]
  Array choices;       // boolean [R.., T, k, E]: the expert of each choice
  Array picks;         // i32 [R.., T, E]: 1 for the chosen experts
  Array token, place;  // i32 [R.., M]: the token of a sorted row; the sorted row of a token's k-th choice
  Array sizes;         // i32 [R.., E]: rows of each expert
};
Route route(const Array& scores, std::int64_t chosen, RouterWeights how) {
  auto rows = scores.ndim() - 2;
  auto top = top_k(scores, chosen);
  auto weights = how == RouterWeights::renormalized ? softmax(top.values)
                                                    : take_along_axis(softmax(scores), top.indices, -1);
  auto choice = top.indices.shape();
  auto is_it = broadcast_to(expand_dims(top.indices, -1), with(choice, {scores.shape(-1)})) ==
               iota(with(choice, {scores.shape(-1)}), rows + 2);
  auto picks = sum(is_it.astype(i32), rows + 1);
  Shape flat(Dims(choice.begin(), choice.begin() + rows));
  auto order = argsort(reshape(top.indices, with(flat, {scores.shape(-2) * chosen})));  // stable: by token
  return {weights, is_it, picks, floor_divide(order, constant(chosen, i32)), argsort(order), sum(picks, rows)};
}
/// A value within an expert, which a policy may keep or not.
Array mlp(const Array& a) { return checkpoint_name(a, std::string(checkpoint_names::kMlp)); }
Array clamped_gate(const ClampedGate& how, const Array& gate, const Array& up) {
  auto g = mlp(minimum(gate, how.limit));
  return mlp(clip(up, -how.limit, how.limit) + 1) * mlp(g * mlp(sigmoid(g * how.slope)));
}
/// The number of parts into which this mesh splits the experts, as a number of equal stacks of them: where the experts
/// do not divide, each is a stack of its own.
std::int64_t stacks_of(const NamedArray& weight) {
  if (!here().mesh) return 1;
  auto at = static_cast<std::size_t>(weight.position(kExperts));
  auto split = spec_for(weight.axes(), current_mapping())[at];
  auto parts = here().mesh->parts(split);
  auto experts = weight.axis(kExperts).size;
  return parts == 1 ? 1 : here().mesh->cuts_evenly(experts, split) ? parts : experts;
}
}  // namespace

Moe Moe::init(const Axis& experts, const Axis& embed, const Axis& hidden, std::int64_t chosen, const Array& key,
              const MoeInit& o) {
  check<ValueError>(chosen >= 1 && chosen <= experts.size, "Moe: a token passes ", chosen, " of ", experts.size,
                    " experts; it must be from 1 to all of them");
  check<AxisError>(experts.name == kExperts, "Moe: the axis of the experts must be named '", kExperts, "', got ",
                   experts);
  auto keys = random::split<4>(key);
  Moe m{Linear::init(embed, experts, keys[0], {.weight = o.weight, .use_bias = o.use_bias}),
        o.weight(keys[1], {experts, embed, hidden}, embed.size),
        o.weight(keys[2], {experts, embed, hidden}, embed.size),
        o.weight(keys[3], {experts, hidden, embed}, hidden.size),
        chosen,
        o.weights,
        o.activation};
  if (o.use_bias) m.gate_bias = m.up_bias = zeros({experts, hidden}), m.down_bias = zeros({experts, embed});
  m.clamped = o.clamped;
  return m;
}
NamedArray Moe::operator()(const NamedArray& x) const { return reported(x).first; }
std::pair<NamedArray, RouterReport> Moe::reported(const NamedArray& input, const NamedArray& counts) const {
  if (auto ranks = position_parts(input); ranks > 1) {  // each rank sorts its own positions
    auto [y, report] =
        reported(cut_at_ranks(input, ranks), counts.defined() ? cut_at_ranks(counts, ranks) : counts);
    auto whole = flatten_axes(y, {kPosition, kWithin}, input.axis(kPosition));
    return {auto_sharded(broadcast_to(whole, Axes(input.axes()))), report};
  }
  auto x = gathered(input, gate);
  auto embed = down.axes().back(), experts = gate.axis(kExperts), hidden = gate.axes().back();
  check<AxisError>(x.has_axis(embed.name) && !x.has_axis(kExperts), "Moe: the input ", x.axes(), " needs axis '",
                   embed.name, "' and may not have '", kExperts, "'");
  auto tokens = token_axes(x, embed.name);
  // Not rounded to a narrow dtype: scores that are close would change places.
  auto computed = real_accumulator(x.dtype());
  auto wide_router = tree::map([&](const Array& a) { return is_float(a.dtype()) ? a.astype(computed) : a; }, router);
  auto named_scores = wide_router(x.astype(computed));
  auto scores = by_token(named_scores, tokens, experts), rows = by_token(x, tokens, embed);
  auto r = route(scores, chosen, weights);

  auto stacks = stacks_of(gate), each = experts.size / stacks;
  auto stack = [&](const NamedArray& w, const Axis& in, const Axis& out) {
    auto a = w.has_axis(in.name) ? broadcast_to(auto_sharded(w), {experts, in, out}).array()
                                 : expand_dims(broadcast_to(auto_sharded(w), {experts, out}).array(), 1);
    return stacks == 1 ? a : reshape(a, {stacks, each, a.shape(1), out.size});
  };
  auto per_stack = [&](const Array& a) {
    return stacks == 1 ? a : broadcast_to(expand_dims(a, 0), [&] {
      auto s = a.shape();
      s.insert(0, stacks);
      return s;
    }());
  };
  RaggedDotOptions first;
  if (stacks > 1) first.first_group = iota({stacks}, 0) * constant(each, i32);
  auto sizes = per_stack(r.sizes), sorted = per_stack(mlp(taken(rows, r.token)));
  auto times = [&](const Array& a, const Array& w) { return ragged_dot(a, w, sizes, first); };
  auto nameless = [](const Array& a) {
    AxisList axes;
    for (std::int64_t d = 0; d < a.ndim(); ++d) axes.push_back({"dim" + std::to_string(d), a.shape(d)});
    return NamedArray(a, axes);
  };
  auto one_each = sorted.shape();
  one_each[one_each.size() - 1] = 1;
  auto of_rows = [&](const NamedArray& w, const std::optional<NamedArray>& bias) {
    auto y = times(sorted, stack(w, embed, hidden));
    // A row's bias is the product of the number 1 and its expert's.
    return mlp(bias ? y + times(ones(one_each, y.dtype()), stack(*bias, embed, hidden)) : y);
  };
  auto g = of_rows(gate, gate_bias), u = of_rows(up, up_bias);
  auto h = mlp(clamped ? clamped_gate(*clamped, g, u) : activate(activation, nameless(g)).array() * u);
  auto y = mlp(times(h, stack(down, hidden, embed)));
  if (stacks > 1) y = sum(y, 0);  // of one number and zeros
  auto back = reshape(taken(y, r.place), with(r.weights.shape(), {embed.size})).astype(real_accumulator(x.dtype()));
  auto out = sum(back * expand_dims(r.weights, -1), -2);
  if (down_bias) {  // of a token, not of its rows: a product over the experts with their weights, 0 of the others
    auto shares = sum(r.choices.astype(out.dtype()) * expand_dims(r.weights, -1), -2);
    out = out + matmul(shares, broadcast_to(auto_sharded(*down_bias), {experts, embed}).array().astype(out.dtype()));
  }
  out = out.astype(x.dtype());
  if (tokens.empty()) out = squeeze(out, 0);
  auto axes = tokens;
  axes.push_back(embed);
  auto result = marked(scattered(broadcast_to(NamedArray(out, axes), Axes(input.axes())), down),
                       {checkpoint_names::kMlp, checkpoint_names::kMlpOut});

  auto with_experts = tokens;
  with_experts.push_back(experts);
  auto picks = r.picks.astype(scores.dtype());
  auto mean_of = [&](const NamedArray& v) {
    if (!counts.defined()) return mean(v, names_of(tokens));
    auto n = sum(broadcast_to(counts, Axes(tokens)).astype(v.dtype()));
    return sum(v, names_of(tokens), {.where = counts}) / maximum(n, 1.0);  // 0 of no tokens
  };
  return {result,
          {mean_of(NamedArray(tokens.empty() ? squeeze(picks, 0) : picks, with_experts)),
           mean_of(bora::softmax(named_scores, kExperts)), mean_of(square(bora::logsumexp(named_scores, kExperts)))}};
}
NamedArray load_balancing_loss(const RouterReport& report) {
  auto average = [](const NamedArray& x) {
    std::vector<AxisNames::One> others;
    for (auto& a : x.axes())
      if (a.name != kExperts) others.emplace_back(a);
    return mean(x, AxisNames(others));
  };
  return sum(average(report.load) * average(report.probability)) * report.load.axis(kExperts).size;
}
NamedArray router_z_loss(const RouterReport& report) { return mean(report.z); }

template <> std::vector<LayerSample> samples<"Moe">() {
  Axis batch{kBatch, 4}, position{kPosition, 5}, embed{kEmbed, 8}, hidden{kMlp, 6}, experts{kExperts, 4};
  auto two = [=](const Array& k) { return Moe::init(experts, embed, hidden, 2, k); };
  auto one = [=](const Array& k) {
    return Moe::init(experts, embed, hidden, 1, k,
                     {.weights = RouterWeights::probabilities, .activation = Activation::gelu_new});
  };
  auto all = [=](const Array& k) {
    return Moe::init(experts, embed, hidden, 4, k, {.weights = RouterWeights::probabilities});
  };
  auto biased = [=](const Array& k) {
    return Moe::init(experts, embed, hidden, 2, k, {.use_bias = true, .clamped = ClampedGate{1.2, 0.5}});
  };
  auto call = [](const Moe& m, const NamedArray& x) { return m(x); };
  return {sample("two of four", two, example({batch, position, embed}), call),
          sample("one of four, position first", one, example({position, batch, embed}), call),
          sample("two of four, biases, a clamped gate", biased, example({batch, position, embed}), call),
          sample("all, without positions", all, example({embed, batch}), call)};
}
template const bool added<"Moe">;
}  // namespace bora::nn
