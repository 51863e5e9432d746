// Meshes over the transport: processes of a job, or threads of this process.
#include "bora/shard/mesh.h"
#include <algorithm>
#include <deque>
#include <exception>
#include <iostream>
#include <limits>
#include <mutex>
#include <thread>
#include "bora/array/communicator.h"
#include "bora/array/mesh_sizes.h"
#include "bora/base/parallel.h"
#include "base/api/threads.h"
#include "bora/transport/halting.h"
#include "bora/transport/transport.h"
#include "array/api/given_up.h"
#include "shard/abstract.h"
#include "shard/interpreter.h"

namespace bora {
namespace {
class OverTransport final : public Communicator, public MayGiveUp {
 public:
  OverTransport(transport::ContextPtr c, const MeshShape& m)
      : context_(std::move(c)), halts_(transport::halts(*context_)), mesh_(m), rank_(context_->rank()) {}
  std::shared_ptr<Handle> start(const MeshAxes& axes, const CollectiveCall& c) override {
    only_one_thread(c);
    auto origin = About::now();
    if (!origin) return std::make_shared<Started>(context_->start(group(axes), c));
    auto call = c;
    call.fingerprint = (c.fingerprint ^ origin->hash()) * 1099511628211ull;
    call.describe = [words = c.describe, origin] {
      return (words ? words() : std::string()) + " from " + origin->text();
    };
    return std::make_shared<Started>(context_->start(group(axes), call));
  }
  std::vector<std::string> exchange(const std::string& mine, std::string_view what) override {
    return context_->exchange(mine, what);
  }
  const std::atomic<bool>* given_up() const override { return halts_ ? &halts_->given_up() : nullptr; }
  void halt_if_given_up() override { halts_->halt_if_given_up(); }

 private:
  struct Started final : Handle {
    explicit Started(transport::WorkPtr w) : work(std::move(w)) {}
    void wait() override { work->wait(); }
    transport::WorkPtr work;
  };
  const transport::Group& group(const MeshAxes& axes) {
    for (auto& [known, g] : groups_)
      if (known == axes) return g;
    return groups_.emplace_back(axes, transport::Group{mesh_.group(rank_, axes), "axis " + to_string(axes)}).second;
  }
  /// The order of collectives is the same on every rank only if one thread issues them.
  void only_one_thread(const CollectiveCall& c) {
    auto me = std::this_thread::get_id();
    std::lock_guard l(mutex_);
    if (issuer_ == std::thread::id{}) issuer_ = me;
    check<ShardError>(
        issuer_ == me, "a second thread of rank ", rank_, " started a collective (",
        [&] { return c.describe ? c.describe() : std::string("?"); },
        "); all collectives of a mesh must come from one thread");
  }
  transport::ContextPtr context_;
  transport::Halts* halts_;
  const MeshShape& mesh_;
  const int rank_;
  std::mutex mutex_;
  std::thread::id issuer_{};
  std::deque<std::pair<MeshAxes, transport::Group>> groups_;  // few: only groups used so far
};
}  // namespace

struct Mesh::State {
  State(transport::ContextPtr c, MeshShape m)
      : context(std::move(c)),
        shape(std::move(m)),
        rank(context->rank()),
        communicator(std::make_unique<OverTransport>(context, shape)),
        shard(eval_interpreter(), shape, rank) {}
  State(MeshShape m, const MeshLinks& l, int r)
      : shape(std::move(m)),
        rank(r),
        links(l),
        communicator(std::make_unique<NoOthers>(shape.size())),
        types(std::make_unique<TypesOnly>()),
        shard(types.get(), shape, rank, true) {}
  transport::ContextPtr context = nullptr;  // none: an abstract mesh
  MeshShape shape;
  int rank;
  MeshLinks links = {};
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<TypesOnly> types = nullptr;
  Shard shard;
};

namespace {
constexpr std::int64_t kMostRanks = 1 << 20;
}  // namespace
Mesh Mesh::over(transport::ContextPtr context, const std::vector<MeshAxis>& axes) {
  auto ranks = context->size();
  return over(std::move(context), mesh_shape(axes, ranks));
}
Mesh Mesh::over(transport::ContextPtr context, const MeshShape& shape) {
  check<ConfigError>(shape.size() == context->size(), "mesh ", to_string(shape), " needs ", shape.size(),
                     " ranks, but the job has ", context->size());
  return Mesh(std::make_shared<State>(std::move(context), shape));
}
namespace {
/// A program that runs alone runs as it does in a job: every axis exists, with size 1. Warns if more was requested.
MeshShape shape_of_job(const MeshSizes& asked, int ranks) {
  check_axes(asked);
  if (ranks > 1) return mesh_shape(asked, ranks);
  MeshShape shape;
  for (auto& a : asked) shape.axes.emplace_back(AxisName(a.name), 1);
  if (asked.ranks() > 1)
    std::cerr << "warning: bora: this job has one process, so the mesh is " << to_string(shape) << " instead of "
              << to_string(asked) << "; bora launch -n N -- PROGRAM starts more\n";
  return shape;
}
}  // namespace
Mesh Mesh::from_environment(const std::vector<MeshAxis>& asked, const std::string& build) {
  auto config = transport::config_from_environment();
  auto shape = shape_of_job(asked, config.size);
  config.build = "mesh\t" + to_string(shape) + "\n" + build;
  return over(transport::join(config), shape);
}
Mesh Mesh::abstract(const std::vector<MeshAxis>& axes, const MeshLinks& links, int rank) {
  MeshSizes sizes(axes);
  check_axes(sizes);
  for (auto& a : sizes)
    check<ConfigError>(a.size >= 1, "mesh ", to_string(sizes), ": an abstract mesh has no job to take the size of '",
                       a.name, "' from; name it");
  check<ConfigError>(sizes.ranks() <= kMostRanks, "mesh ", to_string(sizes), ": an abstract mesh has at most ",
                     kMostRanks, " ranks");
  return abstract(mesh_shape(sizes, static_cast<int>(sizes.ranks())), links, rank);
}
Mesh Mesh::abstract(const MeshShape& shape, const MeshLinks& links, int rank) {
  auto n = shape.size();
  check<ConfigError>(0 <= rank && rank < n, "mesh ", to_string(shape), ": there is no rank ", rank, " of ", n);
  check<ConfigError>(links.ranks_per_host >= 0 && (links.ranks_per_host == 0 || n % links.ranks_per_host == 0), "mesh ",
                     to_string(shape), ": ", n, " ranks cannot be spread over hosts of ", links.ranks_per_host);
  check<ConfigError>(links.bytes_per_s > 0 && links.latency_s >= 0, "mesh ", to_string(shape),
                     ": links have a rate above 0 and a latency of at least 0, got ", links.bytes_per_s, " and ",
                     links.latency_s);
  return Mesh(std::make_shared<State>(shape, links, rank));
}
const MeshShape& Mesh::shape() const { return state_->shape; }
const MeshLinks* Mesh::links() const { return state_->context ? nullptr : &state_->links; }
int Mesh::rank() const { return state_->rank; }
std::vector<std::string> Mesh::exchange(const std::string& mine, std::string_view what) const {
  return context().exchange(mine, what);
}
transport::Context& Mesh::context() const {
  check<ShardError>(state_->context != nullptr, "mesh ", to_string(state_->shape),
                    ": it is abstract, so that there are no other ranks to talk to");
  return *state_->context;
}
void Mesh::leave() const {
  if (state_->context) state_->context->leave();
}

UseMesh::UseMesh(const Mesh& m) : state_(m.state()), saved_(here()) {
  check<TraceError>(current() == eval_interpreter() || dynamic_cast<Shard*>(current()) != nullptr,
                    "UseMesh: open a mesh outside of transforms, not inside of a traced function");
  within_ = std::make_unique<Within>(&state_->shard);
  here() = {&state_->shape, state_->rank, state_->communicator.get()};
}
UseMesh::~UseMesh() {
  within_.reset();
  here() = saved_;
}

void local_mesh(const std::vector<MeshAxis>& axes, const std::function<void(const Mesh&)>& f) {
  MeshSizes sizes(axes);
  check<ConfigError>(sizes.ranks() <= std::numeric_limits<int>::max(), "mesh ", to_string(sizes), ": too many ranks");
  local_mesh(mesh_shape(sizes, static_cast<int>(sizes.ranks())), f);
}
void local_mesh(const MeshShape& shape, const std::function<void(const Mesh&)>& f) {
  auto n = shape.size();
  auto contexts = transport::local(n);
  struct Failure {
    std::exception_ptr error;
    bool secondary;  // only reports that another rank failed
  };
  std::mutex mutex;
  std::vector<Failure> failures;
  auto share = std::max(1, thread_count() / n);
  std::vector<std::thread> threads;
  auto run = [&](transport::ContextPtr c) {
    threads.push_back(start_thread("a rank", [&, context = std::move(c)]() mutable {
      ThreadScope limit(share);
      auto failed = [&](const char* what, bool secondary) {
        {
          std::lock_guard l(mutex);
          failures.push_back({std::current_exception(), secondary});
        }
        context->abort(what);
      };
      try {
        auto mesh = Mesh::over(context, shape);
        {
          UseMesh scope(mesh);
          f(mesh);
        }
        context->leave();
      } catch (const transport::RankLost& e) { failed(e.what(), true); } catch (const std::exception& e) {
        failed(e.what(), false);
      } catch (...) { failed("an exception that is no std::exception", false); }
    }));
  };
  try {
    for (auto& c : contexts) run(c);
  } catch (const Error& e) {  // ranks already started must not wait for the others
    for (auto& c : contexts) c->abort(e.text());
    std::lock_guard l(mutex);
    failures.insert(failures.begin(), {std::current_exception(), false});
  }
  contexts.clear();
  for (auto& t : threads) t.join();
  auto first = std::find_if(failures.begin(), failures.end(), [](auto& x) { return !x.secondary; });
  if (first == failures.end()) first = failures.begin();
  if (first != failures.end()) std::rethrow_exception(first->error);
}
}  // namespace bora
