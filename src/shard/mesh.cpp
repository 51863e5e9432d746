// Meshes over the transport: processes of a job, or threads of this process.
#include "bora/shard/mesh.h"
#include <algorithm>
#include <deque>
#include <exception>
#include <iostream>
#include <mutex>
#include <thread>
#include "bora/array/communicator.h"
#include "bora/base/parallel.h"
#include "bora/base/threads.h"
#include "bora/transport/transport.h"
#include "shard/abstract.h"
#include "shard/interpreter.h"

namespace bora {
namespace {
class OverTransport final : public Communicator {
 public:
  OverTransport(transport::ContextPtr c, const MeshShape& m)
      : context_(std::move(c)), mesh_(m), rank_(context_->rank()) {}
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
  State(MeshShape m, const Links& l, int r)
      : shape(std::move(m)),
        rank(r),
        links(l),
        communicator(std::make_unique<NoOthers>(shape.size())),
        types(std::make_unique<TypesOnly>()),
        shard(types.get(), shape, rank, true) {}
  transport::ContextPtr context = nullptr;  // none: an abstract mesh
  MeshShape shape;
  int rank;
  Links links = {};
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<TypesOnly> types = nullptr;
  Shard shard;
};

namespace {
constexpr std::int64_t kMostRanks = 1 << 20;
std::string to_text(const std::vector<MeshAxis>& axes) {
  std::string text;
  for (auto& a : axes) text += (text.empty() ? "" : ",") + a.name + "=" + std::to_string(a.size);
  return text;
}
/// Checks that hold for a job of any size.
void check_axes(const std::vector<MeshAxis>& axes) {
  auto given = to_text(axes);
  int open = 0;
  for (auto a = axes.begin(); a != axes.end(); ++a) {
    check<ConfigError>(!a->name.empty() && (a->size >= 1 || a->size == -1), "mesh ", given, ": axis '", a->name,
                       "' must have a name and a size of at least 1 (or -1 for what is left)");
    check<ConfigError>(std::none_of(axes.begin(), a, [&](auto& b) { return b.name == a->name; }), "mesh ", given,
                       ": axis '", a->name, "' is named twice");
    open += a->size == -1;
  }
  check<ConfigError>(open <= 1, "mesh ", given, ": only one axis may be -1");
}
}  // namespace
MeshShape mesh_shape(const std::vector<MeshAxis>& axes, int ranks) {
  check_axes(axes);
  auto given = to_text(axes);
  MeshShape m;
  std::int64_t known = 1;
  bool open = false;
  for (auto& a : axes) {
    m.axes.emplace_back(AxisName(a.name), a.size);
    if (a.size == -1) open = true;
    else known = std::min<std::int64_t>(known * a.size, std::int64_t{1} << 31);  // more than any job has
  }
  check<ConfigError>(open ? ranks % known == 0 : known == ranks, "mesh ", given.empty() ? "(no axes)" : given,
                     " needs ", open ? "a multiple of " : "", known, " rank", known == 1 ? "" : "s",
                     ", but the job has ", ranks);
  for (auto& a : m.axes)
    if (a.second == -1) a.second = static_cast<int>(ranks / known);
  return m;
}
Mesh Mesh::over(transport::ContextPtr context, const std::vector<MeshAxis>& axes) {
  auto shape = mesh_shape(axes, context->size());
  return Mesh(std::make_shared<State>(std::move(context), std::move(shape)));
}
namespace {
/// A program that runs alone runs as it does in a job: every axis exists, with size 1. Warns if more was requested.
std::vector<MeshAxis> axes_of_job(std::vector<MeshAxis> axes, int ranks) {
  check_axes(axes);
  if (ranks > 1) return axes;
  auto given = to_text(axes);
  bool smaller = false;
  for (auto& a : axes) {
    smaller = smaller || a.size > 1;
    a.size = 1;
  }
  if (smaller)
    std::cerr << "warning: bora: this job has one process, so the mesh is " << to_text(axes) << " instead of " << given
              << "; bora launch -n N -- PROGRAM starts more\n";
  return axes;
}
}  // namespace
Mesh Mesh::from_environment(const std::vector<MeshAxis>& asked, const std::string& build) {
  auto config = transport::config_from_environment();
  auto axes = axes_of_job(asked, config.size);
  config.build = to_string(mesh_shape(axes, config.size)) + (build.empty() ? "" : " " + build);
  return over(transport::join(config), axes);
}
Mesh Mesh::abstract(const std::vector<MeshAxis>& axes, const Links& links, int rank) {
  check_axes(axes);
  std::int64_t n = 1;
  for (auto& a : axes) {
    check<ConfigError>(a.size >= 1, "mesh ", to_text(axes), ": an abstract mesh has no job to take the size of '",
                       a.name, "' from; name it");
    check<ConfigError>((n *= a.size) <= kMostRanks, "mesh ", to_text(axes), ": an abstract mesh has at most ",
                       kMostRanks, " ranks");
  }
  check<ConfigError>(0 <= rank && rank < n, "mesh ", to_text(axes), ": there is no rank ", rank, " of ", n);
  check<ConfigError>(links.ranks_per_host >= 0 && (links.ranks_per_host == 0 || n % links.ranks_per_host == 0), "mesh ",
                     to_text(axes), ": ", n, " ranks cannot be spread over hosts of ", links.ranks_per_host);
  check<ConfigError>(links.bytes_per_s > 0 && links.latency_s >= 0, "mesh ", to_text(axes),
                     ": links have a rate above 0 and a latency of at least 0, got ", links.bytes_per_s, " and ",
                     links.latency_s);
  return Mesh(std::make_shared<State>(mesh_shape(axes, static_cast<int>(n)), links, rank));
}
const MeshShape& Mesh::shape() const { return state_->shape; }
const Links* Mesh::links() const { return state_->context ? nullptr : &state_->links; }
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
  int n = 1;
  for (auto& a : axes)
    check<ConfigError>(!__builtin_mul_overflow(n, std::max(1, a.size), &n), "mesh ", to_text(axes), ": too many ranks");
  auto shape = mesh_shape(axes, n);
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
        auto mesh = Mesh::over(context, axes);
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
