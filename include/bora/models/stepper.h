// stepper.h -- a model that generates for many sequences at once: their keys and values lie in pages of one budget.
#pragma once
#include <cstdint>
#include <vector>

namespace bora {
class Array;
namespace tree {
struct Node;
}  // namespace tree
}  // namespace bora
namespace bora::models {
/// A sequence in a step: `count` more of its tokens follow the `before` ones whose keys and values are in its pages.
struct StepRow {
  std::int64_t before = 0, count = 1;
  std::vector<std::int32_t> pages = {};  // of its positions in order, before + count of them; a page may be of several
                                         // sequences as long as none of them writes into it. Those wholly before the
                                         // window() of its first new token may be -1
  std::int64_t wanted = 1;               // the scores of its last so many tokens; 0: none
  std::int64_t inputs = -1;              // of a model with an encoder: what read() gave
};
/// The work of one step. tokens: those of the first row, then of the second one, and so on.
struct Step {
  std::vector<std::int32_t> tokens = {};
  std::vector<StepRow> rows = {};
};
/// A model that generates for many sequences. A token's scores have the same bits whether the tokens before it came as
/// one prompt, in pieces or one by one, whatever other rows a step has, on any number of threads.
class Stepper {
 public:
  static constexpr std::int64_t kPagePositions = 32;
  virtual ~Stepper() = default;
  virtual tree::Node parameters() = 0;
  virtual std::int64_t positions() const = 0;   // of a sequence at most
  virtual std::int64_t window() const = 0;      // of the last ones, those that a token sees, its own included
  virtual std::int64_t vocabulary() const = 0;  // scores of a token
  virtual std::int64_t page_bytes() const = 0;  // of this rank
  /// Gives pages 0 .. n - 1; their memory is touched as it is used. What was in them before is lost.
  virtual void allot(std::int64_t n) = 0;
  /// Runs the encoder; the number is that of its result, until forget(). Inputs lie in pages of their own, of which
  /// there are as many as allot() gave (page_bytes() counts both). Throws ValueError if none or too few are free, or
  /// the model has no encoder.
  virtual std::int64_t read(const std::vector<std::int32_t>& inputs) = 0;
  virtual void forget(std::int64_t inputs) = 0;
  /// The scores that the rows want, f32 [wanted, vocabulary], whole on every rank. Every rank of the mesh calls it with
  /// the same step. Throws ValueError for a step that does not fit, before anything is computed. After another error
  /// the pages are lost, until allot().
  virtual Array step(const Step&) = 0;
};
}  // namespace bora::models
