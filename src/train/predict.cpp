// The time of a step on ranks that do not exist: measured kernels, modelled collectives, one simulation of both.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include "bora/base/parallel.h"
#include "bora/train/plan.h"
#include "bora/transport/forecast.h"
#include "train/measure.h"

namespace bora {
namespace {
using Event = Work::Event;

/// Sums of scalars and of small vectors, such as norms, are no gradients.
bool sums_much(const Work::Collective& c) {
  constexpr std::int64_t small = 1024;
  return c.call.kind == CollectiveKind::all_reduce && c.call.send_counts[0] >= small &&
         c.call.reduce == Reduction::sum;
}

transport::Wiring wiring_of(const MeshLinks& l) { return {l.ranks_per_host, l.bytes_per_s, l.latency_s, true}; }

double cores_of_host(const HostModel& host) { return host.cores > 0 ? host.cores : thread_count(); }
double ranks_of_host(const MeshShape& mesh, const MeshLinks& links) {
  return static_cast<double>(links.ranks_per_host == 0 ? mesh.size() : links.ranks_per_host);
}
/// How many cores each rank uses: its share of its host's, or fewer (mesh.threads).
double cores_of_rank(const MeshShape& mesh, const MeshLinks& links, const HostModel& host) {
  auto cores = cores_of_host(host) / ranks_of_host(mesh, links);
  return host.threads > 0 ? std::min(cores, static_cast<double>(host.threads)) : cores;
}

class Model {
 public:
  Model(const std::vector<RankClass>& classes, const MeshShape& mesh, const MeshLinks& links, const HostModel& host,
        const MeshAxes& batch_axes, KernelTimes& measured)
      : classes_(classes), mesh_(mesh), batch_axes_(batch_axes), measured_(measured) {
    wiring_ = wiring_of(links);
    wiring_.measured = host.calibrated;
    per_host_ = ranks_of_host(mesh, links);
    of_rank_ = cores_of_rank(mesh, links, host);
    host_ = host;
    for (auto& c : classes) seconds_.push_back(seconds_of(c.work, Mesh::abstract(mesh, links, c.ranks[0])));
  }
  double cores() const { return cores_of_host(host_); }
  double gflops_here() const { return 1e-9 * fastest_; }
  std::int64_t hosts() const { return static_cast<std::int64_t>(mesh_.size() / per_host_); }

  /// without: mesh axes over which nothing large is summed in most steps.
  StepPrediction step(const MeshAxes& without = {}) const {
    StepPrediction p;
    std::vector<double> now(classes_.size()), busy(classes_.size());
    std::vector<std::size_t> at(classes_.size());
    double free[2] = {0, 0}, waited = 0, all = 0;  // links: within hosts, between them
    std::map<std::size_t, double> done;            // by handle
    std::map<std::string, double> by_name;
    auto costs = forecasts(without);
    for (bool over = false; !over;) {
      const Event* next = nullptr;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        auto& events = classes_[c].work.events;
        for (; at[c] < events.size() && events[at[c]].kind == Event::Kind::kernel; ++at[c]) {
          auto s = static_cast<double>(events[at[c]].times) * seconds_[c][events[at[c]].which];
          now[c] += s, busy[c] += s;
        }
        if (at[c] < events.size() && c == 0) next = &events[at[c]];
        ++at[c];
      }
      if (!next) break;  // Programs of all ranks have the same collectives
      if (next->kind == Event::Kind::wait) {
        for (auto& t : now) {
          if (&t == now.data()) waited += std::max(0.0, done[next->handle] - t);
          t = std::max(t, done[next->handle]);
        }
        continue;
      }
      auto& f = costs[next->which];
      auto& link = free[f.crosses];
      auto begin = std::max(link, *std::max_element(now.begin(), now.end()));
      link = done[next->handle] = begin + f.seconds;
      all += f.seconds;
      if (f.crosses) p.wire += f.seconds, by_name[classes_[0].work.collectives[next->which].what] += f.seconds;
      p.sent += f.sent, p.wired += f.wired;
    }
    p.compute = *std::max_element(busy.begin(), busy.end());
    p.step = *std::max_element(now.begin(), now.end());
    p.hidden = all > 0 ? std::clamp(1 - waited / all, 0.0, 1.0) : 0;
    // Every step ends with the slowest host.
    p.expected = p.step + host_.spread * expected_most(hosts()) * p.compute;
    for (auto& [name, s] : by_name)
      if (s > p.slowest_seconds) p.slowest = name, p.slowest_seconds = s;
    return p;
  }
  /// Seconds of one sum of all of a rank's parameters over the axis, as a meeting makes it: by itself, not by an
  /// all_reduce, whose algorithm may be forced.
  double sum_of_parameters(const AxisName& axis, const Wire& wire) const {
    CollectiveCall call{.kind = CollectiveKind::all_reduce, .dtype = Dtype::f32, .wire = wire};
    call.send_counts = {classes_[0].plan.needs.trained};
    return slowest(groups_of(MeshAxes(std::vector<AxisName>{axis})), call, wiring_).seconds;
  }
  /// The outermost axis of the batch, if its ranks keep whole copies of what they have: then each can go on alone.
  std::optional<AxisName> replicas() const {
    if (batch_axes_.empty()) return std::nullopt;
    auto axis = batch_axes_[0];
    bool any = false;
    for (auto& c : classes_[0].work.collectives) {
      if (!c.axes.has(axis)) continue;
      if (c.call.kind != CollectiveKind::all_reduce) return std::nullopt;
      any = true;
    }
    return any ? std::optional(axis) : std::nullopt;
  }
  /// Expected value of the largest of n draws from the standard normal distribution.
  static double expected_most(std::int64_t n) {
    double mean = 0;
    constexpr double step = 0.01;
    for (double x = -8; x < 8; x += step) {
      auto below = std::pow(0.5 * std::erfc(-x / std::sqrt(2.0)), static_cast<double>(n));
      mean += step * (x < 0 ? -below : 1 - below);
    }
    return n > 1 ? mean : 0;
  }

 private:
  static double largest_flops(const Work& work) {
    double most = 0;
    for (auto& k : work.kernels) most = std::max(most, k.flops);
    return most;
  }
  /// Seconds of each kernel, on this rank's cores of a host.
  std::vector<double> seconds_of(const Work& work, const Mesh& rank) {
    auto r = measured_.of(work, rank);
    for (std::size_t i = 0; i < r.size(); ++i)
      if (auto& k = work.kernels[i]; r[i] > 0 && k.flops > 1e7) fastest_ = std::max(fastest_, k.flops / r[i]);
    for (std::size_t i = 0; fastest_ == 0 && i < r.size(); ++i)  // a small model: its largest kernel has to do
      if (r[i] > 0 && work.kernels[i].flops >= largest_flops(work)) fastest_ = work.kernels[i].flops / r[i];
    for (std::size_t i = 0; i < r.size(); ++i) {
      auto& k = work.kernels[i];
      bool computes = k.flops > 20 * k.bytes;
      if (computes && host_.gflops_per_core > 0 && fastest_ > 0) r[i] *= fastest_ / (1e9 * host_.gflops_per_core);
      r[i] /= of_rank_;
      if (!computes && host_.gbytes_per_s > 0) r[i] = k.bytes * per_host_ / (1e9 * host_.gbytes_per_s);
    }
    return r;
  }
  /// Groups of a collective that lie on hosts in different ways, rank 0's first, and how many of all send over the wire
  /// of one host.
  struct Groups {
    std::vector<transport::Group> kinds = {};
    int sharing = 1;
  };
  Groups groups_of(const MeshAxes& axes) const {
    auto name = "axis " + to_string(axes);
    const auto first = mesh_.group(0, axes);  // any group is this one, moved
    Groups r;
    std::set<std::vector<int>> ways;  // hosts of the members, counted from the first one's
    std::map<int, int> senders;       // groups that leave a host
    auto moves = wiring_.ranks_per_host > 1 ? mesh_.size() : 1;
    for (int at = 0; at < moves; ++at) {
      if (mesh_.part(at, axes) != 0) continue;
      auto ranks = first;
      std::vector<int> way;
      std::set<int> hosts;
      for (auto& rank : ranks) {
        rank += at;
        auto host = wiring_.ranks_per_host > 1 ? rank / wiring_.ranks_per_host : 0;
        hosts.insert(host);
        way.push_back(host - at / std::max(1, wiring_.ranks_per_host));
      }
      for (auto host : hosts)
        if (hosts.size() > 1) r.sharing = std::max(r.sharing, ++senders[host]);
      if (ways.insert(std::move(way)).second) r.kinds.push_back({std::move(ranks), name});
    }
    return r;
  }
  /// The bytes of rank 0 and the time of the slowest group: a step waits for all.
  transport::Forecast slowest(const Groups& groups, const CollectiveCall& call, transport::Wiring wiring) const {
    wiring.sharing = groups.sharing;
    auto r = transport::forecast(groups.kinds[0], call, wiring, groups.kinds[0].ranks[0]);
    for (std::size_t k = 1; k < groups.kinds.size(); ++k) {
      auto f = transport::forecast(groups.kinds[k], call, wiring, groups.kinds[k].ranks[0]);
      r.seconds = std::max(r.seconds, f.seconds);
      r.crosses = r.crosses || f.crosses;
    }
    return r;
  }
  std::vector<transport::Forecast> forecasts(const MeshAxes& without) const {
    std::vector<transport::Forecast> r;
    std::map<std::string, Groups> groups;
    auto wiring = wiring_;
    wiring.algorithms = host_.algorithms;
    for (auto& c : classes_[0].work.collectives) {
      auto axes = c.axes;
      if (sums_much(c))
        for (auto& a : without) axes.remove(a);
      if (axes.empty() && !c.axes.empty()) {
        r.emplace_back();
        continue;
      }
      auto [at, fresh] = groups.try_emplace(to_string(axes));
      if (fresh) at->second = groups_of(axes);
      r.push_back(slowest(at->second, c.call, wiring));
    }
    return r;
  }
  const std::vector<RankClass>& classes_;
  const MeshShape& mesh_;
  MeshAxes batch_axes_;
  transport::Wiring wiring_ = {};
  HostModel host_ = {};
  double per_host_ = 1, of_rank_ = 1, fastest_ = 0;
  KernelTimes& measured_;
  std::vector<std::vector<double>> seconds_ = {};  // by class and kernel
};
}  // namespace

SentBytes bytes_sent(const Work& work, const MeshShape& mesh, const MeshLinks& links, int rank) {
  std::vector<transport::Forecast> each;
  for (auto& c : work.collectives)
    each.push_back(transport::forecast({mesh.group(rank, c.axes), to_string(c.axes)}, c.call, wiring_of(links), rank));
  SentBytes sent;
  for (auto& e : work.events)
    if (e.kind == Event::Kind::start) sent.all += each[e.which].sent, sent.wired += each[e.which].wired;
  return sent;
}
MeetingPrediction predict_meetings(const std::vector<RankClass>& classes, const MeshShape& mesh, const MeshLinks& links,
                                   const HostModel& host, const AxisName& replica, std::int64_t replicas,
                                   const Wire& wire) {
  KernelTimes measured(cores_of_rank(mesh, links, host));
  Model model(classes, mesh, links, host, {}, measured);
  auto alone = model.step();
  // Half of an all_reduce brings the numbers of a rank's replicas to their sum, half brings the mean back.
  auto held = static_cast<double>(replicas) / mesh.axis_size(replica);
  MeetingPrediction p{.seconds = model.sum_of_parameters(replica, wire) * (1 + held) / 2,
                      .alone = alone.efficiency()};
  auto room = alone.compute / StepPrediction::kEnough - alone.expected;
  if (room > 0) p.every = std::max<std::int64_t>(1, std::llround(std::ceil(p.seconds / room)));
  return p;
}
double local_steps_penalty(std::int64_t replicas, std::int64_t parameters) {
  if (replicas < 2 || parameters < 1) return 0;
  auto exponent = 1.0923 * std::pow(static_cast<double>(parameters), -0.2342);
  return std::pow(static_cast<double>(replicas), exponent) - 1;
}
Prediction predict(const std::vector<RankClass>& classes, const std::vector<OtherWire>& wires, const MeshShape& mesh,
                   const MeshLinks& links, const HostModel& host, const MeshAxes& batch_axes, std::int64_t parameters,
                   std::int64_t tokens, std::int64_t checkpoint_every) {
  KernelTimes measured(cores_of_rank(mesh, links, host));
  Model model(classes, mesh, links, host, batch_axes, measured);
  Prediction p{.hosts = model.hosts(), .ranks = mesh.size(), .cores = model.cores()};
  p.gflops_per_core = model.gflops_here();
  p.tokens = static_cast<double>(tokens);
  p.now = model.step();
  auto axis = model.replicas();
  if (axis) {
    p.axis = axis->str();
    p.replicas = mesh.axis_size(*axis);
    p.penalty = local_steps_penalty(p.replicas, parameters);
  }
  for (auto& [wire, of_wire] : wires) {
    Model with(of_wire, mesh, links, host, batch_axes, measured);
    Prediction::Wire w{std::string(word(wire.codec)), with.step()};
    if (axis) {  // one sum of parameters in `every` steps, with the others' sums gone
      auto alone = with.step(MeshAxes(std::vector<AxisName>{*axis}));
      auto room = alone.compute / StepPrediction::kEnough - alone.expected;
      auto sum = model.sum_of_parameters(*axis, wire);
      if (room > 0) w.every = std::max<std::int64_t>(1, std::llround(std::ceil(sum / room)));
    }
    p.wires.push_back(std::move(w));
  }
  p.hours_to_failure = host.mtbf_hours / static_cast<double>(p.hosts);
  auto again = (static_cast<double>(checkpoint_every) * p.now.expected / 2 + 60) / 3600;  // and a minute to start
  p.lost_share = again / (p.hours_to_failure + again);
  return p;
}
}  // namespace bora
