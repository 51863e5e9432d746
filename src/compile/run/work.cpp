// The work of a planned block as a list of events.
#include "bora/compile/work.h"
#include "compile/api/executable.h"
#include <algorithm>
#include <map>
#include <utility>
#include "ops/api/collective_primitives.h"
#include "compile/run/executable_run.h"
#include "compile/run/timing.h"
#include "kernels/api/loop.h"

namespace bora::exec {
namespace {
using Event = Work::Event;
using Events = std::vector<Event>;
double loop_bytes(const LoopStep& x) {
  auto& a = x.fused->args;
  double n = 0;
  for (std::size_t k = 0; k < x.fused->kept(); ++k) {
    auto bytes = static_cast<double>(dtype_size(x.fused->loop.operands[k].dtype));
    for (int d = 0; d < a.ndim; ++d)
      if (a.stride[k][d] != 0) bytes *= static_cast<double>(a.extent[d]);
    n += bytes;
  }
  return n;
}
double flops_of(const LoopStep& x) {
  using K = kernels::Instr::Kind;
  auto& a = x.fused->args;
  double n = static_cast<double>(x.fused->sums.size());
  for (auto& i : x.fused->loop.code) n += i.kind == K::op || i.kind == K::cast || i.kind == K::reduce;
  for (int d = 0; d < a.ndim; ++d) n *= static_cast<double>(a.extent[d]);
  return n;
}

struct Collector {
  Work& work;
  const Node* node = nullptr;
  std::map<std::size_t, std::size_t> unpacked = {};  // bytes that are moved into place after the wait, by handle

  /// The work of each step.
  std::vector<Events> parts_of(const Block& b) {
    for (auto& step : b.steps)
      if (auto* s = std::get_if<StartStep>(&step); s && ops::collective_unpacks_result(*s->call.primitive,
                                                                                       s->call.out_types))
        unpacked[s->handle] = s->call.out_types[0].nbytes();
    std::vector<Events> parts;
    for (std::size_t k = 0; k < b.steps.size(); ++k) {
      auto* outer = std::exchange(node, &b.nodes[k]);
      parts.push_back(std::visit([&](auto& x) { return add(x); }, b.steps[k]));
      node = outer;
    }
    return parts;
  }
  Events visit(const Block& b) {
    Events all;
    for (auto& part : parts_of(b)) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  Event kernel(Work::Kernel k) {
    work.kernels.push_back(std::move(k));
    return {Event::Kind::kernel, work.kernels.size() - 1};
  }
  Events add(const EvalStep& x) {
    return {kernel({names_of(*node), x.primitive->cost(x.in_types, x.out_types).flops,
                    bytes_of(x.in_types, x.out_types), [&x](std::size_t memory) { return seconds_of(x, memory); }})};
  }
  Events add(const LoopStep& x) {
    Events r{kernel({"loop", flops_of(x), loop_bytes(x), [&x](std::size_t memory) { return seconds_of(x, memory); }})};
    for (auto& e : x.edges) r.push_back(add(e)[0]);
    return r;
  }
  Event moves(const char* what, std::size_t bytes) {
    return kernel({what, 0, 2 * static_cast<double>(bytes),
                   [bytes](std::size_t memory) { return copy_seconds(bytes, memory); }});
  }
  Events add(const CopyStep& x) { return {moves("copy", x.bytes)}; }
  Events add(const StartStep& x) {
    auto& p = *x.call.primitive;
    auto &in = x.call.in_types[0], &out = x.call.out_types[0];
    Events all;
    if (ops::collective_packs_operand(p, x.call.in_types)) all.push_back(moves("pack", in.nbytes()));
    work.collectives.push_back({std::string(p.name()) + " " + to_string(p.named_axes()) + " " + to_string(out),
                                p.named_axes(), ops::collective_call(p, in, out)});
    all.push_back({Event::Kind::start, work.collectives.size() - 1, x.handle});
    return all;
  }
  Events add(const WaitStep& x) {
    Events all{{Event::Kind::wait, 0, x.handle}};
    if (auto u = unpacked.find(x.handle); u != unpacked.end()) all.push_back(moves("unpack", u->second));
    return all;
  }
  Events add(const ScanStep& x) {
    Events all;
    auto& b = *x.body;
    if (x.length == 0) return all;
    bool piped = !b.when.empty();
    auto parts = parts_of(b);
    auto run = [&](bool with_early, bool with_always, bool with_late) {
      for (std::size_t k = 0; k < parts.size(); ++k) {
        auto when = piped ? b.when[k] : Node::When::always;
        if (when == Node::When::early ? with_early : when == Node::When::late ? with_late : with_always)
          all.insert(all.end(), parts[k].begin(), parts[k].end());
      }
    };
    bool talks = std::any_of(parts.begin(), parts.end(), [](auto& p) {
      return std::any_of(p.begin(), p.end(), [](auto& e) { return e.kind != Event::Kind::kernel; });
    });
    if (!talks) {
      run(true, true, true);
      for (auto& e : all) e.times *= x.length;
      return all;
    }
    if (piped) run(true, false, false);
    for (std::int64_t t = 0; t < x.length; ++t) run(!piped || t + 1 < x.length, true, !piped || t > 0);
    if (piped) run(false, false, true);
    return all;
  }
  Events add(const CondStep& x) {
    auto yes = visit(*x.on_true), no = visit(*x.on_false);
    auto flops = [&](const Events& events) {
      double n = 0;
      for (auto& e : events)
        if (e.kind == Event::Kind::kernel) n += static_cast<double>(e.times) * work.kernels[e.which].flops;
      return n;
    };
    return flops(yes) < flops(no) ? no : yes;
  }
  Events add(const WhileStep& x) {
    auto all = visit(*x.cond), body = visit(*x.body);
    all.insert(all.end(), body.begin(), body.end());
    return all;
  }
};
}  // namespace

Work work_of(const Block& b) {
  Work w;
  w.events = Collector{w}.visit(b);
  return w;
}
}  // namespace bora::exec

namespace bora {
Work work_of(const Executable& e) { return e.work(); }
}  // namespace bora
