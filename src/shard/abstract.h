// abstract.h -- what stands under the Shard of an abstract mesh: an interpreter that knows types alone. Private.
#pragma once
#include "bora/array/communicator.h"
#include "bora/array/array.h"

namespace bora {
/// Gives every operation's results as types without numbers.
class TypesOnly final : public Interpreter {
 public:
  TypesOnly() : Interpreter(eval_interpreter()) {}
  Arrays process(const PrimitivePtr&, const Arrays&) override;
  Array value(const Type&) const;
  bool communicated = false;  // an operation would have
};
/// For a rank whose mesh has no others: they are taken to say what this one says.
class NoOthers final : public Communicator {
 public:
  explicit NoOthers(int ranks) : ranks_(ranks) {}
  std::shared_ptr<Handle> start(const MeshAxes& axes, const CollectiveCall&) override;
  std::vector<std::string> exchange(const std::string& mine, std::string_view what) override;

 private:
  int ranks_;
};
}  // namespace bora
