// program.h -- Stage, and its result: a straight-line Program in SSA form. Programs have global shapes until Shard has
// run them.
#pragma once
#include <map>
#include <mutex>
#include <unordered_map>
#include "bora/array/primitive_base.h"
#include "array/api/source.h"
#include "bora/compile/stage.h"

namespace bora {
/// What a Memo keeps; each is of one type. agreed: that the ranks have compared the Program, which they do together.
enum class Form : std::uint8_t { executable, body, batched, split, pushed, dependence, fingerprint, sharded, agreed };
/// Cache of forms derived from a Program: split, batched, sharded, its Executable. The key names everything that the
/// derived form depends on; under Shard that includes mesh and rank, because ranks that are threads share Programs.
class Memo {
 public:
  /// Entries of one form that a Program keeps: of a form that is one rank's, for each rank, so that what one rank keeps
  /// does not depend on how far others are. The least recently used goes first; of `agreed`, where making one again
  /// communicates, the oldest, which is the same one on all ranks.
  static constexpr std::size_t kMost = 128;
  static constexpr int kNoRank = -1;
  Memo() = default;
  Memo(const Memo&) {}  // a copied Program is another Program
  Memo& operator=(const Memo&) { return *this; }
  ~Memo() {
    if (!shelves_.empty()) leave();
  }
  template <class T, class F>
  std::shared_ptr<const T> get(Form form, const std::string& key, F&& make, int rank = kNoRank) const {
    if (auto found = find({form, rank}, key)) return std::static_pointer_cast<const T>(found);
    return std::static_pointer_cast<const T>(keep({form, rank}, key, std::make_shared<const T>(make())));
  }
 private:
  using Kept = std::shared_ptr<const void>;
  using Shelf = std::pair<Form, int>;
  struct Entry {
    Kept kept;
    std::uint64_t used = 0;
  };
  Kept find(const Shelf&, const std::string& key) const;
  /// The entry of another thread, if it made one meanwhile.
  Kept keep(const Shelf&, const std::string& key, Kept) const;
  void leave() const;
  mutable std::mutex mutex_;
  mutable std::map<Shelf, std::map<std::string, Entry>> shelves_;
  mutable std::uint64_t uses_ = 0;
};

struct Instruction {
  PrimitivePtr primitive;
  std::vector<int> in, out;  // variables
  SourcePtr source = {};
};
struct Program {
  Types vars;  // by variable number
  std::vector<int> in, out;
  std::vector<Instruction> code;
  std::vector<std::string> labels = {};  // of inputs, where known: tree paths of the arguments
  bool local = false;                    // has the shapes of one rank's blocks: made by Shard
  CompileOptions compile = {};           // of its Executable; derived Programs inherit them
  Memo memo = {};
  Types in_types() const;
  Types out_types() const;
};

/// Appends one instruction per operation; inside a staged function everything is recorded. A value of any other
/// interpreter (a closed-over tracer, sharded value or buffer) is lifted to an input.
class Stage final : public Interpreter {
 public:
  explicit Stage(Interpreter* parent, bool local = false, const CompileOptions& = {});
  ~Stage() override;
  Arrays process(const PrimitivePtr&, const Arrays&) override;
  Array input(const Type&, std::string label = {});
  int variable(const Array&);              // lifts a value of another interpreter
  const std::string& scope(const Array&);  // the tree path it comes from, empty if none
  std::size_t length() const { return program_.code.size(); }
  /// The Program, simplified; inputs = input() calls in order, then captures.
  ProgramPtr finish(const Arrays& out);
  /// The same, code untouched.
  std::shared_ptr<Program> raw(const Arrays& out);
  Arrays captures;  // values lifted, in the order of their inputs
 private:
  Array fresh(const Type&, int* number);
  std::string scope_of(const std::vector<int>& operands) const;
  Program program_;
  std::vector<std::string> scopes_;  // by variable
  std::vector<int> captured_;
  std::unordered_map<const ArrayValue*, int> lifted_;
};
/// Runs a Program again under the current interpreter. see: is shown the value of every variable.
Arrays interpret(const Program&, const Arrays& in, const std::function<void(int, const Array&)>& see = {});

/// Dead code, common subexpressions, constants, absorbed transposes. On a local Program collectives are effects (kept,
/// in order, never merged) and nothing is merged by size, so that every rank gets the same instructions.
ProgramPtr simplify(const Program&);
/// p without dead code, by structure alone: the last step of partitioning.
std::shared_ptr<Program> sweep(const Program& p, bool collectives_are_effects);
/// Does an instruction hold a Program: a loop, a branch, a call?
bool holds_programs(const Program&);
/// Does the instruction, or a Program that it holds, communicate with other ranks?
bool communicates(const Instruction&);
/// Has the instruction, or a Program that it holds, an effect: does it run although nobody reads its results?
bool has_effect(const Instruction&);
}  // namespace bora
