// A block is runs of numbers that are contiguous in the file and have one stride in memory. Runs are collected until
// they have 1 MiB, read (neighbours by one call), and placed.
#include "safetensors_read.h"
#include <algorithm>
#include <cstring>
#include <numeric>
#include "base/api/complex.h"

namespace bora::io {
namespace {
constexpr std::int64_t kRoom = 1 << 20, kGap = 4096;  // a gap shorter than a page costs less than another call

struct Run {
  std::int64_t from, to, n;  // elements: place in the file's tensor, in the block, and number
  std::int64_t at = 0;       // place in the buffer, bytes
};

template <class From, class To, class F>
void place(const std::vector<Run>& runs, std::int64_t stride, const char* buffer, void* out, const F& f) {
  auto* to = static_cast<To*>(out);
  auto element = [&](const Run& r, std::int64_t k) {
    From x;
    std::memcpy(&x, buffer + r.at + k * static_cast<std::int64_t>(sizeof x), sizeof x);
    to[r.to + k * stride] = f(x);
  };
  if (stride == 1) {
    for (auto& r : runs)
      for (std::int64_t k = 0; k < r.n; ++k) element(r, k);
    return;
  }
  std::int64_t longest = 0;  // a transpose: runs beside each other in the file are so in memory
  for (auto& r : runs) longest = std::max(longest, r.n);
  for (std::int64_t k = 0; k < longest; ++k)
    for (auto& r : runs)
      if (k < r.n) element(r, k);
}

class RunReader {
 public:
  RunReader(const File& file, const StoredTensor& t, Dtype dtype, std::int64_t stride, void* out, std::string where)
      : file_(file),
        tensor_(t),
        stored_(*stored_dtype(t.dtype)),
        dtype_(dtype),
        stride_(stride),
        out_(out),
        where_(std::move(where)) {}
  void add(Run r) {
    if (direct() && r.n * stored_.size >= kRoom / 16) {
      read(r.from, r.n, static_cast<char*>(out_) + r.to * stored_.size);
      return;
    }
    while (r.n > 0) {
      Run piece{r.from, r.to, std::min(r.n, kRoom / stored_.size)};
      auto end = runs_.empty() ? r.from : runs_.back().from + runs_.back().n;
      auto bytes = piece.n * stored_.size + std::min(kGap, (r.from - end) * stored_.size);
      if (room_ + bytes > kRoom) flush();
      room_ += bytes;
      runs_.push_back(piece);
      r.from += piece.n, r.to += piece.n * stride_, r.n -= piece.n;
    }
  }
  void flush() {
    std::int64_t end = 0;
    for (std::size_t i = 0, next; i < runs_.size(); i = next) {
      auto first = runs_[i].from, last = first;
      for (next = i; next < runs_.size() && (runs_[next].from - last) * stored_.size <= kGap; ++next) {
        runs_[next].at = end + (runs_[next].from - first) * stored_.size;
        last = runs_[next].from + runs_[next].n;
      }
      auto bytes = (last - first) * stored_.size;
      buffer_.resize(std::max(buffer_.size(), static_cast<std::size_t>(end + bytes)));
      read(first, last - first, buffer_.data() + end);
      end += bytes;
    }
    if (!runs_.empty()) convert();
    runs_.clear();
    room_ = 0;
  }

 private:
  /// Do the file's bytes go into the block as they are?
  bool direct() const {
    return stride_ == 1 && dtype_ == stored_.read_as && stored_name(dtype_) == stored_.name && dtype_ != boolean;
  }
  void read(std::int64_t from, std::int64_t n, char* to) const {
    check<IoError>(file_.read(tensor_.offset + from * stored_.size, to, n * stored_.size), where_,
                   ": the file became shorter while it was read");
  }
  template <class From, class To, class F> void put(const F& f) {
    place<From, To>(runs_, stride_, buffer_.data(), out_, f);
  }
  /// Numbers of the file's dtype, which dtype_ holds: integers as wider ones, fractions rounded.
  template <class From> void put_numbers() {
    dispatch_real(dtype_, where_, [&](auto zero) {
      using To = decltype(zero);
      if constexpr (is_float(dtype_of<From>) && is_float(dtype_of<To>))
        put<From, To>([](From x) { return bora::converted<To>(x); });
      else if constexpr (is_integer(dtype_of<From>) && is_integer(dtype_of<To>) && sizeof(To) > sizeof(From))
        put<From, To>([](From x) { return x; });
      else fail<DtypeError>(where_, ": ", stored_.name, " cannot be read as ", dtype_);
    });
  }
  void convert() {
    if (stored_.read_as == boolean)  // a file may hold any byte
      put<std::uint8_t, bool>([](auto x) { return x != 0; });
    else if (dtype_ == stored_.read_as)
      dispatch_size(dtype_, [&](auto zero) { put<decltype(zero), decltype(zero)>([](auto x) { return x; }); });
    else dispatch_real(*stored_.read_as, where_, [&](auto zero) { put_numbers<decltype(zero)>(); });
  }
  const File& file_;
  const StoredTensor& tensor_;
  const StoredDtype& stored_;
  Dtype dtype_;
  std::int64_t stride_;
  void* out_;
  std::string where_;
  std::vector<Run> runs_ = {};
  std::vector<char> buffer_ = {};
  std::int64_t room_ = 0;
};
}  // namespace

namespace {
/// The dimension of `block` of which each dimension of `split` is a part, in order; empty: they are not its parts. A
/// last dimension of 1 may have none.
std::vector<std::size_t> parts_of_dims(const Shape& block, const Shape& split) {
  std::vector<std::size_t> of;
  std::size_t i = 0;
  for (std::size_t d = 0; d < block.size(); ++d) {
    if (block[d] == 1 && i > 0 && i == split.size()) continue;
    std::int64_t size = 1;
    do {
      if (i == split.size() || split[i] < 1) return {};
      size *= split[i++];
      of.push_back(d);
    } while (size < block[d]);
    if (size != block[d]) return {};
  }
  return i == split.size() ? of : std::vector<std::size_t>();
}
}  // namespace

ResolvedPart resolve(const TensorPart& part, const StoredTensor& t, const std::string& where) {
  auto wrong = [&](const auto&... words) { fail<CheckpointError>(where, ": ", words...); };
  auto view = part.view.value_or(t.shape);
  ResolvedPart r{{}, part.begin, part.order, {}, 0};
  for (auto d : view)
    if (d < 0) wrong("a view as ", view, " is wanted");
  if (volume(view) != volume(t.shape)) wrong("its shape is ", t.shape, ", a view as ", view, " is wanted");
  auto n = view.size();
  auto end = part.end.empty() ? view.dims() : part.end;
  if (r.begin.empty()) r.begin.assign(n, 0);
  auto dims = part.split ? part.split->size() : n;
  if (r.order.empty()) {
    r.order.resize(dims);
    std::iota(r.order.begin(), r.order.end(), 0);
  }
  if (r.begin.size() != n || end.size() != n || r.order.size() != dims)
    wrong("begin, end and order need as many numbers as its view ", view, " has dimensions");
  Shape block;
  for (std::size_t d = 0; d < n; ++d) {
    if (r.begin[d] < 0 || r.begin[d] > end[d] || end[d] > view[d])
      wrong("elements ", r.begin[d], ":", end[d], " of dimension ", d, " of its view ", view, " are wanted");
    block.push_back(end[d] - r.begin[d]);
  }
  r.strides = strides_of(view);
  if (part.split) {
    for (std::size_t d = 0; d < n; ++d) r.first += r.begin[d] * r.strides[d];
    auto parts = parts_of_dims(block, *part.split);
    if (parts.empty()) wrong("a block of ", block, " is wanted as ", *part.split);
    Dims strides(dims);
    for (std::size_t i = dims; i-- > 0;) {
      bool last = i + 1 == dims || parts[i + 1] != parts[i];
      strides[i] = last ? r.strides[parts[i]] : strides[i + 1] * (*part.split)[i + 1];
    }
    r.strides = strides, r.begin.assign(dims, 0), block = *part.split;
  }
  std::vector<bool> seen(dims);
  for (auto d : r.order) {
    if (d < 0 || d >= static_cast<std::int64_t>(dims) || seen[static_cast<std::size_t>(d)])
      wrong("the order ", r.order, " is no permutation of its ", dims, " dimensions");
    seen[static_cast<std::size_t>(d)] = true;
    r.shape.push_back(block[static_cast<std::size_t>(d)]);
  }
  return r;
}

void read_part(const File& file, const StoredTensor& t, const ResolvedPart& part, const Box& box, Dtype dtype,
               char* out, const std::string& where) {
  auto n = part.order.size();
  Box want(n);  // of the view
  Dims to(n);   // strides in the block, by dimension of the view
  std::int64_t stride = 1;
  for (std::size_t i = n; i-- > 0;) {
    auto d = static_cast<std::size_t>(part.order[i]);
    want[d] = {part.begin[d] + box[i].begin, part.begin[d] + box[i].end};
    to[d] = stride;
    stride *= box[i].size();
  }
  if (stride == 0) return;
  auto& from = part.strides;
  // The last dimensions are one run as long as they are whole in the file and evenly spaced in the block.
  std::size_t inner = n;
  std::int64_t run = 1, step = 1;
  while (inner > 0 && from[n - 1] == 1) {  // else numbers of several leaves take turns
    auto d = inner - 1;
    if (run == 1) step = to[d];
    else if (to[d] != run * step) break;
    run *= want[d].size();
    inner = d;
    if (d > 0 && from[d - 1] != from[d] * want[d].size()) break;
  }
  RunReader reader(file, t, dtype, step, out, where);
  Dims at;
  for (auto& range : want) at.push_back(range.begin);
  for (;;) {
    Run r{part.first, 0, run};
    for (std::size_t d = 0; d < n; ++d) {
      r.from += at[d] * from[d];
      r.to += (at[d] - want[d].begin) * to[d];
    }
    reader.add(r);
    auto d = inner;
    while (d > 0 && ++at[d - 1] == want[d - 1].end) at[d - 1] = want[d - 1].begin, --d;
    if (d == 0) break;
  }
  reader.flush();
}
}  // namespace bora::io
