// values.h -- inputs of ranks in tests of collectives, and the expected results.
#pragma once
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>
#include "carrier/arena.h"
#include "schedule/sum.h"
#include "wire/link.h"

namespace bora::transport {
using Counts = std::vector<std::int64_t>;
/// Bytes of a buffer, in memory where the test wants it. (A vector copies and destroys them one by one below -O2.)
class Bytes {
 public:
  static inline std::atomic<bool> registered = false;
  Bytes() = default;
  explicit Bytes(std::size_t n, std::byte each = {}) : Bytes(n, n) {
    if (n > 0) std::memset(data(), static_cast<int>(each), n);
  }
  Bytes(const Bytes& b) : Bytes(b.size_, b.size_) {
    if (size_ > 0) std::memcpy(data(), b.data(), size_);
  }
  Bytes(Bytes&& b) noexcept { *this = std::move(b); }
  Bytes& operator=(const Bytes& b) { return *this = Bytes(b); }
  Bytes& operator=(Bytes&& b) noexcept {
    memory_ = std::move(b.memory_), size_ = std::exchange(b.size_, 0), room_ = std::exchange(b.room_, 0);
    return *this;
  }
  std::byte* data() { return static_cast<std::byte*>(memory_.get()); }
  const std::byte* data() const { return static_cast<const std::byte*>(memory_.get()); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void append(const Bytes& b) {
    if (b.empty()) return;
    if (size_ + b.size_ > room_) {
      Bytes more(size_, 2 * (size_ + b.size_));
      if (size_ > 0) std::memcpy(more.data(), data(), size_);
      *this = std::move(more);
    }
    std::memcpy(data() + size_, b.data(), b.size_);
    size_ += b.size_;
  }
  friend bool operator==(const Bytes& a, const Bytes& b) {
    return a.size_ == b.size_ && (a.empty() || std::memcmp(a.data(), b.data(), a.size_) == 0);
  }

 private:
  Bytes(std::size_t n, std::size_t room) : size_(n), room_(room) {
    if (room > 0) memory_ = registered ? Arena::mine()->allocate(room) : private_memory(room);
  }
  std::shared_ptr<void> memory_;
  std::size_t size_ = 0, room_ = 0;
};
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
/// Bytes that several ranks of this process need: the first to ask makes them. Of all that were made, some 64 MiB are
/// kept.
template <class... Key> class MadeOnce {
 public:
  template <class F> Bytes operator()(F make, Key... key) {
    std::shared_ptr<Entry> entry;
    {
      std::lock_guard lock(mutex_);
      if (size_ > std::size_t{64} << 20) entries_.clear(), size_ = 0;
      auto& known = entries_[{key...}];
      if (!known) known = std::make_shared<Entry>();
      entry = known;
    }
    std::call_once(entry->once, [&] {
      entry->bytes = make();
      std::lock_guard lock(mutex_);
      size_ += entry->bytes.size();
    });
    Bytes copy(entry->bytes.size());
    if (!copy.empty()) std::memcpy(copy.data(), entry->bytes.data(), copy.size());
    return copy;
  }

 private:
  struct Entry {
    std::once_flag once;
    std::vector<std::byte> bytes;
  };
  std::mutex mutex_;
  std::map<std::tuple<Key...>, std::shared_ptr<Entry>> entries_;
  std::size_t size_ = 0;
};
/// Rank r's input for test `salt`: numbers whose sums round differently in every order.
inline Bytes made(Dtype d, int rank, std::int64_t n, int salt = 0) {
  static MadeOnce<Dtype, int, std::int64_t, int> known;
  return known(
      [&] {
        auto state = static_cast<std::uint32_t>(rank * 7919 + salt + 1);
        auto g = [&] { return state = state * 1664525u + 1013904223u; };
        std::vector<std::byte> b(at(n) * dtype_size(d));
        auto fill = [&](auto number) {
          for (std::int64_t i = 0; i < n; ++i) {
            float x = static_cast<float>(static_cast<std::int32_t>(g())) * (i % 7 == 0 ? 1.0f : 1e-6f);
            auto v = number(x);
            std::memcpy(b.data() + at(i) * sizeof v, &v, sizeof v);
          }
        };
        switch (d) {
          case Dtype::f32: fill([](float x) { return x; }); break;
          case Dtype::f64: fill([](float x) { return static_cast<double>(x) * 1.000000001; }); break;
          case Dtype::bf16: fill([](float x) { return bfloat16(x); }); break;
          case Dtype::i32: fill([&](float) { return static_cast<std::int32_t>(g()); }); break;
          case Dtype::i64: fill([&](float) { return static_cast<std::int64_t>(g()) << 20; }); break;
          case Dtype::u32: fill([&](float) { return static_cast<std::uint32_t>(g()); }); break;
          case Dtype::boolean: fill([&](float) { return static_cast<std::uint8_t>(g() >> 31); }); break;
          default: fill([&](float) { return static_cast<std::uint8_t>(g() >> 24); }); break;
        }
        return b;
      },
      d, rank, n, salt);
}
inline Bytes reduced(Reduction r, Dtype d, int P, std::int64_t n, int salt) {
  static MadeOnce<Reduction, Dtype, int, std::int64_t, int> known;
  return known(
      [&] {
        std::vector<Bytes> parts;
        std::vector<const std::byte*> p;
        for (int k = 0; k < P; ++k) parts.push_back(made(d, k, n, salt));
        for (auto& b : parts) p.push_back(b.data());
        std::vector<std::byte> out(at(n) * dtype_size(d));
        reduce_in_order(r, d, p, out.data(), at(n));
        return out;
      },
      r, d, P, n, salt);
}
inline Bytes part(const Bytes& b, std::int64_t begin, std::int64_t n, Dtype d) {
  auto e = static_cast<std::int64_t>(dtype_size(d));
  Bytes r(at(n * e));
  if (n) std::memcpy(r.data(), b.data() + begin * e, r.size());
  return r;
}
}  // namespace bora::transport
