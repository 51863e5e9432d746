// random_bits: JAX's partitionable Threefry stream (jax/_src/prng.py). The counter of an element is its row-major
// position in the GLOBAL shape of the draw, so a block draws exactly its part.
#include "kernels/api/loop.h"
#include "ops/api/collective_primitives.h"
#include "ops/primitives/dims.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "ops/api/primitives.h"

namespace bora::ops {
Type RandomBits::infer(const Types& in) const {
  check<DtypeError>(in.at(0).dtype == Dtype::key, "random: needs a key (random::key(seed)), got ", in[0]);
  check<DtypeError>(dtype == u8 || dtype == u32 || dtype == i64,
                    "random bits: the dtype must be u8, u32 or i64 (8, 32, 64 bits), got ", dtype);
  check<ShapeError>(sizes.size() == shape.size() && (in.size() == 1 || in.size() == 1 + shape.size()),
                    "random bits: a block of ", shape, " needs one size and one start a dimension");
  for (std::size_t d = 0; d < shape.size(); ++d)
    check<ShapeError>(shape[d] >= 0, "random: sizes must not be negative, got ", shape);
  for (std::size_t i = 1; i < in.size(); ++i)
    check<ShapeError>(in[i] == Type{{}, i32}, "random bits: starts must be i32 scalars, got ", in[i]);
  auto s = in[0].shape;
  s.append(sizes);
  return {s, dtype};
}
namespace {
kernels::LoopKernelPtr bits_kernel(Dtype dtype) {
  using kernels::Instr;
  kernels::Loop loop;
  loop.operands = {{Dtype::key, false}, {dtype, true}};
  loop.linear_forms = 1;
  loop.code = {{.kind = Instr::Kind::random_bits, .dtype = dtype, .operand = 0, .imm = 0},
               {.kind = Instr::Kind::store, .dtype = dtype, .in = {0, -1, -1, -1}, .imm = 1}};
  return kernels::compile(loop);
}
}  // namespace

void RandomBits::eval(InputViews in, OutputViews out) const {
  auto keys = in[0].type.size();
  if (out[0].type.size() == 0) return;
  auto counter = strides_of(shape);
  std::int64_t base = 0;
  for (std::size_t d = 0; d + 1 < in.size(); ++d) base += *in[d + 1].as<std::int32_t>() * counter[d];
  // Merges neighbouring dimensions that are contiguous in both the block and the counter.
  Dims extent, step;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (!extent.empty() && step.back() == counter[d] * sizes[d]) {
      extent.back() *= sizes[d];
      step.back() = counter[d];
    } else {
      extent.push_back(sizes[d]);
      step.push_back(counter[d]);
    }
  }
  if (extent.empty()) extent = {1}, step = {1};
  // The kernel takes kMaxDims dimensions, one of them for keys; the outer ones are iterated over here.
  auto inner = std::min<std::size_t>(extent.size(), kernels::kMaxDims - 1), outer = extent.size() - inner;
  auto kernel = bits_kernel(dtype);
  kernels::LoopArgs a;
  a.ndim = static_cast<int>(inner) + 1;
  a.extent[0] = keys;
  a.stride[0][0] = 1;
  auto row = volume(sizes);
  a.stride[1][0] = row;
  std::int64_t block = 1;
  for (std::size_t d = inner; d-- > 0;) {
    a.extent[d + 1] = extent[outer + d];
    a.stride[1][d + 1] = block;
    a.linear[0].stride[d + 1] = step[outer + d];
    block *= extent[outer + d];
  }
  a.pointer[0] = const_cast<void*>(in[0].data);
  for_each_index(Shape(Dims(extent.begin(), extent.begin() + static_cast<std::ptrdiff_t>(outer))), [&](std::int64_t k,
                                                                                                       const Dims& i) {
    a.linear[0].base = base;
    for (std::size_t d = 0; d < i.size(); ++d) a.linear[0].base += i[d] * step[d];
    a.pointer[1] = static_cast<char*>(out[0].data) + k * block * static_cast<std::int64_t>(dtype_size(dtype));
    kernels::run(*kernel, a);
  });
}
RandomBits RandomBits::lift(std::int64_t) const { return *this; }
/// Each rank draws its own block. A split batch of keys stays split.
std::optional<std::vector<Sharded>> RandomBits::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  Spec tail = spec, keys = in[0].spec;
  check<ShardError>(spec.size() <= shape.size(), "random: the Spec ", spec, " has more entries than the shape ", shape);
  tail.resize(shape.size());
  for (std::size_t d = 0; d < keys.size(); ++d)
    for (auto& m : MeshAxes(keys[d]))
      if (tail.uses(m)) keys[d].remove(m);
  auto key = s.reshard(in[0], keys);
  auto out = infer({key.type});
  Spec full = keys;
  for (auto& d : tail) full.push_back(d);
  Arrays a{key.local};
  for (std::size_t d = 0; d < shape.size(); ++d)
    a.push_back(tail[d].empty() ? constant(0, i32) : block_start(shape[d], tail[d]));
  return {{{call_one(RandomBits{shape, dtype, {}, s.local_shape(shape, tail)}, a), out, full}}};
}
SamplesOf<RandomBits> RandomBits::samples() {
  const std::uint32_t words[] = {7, 9, 13, 21};
  auto one = from_bytes({{}, Dtype::key}, words), two = from_bytes({{2}, Dtype::key}, words);
  return {{{{2, 3}, u32, {}, {2, 3}}, {one}},
          {{{4}, u8, {}, {4}}, {two}},
          {{{3}, i64, {}, {3}}, {one}},
          {{{0, 2}, u32, {}, {0, 2}}, {one}},
          {{{}, u32, {}, {}}, {two}}};
}
}  // namespace bora::ops

namespace bora {
template PrimitivePtr primitive<ops::RandomBits>(ops::RandomBits);
}  // namespace bora
