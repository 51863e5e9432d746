// merge_sorted.cpp -- sorted blocks become blocks of the whole order: ranks agree on exact cuts by samples, send each
// other what lies between these, and sort what they get.
#include "ops/primitives/merge_sorted.h"
#include <algorithm>
#include <cstring>
#include <numeric>
#include "bora/array/primitive.h"
#include "kernels/api/index.h"
#include "kernels/api/memory.h"
#include "kernels/api/order.h"
#include "ops/primitives/cuts.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
namespace {
/// The place of this rank in the merge.
struct Merging {
  const MeshShape& mesh = this_mesh(MergeSorted::name);
  MeshAxes axes;
  std::int64_t n, rows;
  std::size_t parts = at(mesh.parts(axes)), me = at(mesh.part(here().rank, axes));
  Merging(const MergeSorted& m, const Shape& block)
      : axes(m.axes), n(m.n), rows(product(block, 0, static_cast<std::int64_t>(block.size()) - 1)) {}
  BlockRange block(std::size_t p) const { return mesh.block(n, axes, static_cast<std::int64_t>(p)); }
  std::int64_t mine() const { return block(me).size(); }
  /// The samples of a round are to be few beside a block, for ranks far more than rows.
  Cuts cuts() const {
    Dims sizes, before;
    for (std::size_t p = 0; p < parts; ++p) sizes.push_back(block(p).size());
    for (std::size_t p = 1; p < parts; ++p) before.push_back(block(p).begin);
    auto P = static_cast<std::int64_t>(parts);
    return Cuts(rows, sizes, before, std::clamp<std::int64_t>(n / (8 * P * P * P), 16, 256));
  }
};
/// All ranks' keys at the places that they ask each other for.
std::vector<std::uint64_t> sampled(Start& s, const Merging& m, const Cuts& cuts) {
  CollectiveCall c{.kind = CollectiveKind::all_gather, .dtype = Dtype::u64};
  for (std::size_t p = 0; p < m.parts; ++p)
    c.recv_counts.push_back(static_cast<std::int64_t>(cuts.asked(p).size()));
  auto places = cuts.asked(m.me);
  std::vector<std::uint64_t> mine(places.size()), all(at(std::accumulate(c.recv_counts.begin(), c.recv_counts.end(),
                                                                         std::int64_t{0})));
  kernels::order_keys(s.in.type.dtype, s.in.data, places.data(), mine.data(), static_cast<std::int64_t>(mine.size()));
  c.in = mine.data();
  c.out = all.data();
  s.round(c)->wait();
  return all;
}
}  // namespace

Type MergeSorted::infer(const Types& in) const {
  auto want = in.at(0).shape;
  want.at(want.size() - 1) = Merging(*this, want).mine();
  for (auto& t : in)
    check<ShapeError>(t.shape == want, "merge_sorted: this rank's block of ", of, " is ", want, ", got ", t);
  return in.back();
}
void MergeSorted::eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
MergeSorted MergeSorted::lift(std::int64_t size) const { return {axes, n, prepend(size, of)}; }
namespace {
/// Bytes of a block of each operand in the scratch memory: all of them lie as their elements need it.
std::size_t room(const Type& t) { return (t.nbytes() + sizeof(Bytes16) - 1) / sizeof(Bytes16) * sizeof(Bytes16); }
}  // namespace
/// What is sent and what comes, of each operand: a block as large as its own.
std::size_t MergeSorted::scratch_bytes(const Types& in, const Types&) const {
  std::size_t bytes = 0;
  for (auto& t : in) bytes += 2 * room(t);
  return bytes;
}
/// As if the keys were in no order: each rank keeps as many as any other one gets.
void MergeSorted::call(CollectiveCall& c, const Type& in, const Type&) const {
  Merging m(*this, in.shape);
  c.kind = CollectiveKind::all_to_all;
  c.sparse = true;
  auto parts = static_cast<std::int64_t>(m.parts);
  for (std::int64_t p = 0; p < parts; ++p) c.send_counts.push_back(equal_block(in.size(), parts, p).size());
  c.recv_counts = c.send_counts;
}
StartedCollective MergeSorted::start(Start s) const {
  const Merging m(*this, s.in.type.shape);
  auto cuts = std::make_shared<Cuts>(m.cuts());
  while (!cuts->found()) cuts->learn(sampled(s, m, *cuts));
  const auto rows = m.rows, mine = m.mine();
  // Of a row, the elements [first, second) of part p's block that part q gets.
  auto given = [cuts](std::int64_t row, std::size_t p, std::size_t q) {
    return BlockRange{q == 0 ? 0 : cuts->at(row, p, q - 1), cuts->at(row, p, q)};
  };
  auto counts = [&](auto range_of_peer) {
    Dims r;
    for (std::size_t k = 0; k < m.parts; ++k) {
      std::int64_t count = 0;
      for (std::int64_t row = 0; row < rows; ++row) count += range_of_peer(row, k).size();
      r.push_back(count);
    }
    return r;
  };
  std::vector<std::shared_ptr<Communicator::Handle>> handles;
  std::vector<std::byte*> sent, came;
  auto* place = s.scratch;
  for (auto& operand : s.all) {
    const auto size = dtype_size(operand.type.dtype);
    auto* data = static_cast<const std::byte*>(operand.data);
    sent.push_back(place);
    for (std::size_t q = 0; q < m.parts; ++q)
      for (std::int64_t row = 0; row < rows; ++row) {
        auto part = given(row, m.me, q);
        auto bytes = at(part.size()) * size;
        if (bytes > 0) std::memcpy(place, data + at(row * mine + part.begin) * size, bytes);
        place += bytes;
      }
    came.push_back(sent.back() + room(operand.type));
    place = came.back() + room(operand.type);
    CollectiveCall c = s.call;
    c.dtype = operand.type.dtype == Dtype::boolean ? Dtype::u8 : operand.type.dtype;
    c.in = sent.back();
    c.out = came.back();
    c.send_counts = counts([&](std::int64_t row, std::size_t q) { return given(row, m.me, q); });
    c.recv_counts = counts([&](std::int64_t row, std::size_t p) { return given(row, p, m.me); });
    handles.push_back(s.round(c));
  }
  Types types;
  for (auto& operand : s.all) types.push_back(operand.type);
  auto last = handles.back();
  handles.pop_back();
  return {last, [=, others = handles, out = s.out.data] {
            for (auto& h : others) h->wait();
            for (std::size_t j = 0; j < types.size(); ++j) {
              if (rows == 1) continue;  // parts of one row lie in order as they come
              const auto size = dtype_size(types[j].dtype);
              std::vector<std::int64_t> begun(at(rows), 0);
              auto* from = came[j];
              for (std::size_t p = 0; p < m.parts; ++p)
                for (std::int64_t row = 0; row < rows; ++row) {
                  auto count = given(row, p, m.me).size();
                  if (count > 0)
                    std::memcpy(sent[j] + at(row * mine + begun[at(row)]) * size, from, at(count) * size);
                  begun[at(row)] += count;
                  from += at(count) * size;
                }
            }
            auto runs = [&](std::size_t j) { return rows == 1 ? came[j] : sent[j]; };
            if (types.size() == 1) return kernels::sort(types[0].dtype, runs(0), out, rows, mine);
            auto order = kernels::allocate(at(rows * mine) * sizeof(std::int32_t));
            auto* places = static_cast<std::int32_t*>(order.get());
            kernels::argsort(types[0].dtype, runs(0), places, rows, mine);
            const auto size = dtype_size(types[1].dtype);
            const Bytes16 no_filler{};
            for (std::int64_t row = 0; row < rows; ++row)
              kernels::take(runs(1) + at(row * mine) * size, places + row * mine,
                            static_cast<std::byte*>(out) + at(row * mine) * size, 1, mine, mine, 1, size,
                            kernels::OutOfRange::clamp, &no_filler);
          }};
}
}  // namespace bora::ops

namespace bora {
template PrimitivePtr primitive<ops::MergeSorted>(ops::MergeSorted);
}
