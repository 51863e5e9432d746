// executable.cpp -- a planned Program with its constant pool, the memory of one run, and the cost of a run.
#include "compile/api/executable.h"
#include <algorithm>
#include "bora/array/communicator.h"
#include "array/api/given_up.h"
#include "array/api/nans.h"
#include "bora/base/denormals.h"
#include <mutex>
#include "compile/passes/pass_list.h"
#include "compile/run/executable_run.h"
#include "compile/run/report.h"
#include "compile/run/slab.h"
#include "compile/run/timing.h"

namespace bora {
namespace exec {
namespace {
class Planned final : public Executable {
 public:
  Planned(const Program& p, const CompileOptions& options, const Mask& donated)
      : in_types_(p.in_types()), out_types_(p.out_types()) {
    table_.options = options;
    std::vector<int> may_take(p.in.size(), kNever);
    for (std::size_t i = 0; i < donated.size(); ++i)
      if (donated[i]) may_take[i] = kAnyOutput;
    block_ = compile_block(p, false, may_take, table_);
    info_ = info_of(*block_);
  }

  Arrays run(Arrays in, const Mask& donated) const override {
    check<ShapeError>(in.size() == in_types_.size(), "this Program takes ", in_types_.size(), " inputs, got ",
                      in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      check<TraceError>(is_buffer(in[i]), "input ", i,
                        " is a traced or sharded value; a compiled Program takes buffers");
      check<ShapeError>(in[i].type() == in_types_[i], "input ", i, " should be ", in_types_[i], ", got ", in[i].type());
    }
    FlushDenormals flush(table_.options.flush_denormals || flushes_denormals());
    auto& b = *block_;
    Slab slab(b.bytes);
    auto state = lease();
    auto halts = dynamic_cast<MayGiveUp*>(here().communicator);
    state->halts = halts;
    state->given_up = halts ? halts->given_up() : nullptr;
    state->base[0] = const_cast<char*>(reinterpret_cast<const char*>(table_.pool.data()));
    state->base[static_cast<std::size_t>(b.slab)] = slab.data();
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (b.overwritten[i] && !(i < donated.size() && donated[i])) in[i] = from_bytes(in_types_[i], in[i].bytes());
      state->base[static_cast<std::size_t>(b.in) + i] = const_cast<char*>(static_cast<const char*>(in[i].bytes()));
    }
    Arrays out;
    out.reserve(out_types_.size());
    for (std::size_t k = 0; k < out_types_.size(); ++k) {
      if (auto i = b.out_input[k]; i >= 0) out.push_back(shared(in[static_cast<std::size_t>(i)], out_types_[k]));
      else if (auto j = b.out_same[k]; j >= 0) out.push_back(shared(out[static_cast<std::size_t>(j)], out_types_[k]));
      else {
        auto* data = new_buffer(out_types_[k], out.emplace_back());
        state->base[static_cast<std::size_t>(b.out) + k] = static_cast<char*>(data);
      }
    }
    try {
      exec::run(b, *state);
    } catch (...) {
      state->settle();
      throw;
    }
    give_back(std::move(state));
    return out;
  }
  const ExecutableInfo& info() const override { return info_; }
  std::string explain() const override { return exec::explain(*block_, info_); }
  Work work() const override { return exec::work_of(*block_); }

 private:
  static Array shared(const Array& a, const Type& t) {
    return a.type() == t ? a : adopt(t, memory_of(a));
  }
  std::unique_ptr<State> lease() const {
    {
      std::lock_guard l(mutex_);
      if (!states_.empty()) {
        auto s = std::move(states_.back());
        states_.pop_back();
        return s;
      }
    }
    return std::make_unique<State>(*block_, table_);
  }
  void give_back(std::unique_ptr<State> s) const {
    std::lock_guard l(mutex_);
    states_.push_back(std::move(s));
  }

  Types in_types_, out_types_;
  Table table_;
  BlockPtr block_;
  ExecutableInfo info_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<State>> states_;  // at most as many as runs at the same time
};
}  // namespace
}  // namespace exec

bool exec::passes_through(const Program& p, std::size_t input) {
  return std::find(p.out.begin(), p.out.end(), p.in[input]) != p.out.end();
}
namespace {
/// An input that is a result too is never overwritten: it counts as not donated, so that whoever else holds it makes no
/// other Executable.
Mask taken(const Program& p, Mask donated) {
  for (std::size_t i = 0; i < donated.size() && i < p.in.size(); ++i)
    if (donated[i] && exec::passes_through(p, i)) donated[i] = false;
  return donated;
}
}  // namespace
ExecutablePtr executable(const ProgramPtr& p, const Mask& given) {
  auto donated = taken(*p, given);
  std::string key;
  for (bool d : donated) key += d ? '1' : '0';
  if (p->local && here().mesh) key += " " + to_string(*here().mesh) + " rank " + std::to_string(here().rank);
  return *p->memo.get<ExecutablePtr>(Form::executable, key, [&]() -> ExecutablePtr {
    auto q = p;
    for (auto& pass : exec::passes())
      if (pass.run && (!pass.option || p->compile.*pass.option)) q = pass.run(q);
    return std::make_shared<const exec::Planned>(*q, p->compile, donated);
  });
}
Arrays run_program(const ProgramPtr& p, Arrays in, const Mask& donated) {
  if (!stops_at_nan()) return executable(p, donated)->run(std::move(in), donated);
  if (std::none_of(p->code.begin(), p->code.end(), [](auto& i) { return communicates(i) || has_effect(i); })) {
    auto out = executable(p)->run(in);
    if (std::all_of(out.begin(), out.end(), [](auto& a) { return first_nan(a) < 0; })) return out;
  }
  return interpret(*p, in);
}
}  // namespace bora
