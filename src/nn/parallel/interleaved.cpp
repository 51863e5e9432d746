// A stage's work in a tick of 1F1B.
#include <algorithm>
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "nn/parallel/interleaved.h"

namespace bora::nn::detail {
namespace {
Type without(Type t, std::int64_t dim) {
  t.shape.erase(dim);
  return t;
}
/// Rows before the first stage and behind the last one are split over the ranks of the stages as the mapping has it; if
/// there are too few in a microbatch, its positions are.
AxisMapping shared_by(const std::vector<Axis>& axes, const AxisMapping& inside, const AxisName& stage) {
  auto* mesh = here().mesh;
  if (!mesh || !mesh->has(stage)) return current_mapping();
  auto rows = *std::find_if(axes.begin(), axes.end(), [](auto& a) { return a.name == kBatch; });
  auto split = spec_for({rows}, current_mapping())[0];
  auto position = std::find_if(axes.begin(), axes.end(), [](auto& a) { return a.name == kPosition; });
  if (!split.has(stage) || rows.size % mesh->parts(split) == 0 || position == axes.end()) return current_mapping();
  auto along = spec_for({*position}, inside)[0];
  along.push_back(stage);
  if (position->size % mesh->parts(along) != 0) return current_mapping();
  std::vector<Rule> rules{{kPosition, along}};
  for (auto& rule : inside.rules())
    if (rule.axis != kPosition) rules.push_back(rule);
  return AxisMapping(rules).with_gradients(inside.gradients());
}
}  // namespace

Interleaved::Interleaved(const Pipeline& p, const FlatFn& stage, const RowsLoss& loss)
    : p_(p), stages_(p.stage_.size), parts_(p.parts_.size), slots_(2 * stages_ - 1),
      shared_(shared_by(p.axes_, p.inside_, AxisName(p.stage_.name))), spec_(p.spec()) {
  auto mesh = here().mesh;
  auto part_spec = [&](const AxisMapping& mapping) {
    return mesh ? spec_for(p.axes_, mapping) : Spec::replicated(p.axes_.size());
  };
  whole_ = part_spec(p.inside_);
  shares_ = part_spec(shared_);
  std::vector<Axis> axes;
  // Positions are split before rows become microbatches, which rows that are split unevenly could not.
  in_.push_back(p.cut(auto_sharded(p.x_, shared_), axes, shared_));
  Types of_stage{without(in_[0].type(), 0), {{}, i32}}, of_last{of_stage[0]};
  for (std::size_t i = 0; i < p.leaves_.size(); ++i) {
    auto at = p.positions_[i];
    // Stages stand behind layers: a loop over layers takes these first, and needs no transposed copies then.
    in_.push_back(at >= 0 ? moveaxis(p.leaves_[i], at, at + 1) : p.leaves_[i]);
    at_.push_back(at >= 0 ? at + 1 : of_part(i) ? 0 : Pipeline::kSame);
    of_stage.push_back(at_[i] < 0 ? in_.back().type() : without(in_.back().type(), at_[i]));
  }
  rows_at_ = in_.size();
  std::vector<std::vector<Axis>> row_axes(loss.rows.size());
  for (std::size_t i = 0; i < loss.rows.size(); ++i) {
    check<AxisError>(loss.rows[i].has_axis(kBatch), "pipeline_loss: rows ", i, " are ", loss.rows[i].axes(),
                     "; they need an axis ", kBatch);
    in_.push_back(p.cut(loss.rows[i], row_axes[i], shared_));
    of_last.push_back(without(in_.back().type(), 0));
  }
  {
    UseMapping scope(p.inside_);
    stage_ = bora::stage(stage, of_stage);
  }
  check<ValueError>(stage_.program->out_types()[0] == of_stage[0], "pipeline: a layer made ", of_stage[0], " into ",
                    stage_.program->out_types()[0]);
  UseMapping scope(shared_);
  last_ = bora::stage(
      [&](const Arrays& a) {
        std::vector<NamedArray> rows;
        for (std::size_t i = 0; i < row_axes.size(); ++i)
          rows.push_back(tree::Leaf<NamedArray>::with_axes(a[i + 1], row_axes[i]));
        auto y = loss.of(p.part(a[0]), rows);
        check<ValueError>(y.axes().empty() && is_float(y.dtype()), "pipeline_loss: the loss of a microbatch is ",
                          y.dtype(), " with axes ", y.axes(), "; it must be a floating-point scalar");
        return Arrays{y.array()};
      },
      of_last);
  stage_at_ = in_.size();
  append(in_, stage_.captures);
  last_at_ = in_.size();
  append(in_, last_.captures);
  // Inside of grad the differentiated values are known; elsewhere any may be.
  bool known = std::any_of(in_.begin(), in_.end(), [](auto& a) { return a.get()->primal_value() != nullptr; });
  for (auto& a : in_) wrt_.push_back(is_inexact(a.dtype()) && (!known || a.get()->primal_value()));
  Mask wrt{true, false}, invariant{false, false};
  auto add = [&](std::size_t i, bool varies) {
    wrt.push_back(wrt_[i]);
    invariant.push_back(!varies);
    if (wrt_[i]) (varies ? of_parts_ : terms_).push_back(i);
  };
  for (std::size_t i = 0; i < p.leaves_.size(); ++i) add(leaf(i), of_part(i));
  for (auto i = stage_at_; i < last_at_; ++i) add(i, false);
  for (auto i = last_at_; i < in_.size(); ++i)
    if (wrt_[i]) last_terms_.push_back(i);
  halves_.emplace(stage_.program, wrt, invariant);
}
/// x [a microbatch] for every stage.
Array Interleaved::broadcast(const Array& x) const {
  auto shape = x.shape();
  shape.insert(0, stages_);
  return broadcast_to(expand_dims(x, 0), shape);
}
/// The array of one stage, on the ranks of all stages: the sum over them, to which the others add 0.
Array Interleaved::at_stage(std::int64_t stage, const Array& x, const Spec& spec) const {
  auto y = stages_ == 1 ? squeeze(x, 0) : sum(where(p_.is(stage, x.shape()), x, zeros_like(x)), 0);
  return placed(y, spec);
}
/// f over the stages. at, to: their dimension in each input (kSame: it lacks them) and result, or in all results.
Arrays Interleaved::mapped(const FlatFn& f, const Arrays& in, const Dims& at, const Dims& to) const {
  fx::VmapFlat how{{}, {to.begin(), to.end()}, stages_, p_.stage_.name};
  for (auto dim : at) how.in.push_back(dim < 0 ? std::nullopt : std::optional(dim));
  return fx::vmap_flat(f, in, how);
}
/// The inputs of a stage behind {microbatch, number}, and where the stages are in them.
void Interleaved::arguments(const Arrays& in, const Array& part, Arrays& all, Dims& at) const {
  for (std::size_t i = 0; i < p_.leaves_.size(); ++i) {
    all.push_back(of_part(i) ? take(in[leaf(i)], part, 0) : in[leaf(i)]);
    at.push_back(at_[i]);
  }
  for (auto i = stage_at_; i < last_at_; ++i) {
    all.push_back(in[i]);
    at.push_back(Pipeline::kSame);
  }
}
/// The stages' inputs in this tick: the first one gets the next microbatch (or the last one again, in vain).
Array Interleaved::entering(const Arrays& in, const Array& tick, const Array& held) const {
  auto first = broadcast(placed(dynamic_index_in_dim(in[0], clamped(tick, parts_ - 1), 0), whole_));
  if (stages_ == 1) return placed(first, spec_);
  return placed(where(p_.is(0, first.shape()), first, p_.shifted(held, Pipeline::Way::forward)), spec_);
}
Interleaved::Passed Interleaved::forward(const Arrays& in, const Array& mine, const Array& tick, bool keep) const {
  auto part = clamped(tick - p_.numbers(), parts_ - 1);
  Arrays all{mine, part};
  Dims at{0, 0};
  arguments(in, part, all, at);
  UseMapping scope(p_.inside_);
  auto f = [&](const Arrays& a) { return keep ? halves_->forward(a) : interpret(*stage_.program, a); };
  auto out = mapped(f, all, at, {0});
  Passed r{placed(out[0], spec_), {out.begin() + 1, out.end()}};
  if (keep && halves_->reads()[0]) r.kept.push_back(mine);
  return r;
}
Interleaved::Back Interleaved::backward(const Arrays& in, const Arrays& ring, const Array& ct,
                                        const Array& tick) const {
  auto number = p_.numbers();
  auto mine = tick - i32_of(2 * (stages_ - 1)) + number;
  auto valid = mine >= i32_of(0) && mine < i32_of(parts_);
  Dims column(ct.shape().size(), 1);
  column[0] = stages_;
  // A stage that has none of its own works in vain: on numbers of another one, for a cotangent of 0.
  auto wanted = where(broadcast_to(reshape(valid, Shape(column)), ct.shape()), ct, zeros_like(ct));
  auto part = clamped(mine, parts_ - 1);
  auto kept_at = clamped(mine + number, parts_ + stages_ - 2);  // the tick of its forward pass
  Arrays all{placed(wanted, spec_), part, remainder(kept_at, i32_of(slots_))};
  Dims at{0, 0, 0};
  append(all, ring);
  at.resize(all.size(), 0);
  arguments(in, part, all, at);
  UseMapping scope(p_.inside_);
  auto types = stage_.program->in_types();
  auto f = [&](const Arrays& a) {
    Lists lists(a);
    auto cotangent = lists.next(), number = lists.next(), slot = lists.next();
    Arrays kept;
    for (auto& values : lists.next(ring.size())) kept.push_back(take(values, slot, 0, IndexMode::clamp));
    Arrays inputs{Array(), number};
    if (halves_->reads()[0]) {
      inputs[0] = kept.back();
      kept.pop_back();
    }
    append(inputs, lists.next(types.size() - 2));
    auto g = halves_->backward(inputs, kept, {cotangent});
    auto of = [&](std::size_t i) { return g[i].defined() ? g[i] : full_of(types[i], 0); };
    Arrays r{of(0)};
    for (auto i : terms_) r.push_back(of(input_of(i)));
    for (auto i : of_parts_) r.push_back(of(input_of(i)));
    return r;
  };
  Dims to{0};
  for (auto i : terms_) to.push_back(place_of(i));
  to.resize(to.size() + of_parts_.size(), 0);
  Lists lists(mapped(f, all, at, to));
  auto x = placed(lists.next(), spec_);
  auto terms = lists.next(terms_.size());
  return {x, terms, lists.next(of_parts_.size())};
}
}  // namespace bora::nn::detail
