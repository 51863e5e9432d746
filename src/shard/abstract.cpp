#include "shard/abstract.h"
#include <map>
#include <utility>
#include "array/api/splits.h"
#include "bora/shard/abstract.h"
#include "shard/interpreter.h"
#include "bora/array/primitive_base.h"

namespace bora {
namespace {
struct TypeValue final : ArrayValue {
  TypeValue(const Type& t, std::uint64_t o) : ArrayValue(t, o) {}
  std::string describe() const override { return to_string(type) + " of an abstract mesh"; }
  Array concrete() const override {
    fail<TraceError>(describe(), ": it has a type and a Spec, but no numbers");
  }
};
}  // namespace

Arrays TypesOnly::process(const PrimitivePtr& p, const Arrays& in) {
  communicated = communicated || p->traits.collective;
  Arrays out;
  for (auto& t : p->infer(types_of(in))) out.push_back(value(t));
  return out;
}
Array TypesOnly::value(const Type& t) const { return Array(std::make_shared<TypeValue>(t, id)); }
std::shared_ptr<Communicator::Handle> NoOthers::start(const MeshAxes& axes, const CollectiveCall& c) {
  fail<ShardError>("a collective over ", axes, " (", [&] { return c.describe ? c.describe() : std::string("?"); },
                   "): the mesh is abstract, so that there are no other ranks to talk to");
}
std::vector<std::string> NoOthers::exchange(const std::string& mine, std::string_view) {
  return std::vector<std::string>(static_cast<std::size_t>(ranks_), mine);
}

Type local_type(const Array& x) {
  auto* s = nearest<Shard>();
  if (!s) return x.type();
  auto v = s->view(x);
  return {s->local_shape(v.type.shape, v.spec), v.type.dtype};
}
bool on_abstract_mesh() {
  auto* s = nearest<Shard>();
  return s && s->parent != eval_interpreter() && dynamic_cast<TypesOnly*>(s->parent) != nullptr;
}
SameSizes::SameSizes() : log_(std::make_unique<SplitLog>()), saved_(std::exchange(split_log(), log_.get())) {}
SameSizes::~SameSizes() { split_log() = saved_; }
std::vector<std::vector<int>> SameSizes::classes(const MeshShape& mesh) const {
  std::map<std::vector<std::int64_t>, std::size_t> known;
  std::vector<std::vector<int>> r;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    auto [at, fresh] = known.try_emplace(log_->sizes(mesh, rank), r.size());
    if (fresh) r.emplace_back();
    r[at->second].push_back(rank);
  }
  return r;
}
}  // namespace bora
