#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include "bora/base/parallel.h"
#include "bora/base/text.h"
#include "kernels/api/gemm.h"
#include "kernels/api/memory.h"
#include "bora/shard/abstract.h"
#include "bora/shard/shard.h"
#include "bora/train/batch.h"
#include "bora/train/loop.h"
#include "bora/train/plan.h"
#include "bora/train/process.h"
#include "bora/train/trainable.h"
#include "bora/transport/forecast.h"
#include "bora/transport/transport.h"
#include "compile/api/executable.h"
#include "train/api/memory_checkpoint.h"
#include "compile/api/program.h"

namespace bora {
namespace {
using Footprint = std::size_t (*)(std::size_t);
std::size_t exact(std::size_t bytes) { return bytes; }
std::int64_t block_bytes(tree::Node t, std::string_view below = {}, Footprint of = exact) {
  std::int64_t n = 0;
  for (auto& slot : tree::slots(t))
    if (slot.leaf.defined() && slot.path.starts_with(below))
      n += static_cast<std::int64_t>(of(local_type(slot.leaf.get()).nbytes()));
  return n;
}
/// Memory of the state's blocks beyond their bytes.
std::int64_t rounding(Trainable& model) {
  std::int64_t n = 0;
  for (auto part : {model.state(), model.base()})
    n += block_bytes(part, {}, kernels::block_footprint) - block_bytes(part);
  return n;
}
std::string needs_text(const RankNeeds& n) {
  std::ostringstream o;
  o << n.parameters << ' ' << n.optimizer << ' ' << n.gradients << ' ' << n.activations << ' ' << n.transport << ' '
    << n.start << ' ' << n.rows << ' ' << n.trained << ' ' << n.snapshots;
  return o.str();
}
RankNeeds parse_needs(const std::string& text) {
  RankNeeds n;
  std::istringstream(text) >> n.parameters >> n.optimizer >> n.gradients >> n.activations >> n.transport >> n.start >>
      n.rows >> n.trained >> n.snapshots;
  return n;
}
/// The mesh's links; those of an abstract mesh as given. A rank of a job knows its own host only, and takes the others
/// to be like it.
MeshLinks links_of(const Mesh& mesh) {
  if (mesh.links()) return *mesh.links();
  auto together = mesh.context().ranks_on_host();
  return {.ranks_per_host = together < mesh.size() && mesh.size() % together == 0 ? together : 0};
}
/// Memory of the transport: of the collectives that are under way at the same time, and what it shares with each peer
/// on its host.
std::int64_t transport_bytes(const Executable& e, const Mesh& mesh) {
  constexpr std::int64_t rings = std::int64_t{2} << 20;  // one each way
  auto links = links_of(mesh);
  transport::Wiring wiring{links.ranks_per_host, links.bytes_per_s, links.latency_s};
  auto work = work_of(e);
  std::vector<std::int64_t> memory;
  std::set<int> peers;
  for (auto& c : work.collectives) {
    transport::Group group{mesh.shape().group(mesh.rank(), c.axes), to_string(c.axes)};
    auto f = transport::forecast(group, c.call, wiring, mesh.rank());
    memory.push_back(f.memory);
    peers.insert(f.neighbours.begin(), f.neighbours.end());
  }
  std::map<std::size_t, std::int64_t> under_way;  // by handle
  std::int64_t now = 0, most = 0;
  for (auto& event : work.events)
    if (event.kind == Work::Event::Kind::start) {
      now += memory[event.which] - std::exchange(under_way[event.handle], memory[event.which]);
      most = std::max(most, now);
    } else if (event.kind == Work::Event::Kind::wait) {
      now -= std::exchange(under_way[event.handle], 0);
    }
  return most + static_cast<std::int64_t>(peers.size()) * rings;
}
/// Bytes of snapshots on each rank; 0 if the run takes none. It takes one at its start and then every few steps.
std::function<std::int64_t(int)> snapshots_of(Trainable& model, const LoopSettings& s, const Mesh& mesh) {
  if (s.snapshot_every == 0 || s.steps == 0) return [](int) { return std::int64_t{0}; };
  std::vector<io::Leaf> state;
  for (auto& slot : tree::slots(model.state()))
    if (slot.leaf.defined()) state.push_back({slot.path, slot.leaf.get().type(), spec_of(slot.leaf.get())});
  return [state, shape = mesh.shape(), each = links_of(mesh).ranks_per_host,
          next = s.steps > s.snapshot_every](int rank) {
    return training::snapshot_bytes(state, shape, each, rank, next);
  };
}
/// The largest kinds and the sum of the others.
std::string arena_text(const std::vector<std::pair<std::string, std::size_t>>& arena) {
  constexpr std::size_t shown = 6;
  std::string r;
  std::size_t rest = 0;
  for (std::size_t k = 0; k < arena.size(); ++k) {
    auto& [kind, bytes] = arena[k];
    if (k < shown) r += (k ? ", " : " ") + kind + " " + bytes_text(static_cast<std::int64_t>(bytes));
    else rest += bytes;
  }
  return rest ? r + ", others " + bytes_text(static_cast<std::int64_t>(rest)) : r;
}
}  // namespace

ProcessBytes process_bytes(std::int64_t at_start) {
  // Code and bookkeeping of the first draws, of loops, of the data's thread: 5.8 to 6.7 MiB in runs of 60 to 250 MiB.
  constexpr std::int64_t running = std::int64_t{6} << 20;
  return [at_start, before = resident_bytes()] {
    return at_start + std::max<std::int64_t>(0, resident_bytes() - before) +
           thread_count() * kernels::gemm_scratch_bytes() + running;
  };
}
RankPlan plan_rank(Trainable& model, const GlobalBatch& batch, const LoopSettings& s, const Mesh& mesh,
                   const ProcessBytes& process) {
  RankNeeds mine;
  auto kept = block_bytes(model.parameters());
  mine.parameters = kept + block_bytes(model.base());
  for (auto& slot : tree::slots(model.parameters()))
    if (slot.leaf.defined() && model.trains(slot.path)) mine.trained += volume(local_type(slot.leaf.get()).shape);
  mine.optimizer = block_bytes(model.optimizer_state()) + block_bytes(model.state(), "outer.") +
                   block_bytes(model.state(), "carried.");
  mine.rows = rows_of_rank(s.batch, mesh).size();
  Mask state(tree::count_leaves(model.state()), true);  // is donated, as step() gives it
  auto compiled = [](const ProgramPtr& whole, const Arrays& arguments, Mask donated) {
    auto program = fx::local_program(whole, arguments);
    donated.resize(program->in.size(), false);  // as a run has it, which finds the same Executable
    return executable(program, donated);
  };
  auto step = compiled(model.step_program(batch), model.step_arguments(batch), state);
  std::vector<ExecutablePtr> all{step};
  for (auto& [program, arguments] : model.meeting_programs(batch)) all.push_back(compiled(program, arguments, state));
  if (auto evaluation = model.evaluation_program(batch))
    all.push_back(compiled(evaluation->first, evaluation->second, {}));
  std::size_t slab = 0;  // one serves all of them in turn
  for (auto& e : all) {
    slab = std::max(slab, e->info().slab_bytes);
    mine.transport = std::max(mine.transport, transport_bytes(*e, mesh));
  }
  mine.start = process() + rounding(model) + static_cast<std::int64_t>(kernels::block_footprint(slab) - slab);
  mine.start += 3 * block_bytes(tree::node(batch.example));  // a step's rows and arrays, and the next one's rows
  // Gradients live in the slab beside everything else that is temporary.
  mine.gradients = std::min<std::int64_t>(kept, static_cast<std::int64_t>(slab));
  mine.activations = static_cast<std::int64_t>(slab) - mine.gradients;
  auto snapshots = snapshots_of(model, s, mesh);
  mine.snapshots = snapshots(mesh.rank());
  return {mine, step, snapshots};
}
std::string plan_text(Trainable& model, const GlobalBatch& batch, const LoopSettings& s, const Mesh& mesh,
                      const ProcessBytes& process) {
  return plan_text(model, batch, s, mesh, plan_rank(model, batch, s, mesh, process));
}
std::string plan_text(Trainable& model, const GlobalBatch& batch, const LoopSettings& s, const Mesh& mesh,
                      const RankPlan& mine) {
  std::vector<RankNeeds> all;
  for (auto& text : mesh.exchange(needs_text(mine.needs), "run: plan")) all.push_back(parse_needs(text));
  return plan_text(model, batch, s, mesh.shape(), all, mine);
}
std::string plan_text(Trainable& model, const GlobalBatch& batch, const LoopSettings& s, const MeshShape& mesh,
                      const std::vector<RankNeeds>& all, const RankPlan& of_rank_0) {
  auto& info = of_rank_0.step->info();
  std::int64_t parameters = 0, leaves = 0, fixed = 0;
  for (auto part : {model.parameters(), model.base()}) {
    if (model.holds_reference() && part.at == model.base().at) continue;
    for (auto& slot : tree::slots(part))
      if (slot.leaf.defined()) parameters += slot.leaf.get().size(), ++leaves;
    if (part.at == model.parameters().at) fixed -= parameters;
  }
  fixed += parameters;
  std::ostringstream o;
  o << "plan: " << parameters << " parameters in " << leaves << " arrays";
  if (model.holds_reference()) o << " and as many of the reference model";
  if (fixed > 0 && !model.holds_reference()) o << ", of which " << parameters - fixed << " are adapters'";
  o << ", mesh " << to_string(mesh) << ", layout " << s.layout << ", policy " << s.policy << ", batch "
    << s.batch << " x " << batch.example.tokens.axis("position").size << " tokens\n";
  bool snapshots = std::any_of(all.begin(), all.end(), [](auto& n) { return n.snapshots > 0; });
  std::int64_t stored = 0, second = block_bytes(model.state());
  for (auto& slot : tree::slots(model.state()))
    if (slot.leaf.defined()) stored += static_cast<std::int64_t>(slot.leaf.get().type().nbytes());
  o << "  a checkpoint takes " << bytes_text(stored) << " on disk, " << std::setprecision(3)
    << static_cast<double>(stored) / 100e6 << " s at 100 MB/s";
  auto [most, more] = s.checkpoint.most(s.steps);
  o << "; " << most << " of them " << bytes_text(stored * most) << more << "\n";
  if (s.steps > 0 && s.checkpoint.beside(stored / mesh.size()))
    o << "  beside the steps (checkpoint.async) a save takes memory for one more state, " << bytes_text(second)
      << " a rank\n";
  o << "  bytes of a rank (K, M, G: 1024), with the peak as it is predicted:\n"
    << "  rank     rows  params   optim   grads  activ. transp.   start" << (snapshots ? "   snaps" : "")
    << "    peak\n";
  auto line = [&](std::size_t rank, std::int64_t alike, const RankNeeds& n) {
    o << std::setw(6) << rank << std::setw(5) << (alike > 1 ? "x" + std::to_string(alike) : "") << std::setw(5)
      << n.rows;
    auto put = [&](std::int64_t x) {
      auto text = bytes_text(x);
      if (auto at = text.find(" "); text.ends_with("iB")) text = text.substr(0, at) + text[at + 1];
      else text.erase(at);
      o << std::setw(8) << text;
    };
    for (auto x : {n.parameters, n.optimizer, n.gradients, n.activations, n.transport, n.start}) put(x);
    if (snapshots) put(n.snapshots);
    put(n.peak());
    o << '\n';
  };
  constexpr std::size_t one_by_one = 8;
  std::vector<std::pair<std::size_t, std::int64_t>> alike;  // the first rank of them, how many
  for (std::size_t r = 0; r < all.size(); ++r) {
    auto same = std::find_if(alike.begin(), alike.end(), [&](auto& a) { return all[a.first] == all[r]; });
    if (all.size() <= one_by_one || same == alike.end()) alike.emplace_back(r, 1);
    else ++same->second;
  }
  for (auto& [r, n] : alike) line(r, n, all[r]);
  if (!info.arena.empty()) o << "  temporaries of rank 0 where they are most:" << arena_text(info.arena) << '\n';
  o << "  a step of rank 0: " << std::setprecision(4) << info.flops / 1e9 << " GFLOP in " << info.kernels
    << " kernels (" << info.fused << " fused)";
  std::size_t collectives = 0, bytes = 0;
  for (auto& c : info.collective_uses) collectives += c.times, bytes += c.times * c.bytes;
  if (collectives == 0) return wrapped(o.str() + ", no collectives\n");
  o << ", " << collectives << " collectives with " << bytes_text(static_cast<std::int64_t>(bytes));
  if (info.overlap_bytes)
    o << "; " << bytes_text(static_cast<std::int64_t>(info.overlap_bytes)) << " for those beside other layers";
  o << '\n';
  for (auto& c : info.collective_uses)
    o << "    " << c.times << " x " << c.what << "  " << bytes_text(static_cast<std::int64_t>(c.bytes)) << '\n';
  return wrapped(o.str());
}
}  // namespace bora
