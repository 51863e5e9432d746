// cache.cpp -- cache of kernels by Loop, least recently used first out; decides when a kernel gets machine code.
#include <list>
#include <memory>
#include <unordered_map>
#include "base/api/cache_counts.h"
#include "bora/base/shape.h"
#include "kernels/jit/loop_code.h"
#include "kernels/loop/short_rows.h"

namespace bora::kernels {
namespace {
constexpr std::size_t kMostKernels = 8192, kMostCode = std::size_t{64} << 20;
/// Rough time to generate a loop: a kernel is interpreted until it has spent as much time there.
constexpr double kGenerateNanoseconds = 200e3;
constexpr std::int64_t kCallNanoseconds = 100;

struct LoopHash {
  std::size_t operator()(const Loop& l) const {
    std::size_t h = hash_combine(l.operands.size(), static_cast<std::size_t>(l.linear_forms));
    for (const Operand& o : l.operands) h = hash_combine(h, static_cast<std::size_t>(o.dtype) * 2 + o.columns);
    for (const Instr& i : l.code) {
      h = hash_combine(h, static_cast<std::size_t>(i.kind) | static_cast<std::size_t>(i.dtype) << 8 |
                              static_cast<std::size_t>(i.op) << 16 |
                              static_cast<std::size_t>(static_cast<std::uint16_t>(i.operand)) << 32);
      h = hash_combine(h, i.imm);
      for (auto x : i.in) h = hash_combine(h, static_cast<std::uint16_t>(x));
    }
    return h;
  }
};

class Cache {
 public:
  LoopKernelPtr find(const Loop& loop) {
    std::lock_guard lock(mutex_);
    const auto it = index_.find(&loop);
    counts_->found_locked(it != index_.end());
    if (it == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return *it->second;
  }
  LoopKernelPtr add(LoopKernelPtr made) {
    std::lock_guard lock(mutex_);
    if (const auto it = index_.find(&made->loop); it != index_.end()) return *it->second;
    // Kernels in use live on, with their code.
    for (auto n = order_.size() + 1; n > 1 && (n > kMostKernels || jit::CodeMemory::total() > kMostCode); --n) {
      index_.erase(&order_.back()->loop);
      order_.pop_back();
      counts_->evicted();
    }
    order_.push_front(std::move(made));
    counts_->added();
    index_.emplace(&order_.front()->loop, order_.begin());
    return order_.front();
  }

 private:
  struct Hash {
    std::size_t operator()(const Loop* l) const { return LoopHash()(*l); }
  };
  struct Same {
    bool operator()(const Loop* a, const Loop* b) const { return *a == *b; }
  };
  std::shared_ptr<bora::detail::CacheCounts> counts_ =
      bora::detail::listed_cache("kernels", kMostKernels, &jit::CodeMemory::total);
  std::mutex mutex_;
  std::list<LoopKernelPtr> order_;  // most recently used first
  std::unordered_map<const Loop*, std::list<LoopKernelPtr>::iterator, Hash, Same> index_;
};
}  // namespace

void LoopKernel::generate() const {
  std::call_once(once_, [this] {
    try {
      made_ = std::make_shared<const jit::LoopCode>(*this);
      code_.store(made_.get(), std::memory_order_release);
    } catch (const jit::Uncovered& u) { why_not_ = u.reason; }
    tried_.store(true, std::memory_order_release);
  });
}
const jit::LoopCode* LoopKernel::code(double nanoseconds) const {
  if (const auto* c = code_.load(std::memory_order_acquire)) return c;
  if (mode_ == Code::interpreted || tried_.load(std::memory_order_acquire)) return nullptr;
  if (mode_ == Code::by_work) {
    const auto now = static_cast<std::int64_t>(std::min(nanoseconds, kGenerateNanoseconds)) + kCallNanoseconds;
    if (static_cast<double>(spent_.fetch_add(now, std::memory_order_relaxed) + now) < kGenerateNanoseconds)
      return nullptr;
  }
  generate();
  return code_.load(std::memory_order_acquire);
}
const LoopKernel& LoopKernel::joined() const {
  std::call_once(joined_once_, [this] {
    Loop all = loop;
    for (Operand& o : all.operands) o.columns = true;
    joined_ = compile_for(all, isa, mode_);
  });
  return *joined_;
}
const LoopKernel& LoopKernel::halves() const {
  std::call_once(halves_once_, [this] { halves_ = compile_for(loop, Isa::v3, Code::generated); });
  return *halves_;
}
const ShortRows* LoopKernel::short_rows() const {
  std::call_once(short_once_, [this] { short_ = ShortRows::make(*this, mode_); });
  return short_.get();
}
std::string code_report(const LoopKernel& k) {
  if (k.mode_ == Code::interpreted) return "interpreted: BORA_JIT=off";
  k.generate();
  if (!k.made_) return "interpreted: " + k.why_not_;
  return "generated, " + std::to_string(k.made_->bytes()) + " bytes" + (k.made_->narrow() ? ", lanes of 16 bits" : "");
}
LoopKernelPtr compile_for(const Loop& loop, Isa isa, Code mode) {
  return std::make_shared<const LoopKernel>(loop, isa, mode);
}
LoopKernelPtr compile(const Loop& loop) {
  static auto& cache = *new Cache();
  if (auto found = cache.find(loop)) return found;
  // Compiled outside the lock: two threads may both compile the same Loop.
  return cache.add(compile_for(loop, isa(), jit::enabled() ? Code::by_work : Code::interpreted));
}
}  // namespace bora::kernels
