// fuse_loop.cpp -- a set of instructions as one kernels::Loop. Refuses sets that would not give the instructions' bits
// or do not fit a loop: the same code decides whether an instruction may join and builds the loop in the end.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>
#include "kernels/api/reduce.h"
#include "ops/api/primitives.h"
#include "compile/passes/fuse/fuse_group.h"

namespace bora::exec {
namespace {
using kernels::Instr;
constexpr std::size_t kMostMembers = 96, kTried = 2;
constexpr int kFewRows = 16, kCheapRow = 16, kLeastBlocks = 8;
constexpr int kCheapHalf = 70;  // cost of 32-bit operations in 64-bit lanes: above, registers run out
constexpr std::int64_t kLittleSpace = 4096, kLargeSpace = 65536, kLongestKeptRow = 262144, kShortestSum = 16,
                       kLeastBlock = 1024;  // elements of a run of the loop
constexpr std::size_t kStreamed = std::size_t{32} << 20;  // bytes of a result whose stores bypass the caches

class Builder {
 public:
  /// The loop of box `number` of the regions, if there are any.
  Builder(const Scene& s, const Group& g, const Regions& r, std::size_t number)
      : s_(s), g_(g), regions_(r), box_(r.boxes.empty() ? nullptr : &r.boxes[number]),
        fused_(std::make_shared<Fused>()) {}
  std::shared_ptr<Fused> build() { return fits() ? std::move(fused_) : nullptr; }
  const char* why() const { return why_; }

 private:
  bool no(const char* why) {
    why_ = why;
    return false;
  }
  bool fits() {
    if (g_.members.size() > kMostMembers) return no("together they have more operations than a loop takes");
    if (!find_width()) return false;
    for (std::size_t m = 0; m < g_.members.size(); ++m)
      if (!add(m)) return false;
    add_stores();
    if (!add_sums()) return false;
    if (loads_ + stores_.size() > kernels::kMaxOperands || forms_.size() > 4)
      return no("together they have more operands than a loop takes");
    bool segments = !row_values_return_ && g_.columns >= kFewRows * kernels::kSegment;  // as good as rows
    if (g_.columns > 0 && g_.elements / g_.columns < kFewRows && g_.elements > kLargeSpace &&
        ((cost_ > kCheapRow && !segments) || full_stores_))
      return no("there are too few rows for all threads");
    if (row_values_return_ && g_.columns > kLongestKeptRow) return no("a row is too long to be kept in cache");
    return lay_out() || no("they have no dimensions in common");
  }
  const Item& item(std::size_t m) const { return s_.items[idx(g_.members[m])]; }
  /// Position among the members of the item that computes this variable, or -1.
  int member_of(int variable) const {
    int maker = s_.maker[idx(variable)];
    auto it = std::lower_bound(g_.members.begin(), g_.members.end(), maker);
    return maker >= 0 && it != g_.members.end() && *it == maker ? static_cast<int>(it - g_.members.begin()) : -1;
  }
  bool reads_member(const Read& r) const {
    return std::any_of(r.bottoms.begin(), r.bottoms.end(), [&](int b) { return member_of(b) >= 0; });
  }
  /// 64-bit lanes where any value has 64 bits; 32-bit values then fill half of each vector, or two vectors share one,
  /// which only pays while there are few of them; their reductions would add in another order.
  bool find_width() {
    int narrow = 0;
    bool reduces = false;
    for (std::size_t m = 0; m < g_.members.size(); ++m) {
      auto& i = item(m);
      width_ = std::max({width_, i.width, i.to_width});
      if (i.width != 4 || i.kind == Item::Kind::cast || i.kind == Item::Kind::sum) continue;
      narrow += i.cost;
      reduces = reduces || i.kind == Item::Kind::reduce;
    }
    if (width_ < 8) return true;
    if (reduces) return no("one reduces in 4 bytes, the other computes in 8");
    return narrow <= kCheapHalf || g_.elements <= kLittleSpace || no("one computes much in 4 bytes, the other in 8");
  }
  std::int16_t push(Instr i) {
    fused_->loop.code.push_back(i);
    return static_cast<std::int16_t>(fused_->loop.code.size() - 1);
  }
  std::int16_t constant(Dtype d, std::uint64_t bits) {
    auto& code = fused_->loop.code;
    for (std::size_t k = 0; k < code.size(); ++k)
      if (code[k].kind == Instr::Kind::constant && code[k].dtype == d && code[k].imm == bits)
        return static_cast<std::int16_t>(k);
    return push({.kind = Instr::Kind::constant, .dtype = d, .imm = bits});
  }
  std::int16_t linear(Dtype d, const Access& a) {
    std::size_t form = 0;
    while (form < forms_.size() && (form_starts_[form] || !(forms_[form] == a))) ++form;
    if (form == forms_.size()) {
      forms_.push_back(a);
      form_starts_.push_back(false);
    }
    auto& code = fused_->loop.code;
    for (std::size_t k = 0; k < code.size(); ++k)
      if (code[k].kind == Instr::Kind::linear && code[k].dtype == d && code[k].imm == form)
        return static_cast<std::int16_t>(k);
    return push({.kind = Instr::Kind::linear, .dtype = d, .imm = form});
  }
  int operand(int root, const Access& a) {
    for (std::size_t k = 0; k < loads_; ++k)
      if (fused_->operands[k] == root && accesses_[k] == a) return static_cast<int>(k);
    fused_->operands.push_back(root);
    accesses_.push_back(a);
    return static_cast<int>(loads_++);
  }
  /// The value of a variable as a member reads it, or -1.
  std::int16_t value(int variable, bool per_row) {
    auto& read = s_.read(variable);
    auto d = s_.graph.type(variable).dtype;
    if (read.kind == Read::Kind::pieces && (per_row || reads_member(read))) return -1;
    auto& r = box_ ? read.origin_at(box_->begin) : read;
    if (r.kind == Read::Kind::constant) return constant(d, r.bits);
    if (r.kind == Read::Kind::linear) return per_row ? std::int16_t{-1} : linear(d, r.access);
    if (reads_member(read)) {
      int m = member_of(r.root);
      if (!read.is_direct() || m < 0) return -1;
      if (m >= now_ || item(static_cast<std::size_t>(m)).kind == Item::Kind::sum) return -1;
      bool row = g_.per_row[static_cast<std::size_t>(m)];
      if (row == per_row ? !is_contiguous(r.access) : per_row || !is_one_per_row(r.access, g_.columns)) return -1;
      row_values_return_ = row_values_return_ || row != per_row;
      return values_[static_cast<std::size_t>(m)];
    }
    auto k = operand(r.root, per_row ? along_rows(r.access, g_.columns) : r.access);
    auto& code = fused_->loop.code;
    for (std::size_t j = 0; j < code.size(); ++j)
      if (code[j].kind == Instr::Kind::load && code[j].imm == static_cast<std::uint64_t>(k))
        return static_cast<std::int16_t>(j);
    return push({.kind = Instr::Kind::load, .dtype = d, .imm = static_cast<std::uint64_t>(k)});
  }
  std::int16_t convert(Instr::Kind kind, Dtype to, std::int16_t v) {
    return push({.kind = kind, .dtype = to, .in = {v, -1, -1, -1}});
  }
  /// Dtypes that are stored only are cast by way of the dtype that computes for them, floats clamped to their range.
  std::int16_t cast(std::int16_t v, Dtype to) {
    auto from = fused_->loop.code[static_cast<std::size_t>(v)].dtype;
    auto step = [&](Dtype d) {
      if (std::exchange(from, d) != d) v = convert(Instr::Kind::cast, d, v);
    };
    bool saturates = is_float(from) && is_integer(to) && is_stored_only(to);
    step(computed_as(from));
    step(computed_as(to));
    if (saturates) {
      auto limit = [&](std::int32_t n) { return constant(i32, static_cast<std::uint32_t>(n)); };
      auto bits = 8 * static_cast<int>(dtype_size(to));
      bool sign = info(to).kind == Kind::integer;
      auto low = limit(sign ? -(1 << (bits - 1)) : 0), high = limit((1 << (sign ? bits - 1 : bits)) - 1);
      v = push({.kind = Instr::Kind::op, .dtype = i32, .op = kernels::find_op("clamp"), .in = {low, v, high, -1}});
    }
    step(to);
    return v;
  }
  bool add(std::size_t m) {
    using K = Item::Kind;
    auto& it = item(m);
    auto& code = *it.code;
    auto& out = s_.graph.type(code.out[0]);
    now_ = static_cast<int>(m);
    bool reduces = it.kind == K::reduce, row = g_.per_row[m] && !reduces;
    if ((row ? it.elements * g_.columns : it.elements) != g_.elements ||
        ((reduces || it.kind == K::sum) && it.columns != g_.columns))
      return no("their rows differ");
    if (it.kind == K::sum) {
      values_.push_back(-1);
      return true;
    }
    cost_ += it.cost;
    if (it.kind == K::random)
      return (!g_.per_row[m] && add_random(code, out)) || no("random bits are drawn with values of the loop itself");
    Instr i{.kind = Instr::Kind::op, .dtype = out.dtype, .op = it.op};
    for (std::size_t k = 0; k < code.in.size(); ++k) {
      if (k >= kernels::kMaxInputs) return no("an operation has more operands than a loop's");
      i.in[k] = value(code.in[k], row);
      if (i.in[k] < 0)
        return no("one reads the other's values elsewhere than they are made, or before all of them are made");
    }
    auto& first = fused_->loop.code[static_cast<std::size_t>(i.in[0])];
    static const auto select = kernels::find_op("select");
    bool chosen = it.kind == K::op && it.op == select && first.kind == Instr::Kind::constant;  // around a window
    if (it.kind == K::cast || chosen) {
      values_.push_back(chosen ? i.in[first.imm ? 1 : 2] : cast(i.in[0], i.dtype));
      return true;
    }
    if (it.kind == K::bitcast) i.kind = Instr::Kind::bitcast;
    if (reduces) i.kind = Instr::Kind::reduce, i.imm = static_cast<std::uint64_t>(it.reduction);
    values_.push_back(push_in_lanes(i));
    return true;
  }
  /// bool has the width of the lanes: narrower values are widened where they are compared or selected, which is exact.
  std::int16_t push_in_lanes(Instr i) {
    auto type = [&](std::size_t k) { return fused_->loop.code[static_cast<std::size_t>(i.in[k])].dtype; };
    constexpr auto cast = Instr::Kind::cast, bitcast = Instr::Kind::bitcast;
    bool selects = i.kind == Instr::Kind::op && type(0) == boolean && i.dtype != boolean;
    if (width_ < 8 || i.kind != Instr::Kind::op || (i.dtype != boolean && !selects)) return push(i);
    auto result = i.dtype;
    for (std::size_t k = 0; k < kernels::kMaxInputs && i.in[k] >= 0; ++k) {
      auto d = type(k);
      if (d == boolean || dtype_size(d) == 8) continue;
      if (selects && d == f32) i.in[k] = convert(bitcast, i32, i.in[k]);
      i.dtype = is_float(type(k)) ? f64 : i64;
      i.in[k] = convert(cast, i.dtype, i.in[k]);
      if (!selects) i.dtype = boolean;
    }
    auto v = push(i);
    if (i.dtype == result) return v;
    return result == f32 ? convert(bitcast, f32, convert(cast, i32, v)) : convert(cast, result, v);
  }
  bool add_random(const Instruction& code, const Type& out) {
    auto* d = as<ops::RandomBits>(code.primitive);
    auto& key = s_.read(code.in[0]);
    auto& keys = s_.graph.type(code.in[0]).shape;
    if (key.kind != Read::Kind::memory || reads_member(key)) return false;
    Access at_key{out.shape.dims(), Dims(out.shape.size())}, counter = at_key;
    auto own = strides_of(keys), count = strides_of(d->shape);
    for (std::size_t k = 0; k < keys.size(); ++k) at_key.strides[k] = own[k];
    for (std::size_t k = 0; k < count.size(); ++k) counter.strides[keys.size() + k] = count[k];
    auto form = forms_.size();
    forms_.push_back(counter);
    form_starts_.push_back(true);
    for (std::size_t k = 1; k < code.in.size(); ++k) {
      auto& start = s_.read(code.in[k]);
      if (start.kind == Read::Kind::linear || (start.kind == Read::Kind::memory && reads_member(start)))
        return false;
      if (start.kind == Read::Kind::constant) {
        if (form < 4)
          fused_->args.linear[form].base +=
              static_cast<std::int32_t>(static_cast<std::uint32_t>(start.bits)) * count[k - 1];
      } else fused_->starts.push_back({static_cast<int>(form), start.root, count[k - 1]});
    }
    // The key is read in place: an operand of its own, although other members of the group may read the same key.
    auto root = key.is_direct() ? key.root : static_cast<int>(s_.graph.at(code.in[0]));
    auto k = operand(root, at_key);
    values_.push_back(push(
        {.kind = Instr::Kind::random_bits, .dtype = d->dtype, .operand = static_cast<std::int16_t>(k), .imm = form}));
    return true;
  }
  void add_stores() {
    for (std::size_t m = 0; m < g_.members.size(); ++m) {
      if (item(m).kind == Item::Kind::sum) continue;
      auto root = s_.graph.at(item(m).code->out[0]);
      bool outside = s_.kept[root];
      for (int r : s_.readers[root]) outside = outside || !std::binary_search(g_.members.begin(), g_.members.end(), r);
      if (outside) store(m);
    }
  }
  void store(std::size_t m) {
    full_stores_ = full_stores_ || !g_.per_row[m];
    stores_.push_back(m);
    fused_->operands.push_back(static_cast<int>(s_.graph.at(item(m).code->out[0])));
    accesses_.push_back(g_.per_row[m] ? along_rows(contiguous(g_.elements / g_.columns), g_.columns)
                                      : contiguous(g_.elements));
  }
  /// Operands of sums: an operand that the loop loads or stores anyway, or a value that is stored for the sums alone.
  bool add_sums() {
    for (std::size_t m = 0; m < g_.members.size(); ++m) {
      auto& it = item(m);
      fused_->whole_rows = fused_->whole_rows || it.kind == Item::Kind::reduce || g_.per_row[m];
      if (it.kind != Item::Kind::sum) continue;
      auto& r = s_.read(it.code->in[0]);
      int made = member_of(r.root);
      if (box_ || !r.is_direct() || !is_contiguous(r.access) ||
          (made >= 0 && (g_.per_row[idx(made)] || item(idx(made)).kind == Item::Kind::sum)))
        return no("the rows of a sum are not those of the loop");
      auto& all = fused_->operands;
      auto k = idx(std::find(all.begin(), all.end(), r.root) - all.begin());
      while (k < loads_ && !is_contiguous(accesses_[k]))
        k = idx(std::find(all.begin() + static_cast<std::ptrdiff_t>(k) + 1, all.end(), r.root) - all.begin());
      if (k == all.size()) {
        if (made < 0) return no("the loop does not read what a sum adds up");
        store(idx(made));
        ++fused_->unkept;
      } else if (k >= loads_ && k < fused_->kept() &&
                 s_.graph.type(it.code->in[0]).nbytes() >= kStreamed) {
        return no("what a sum adds up is so large a result that it bypasses the caches");
      }
      if (!fused_->sums.empty() && fused_->sum_rows != it.rows) return no("their sums are of different lengths");
      fused_->sum_rows = it.rows;
      fused_->sums.push_back({it.reduction, k, it.code->out[0]});
    }
    auto &f = *fused_;
    if (f.sums.empty()) return true;
    auto rows = g_.elements / g_.columns, block = std::min(f.sum_rows, kernels::kBlockRows);
    bool parallel = !f.whole_rows || rows >= kLeastBlocks * block || g_.elements <= kLargeSpace;
    if (!parallel) return no("there are too few blocks of rows for all threads");
    if (f.sum_rows < rows && block * g_.columns < kLeastBlock) return no("a sum has too few rows");
    return (f.operands.size() > f.unkept && g_.columns >= kShortestSum && g_.members.size() > f.sums.size()) ||
           no("the rows of a sum are too short");
  }
  /// Elements in the dimensions behind each cut one, and in it.
  Dims bounds() const {
    Dims r;
    std::int64_t below = 1;
    for (std::size_t d = box_ ? regions_.dims.size() : 0; d-- > 0; below *= regions_.dims[d])
      if (regions_.cut[d]) r.insert(r.end(), {below, below * regions_.dims[d]});
    return r;
  }
  /// Restricts the layout to the box; its first coordinates, or nullopt if a cut dimension is not one of the loop.
  std::optional<Dims> restrict(Layout& l) const {
    Dims begin(l.extents.size());
    if (!box_) return begin;
    std::int64_t below = 1, behind = 1;
    auto at = l.extents.size();
    for (std::size_t d = regions_.dims.size(); d-- > 0; below *= regions_.dims[d]) {
      if (!regions_.cut[d]) continue;
      while (at > 0 && behind < below) behind *= l.extents[--at];
      if (at == 0 || behind != below || l.extents[at - 1] != regions_.dims[d] || below < g_.columns)
        return std::nullopt;
      --at;
      behind *= regions_.dims[d];
      begin[at] = box_->begin[d];
      l.extents[at] = box_->end[d] - box_->begin[d];
    }
    return begin;
  }
  bool lay_out() {
    auto all = accesses_;
    all.insert(all.end(), forms_.begin(), forms_.end());
    auto l = common_layout(g_.elements, g_.columns, all, bounds());
    if (!l) return false;
    auto begin = restrict(*l);
    if (!begin) return false;
    bool turned = box_ && g_.columns == 0 && turn_thin_rows(*l, *begin);
    auto offset = [&](const Access& access, const Dims& strides) {
      return std::inner_product(begin->begin(), begin->end(), strides.begin(), access.offset);
    };
    auto& a = fused_->args;
    a.ndim = static_cast<int>(l->extents.size());
    std::copy(l->extents.begin(), l->extents.end(), a.extent);
    auto& loop = fused_->loop;
    for (std::size_t k = 0; k < accesses_.size(); ++k) {
      auto step = l->strides[k].back();
      auto dtype = s_.graph.vars[idx(fused_->operands[k])].dtype;
      bool gathered = turned || (k < loads_ && std::abs(step) <= kFarthest);
      if (step != 0 && ((step != 1 && (!gathered || g_.elements == 1)) || dtype == Dtype::key)) {
        if (g_.elements != 1) return false;
        step = 0;
      }
      loop.operands.push_back({dtype, step != 0});
      fused_->offsets.push_back(offset(accesses_[k], l->strides[k]));
      std::copy(l->strides[k].begin(), l->strides[k].end(), a.stride[k]);
      a.stride[k][a.ndim - 1] = step;
    }
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      auto& strides = l->strides[accesses_.size() + f];
      std::copy(strides.begin(), strides.end(), a.linear[f].stride);
      a.linear[f].base += offset(forms_[f], strides);
    }
    loop.linear_forms = static_cast<int>(forms_.size());
    for (std::size_t j = 0; j < stores_.size(); ++j) {
      auto m = stores_[j];
      push({.kind = Instr::Kind::store,
            .dtype = s_.graph.type(item(m).code->out[0]).dtype,
            .in = {values_[m], -1, -1, -1},
            .imm = loads_ + j});
    }
    if (box_) fused_->begin = box_->begin, fused_->end = box_->end;
    fused_->stored.resize(fused_->operands.size());
    std::fill(fused_->stored.begin() + static_cast<std::ptrdiff_t>(loads_), fused_->stored.end(), true);
    for (std::size_t m = 0; m < g_.members.size(); ++m) fused_->members.push_back(item(m).code->primitive);
    return true;
  }

  const Scene& s_;
  const Group& g_;
  const Regions& regions_;
  const Box* box_;
  std::shared_ptr<Fused> fused_;
  const char* why_ = "";
  int width_ = 0, now_ = 0, cost_ = 0;
  std::size_t loads_ = 0;
  std::vector<Access> accesses_, forms_;  // of operands: loads, then stores
  std::vector<bool> form_starts_;         // a form of random bits: not shared
  std::vector<std::int16_t> values_;      // of members
  std::vector<std::size_t> stores_;       // members that others read
  bool full_stores_ = false, row_values_return_ = false;
};
}  // namespace

std::shared_ptr<Fused> make_loop(const Scene& s, const Group& g, const char*& why, bool whole) {
  auto regions = regions_of(s, g);
  if (!regions) {
    why = "there are too many boxes in which their operands lie at different places";
    return nullptr;
  }
  std::shared_ptr<Fused> r;
  auto count = std::max<std::size_t>(1, regions->boxes.size());
  for (std::size_t k = 0; k < (whole ? count : std::min(count, kTried)); ++k) {
    Builder b(s, g, *regions, k);
    auto loop = b.build();
    if (!loop) {
      why = b.why();
      return nullptr;
    }
    if (!r) r = std::move(loop);
    else r->edges.push_back(std::move(loop));
  }
  return r;
}
}  // namespace bora::exec
