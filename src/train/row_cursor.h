// row_cursor.h -- which rows of the order a step reads, in a run whose batch may change at given steps and when it
// continues.
#pragma once
#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>
#include "bora/base/error.h"
#include "bora/train/settings.h"

namespace bora::training {
/// Every step reads the `batch` rows behind those of the step before, whatever their number was.
class RowCursor {
 public:
  explicit RowCursor(std::int64_t batch, const std::vector<BatchAt>& later = {}) : pieces_{{0, 0, batch}} {
    for (auto& at : later) change(at.step, at.batch);
  }
  /// Rows of the order before the step that follows `step` others.
  std::int64_t before(std::int64_t step) const {
    auto& p = piece_of(step);
    return p.row + (step - p.step) * p.batch;
  }
  /// Rows of the step that follows `step` others.
  std::int64_t batch_of(std::int64_t step) const { return piece_of(step).batch; }
  /// The most rows of a step that follows `step` others, or of a later one before step `end`.
  std::int64_t most(std::int64_t step, std::int64_t end) const {
    auto r = batch_of(step);
    for (auto& p : pieces_)
      if (p.step > step && p.step < end) r = std::max(r, p.batch);
    return r;
  }
  /// Steps behind `step`, which is not before the last change, read so many rows each.
  void change(std::int64_t step, std::int64_t batch) {
    if (batch == pieces_.back().batch) return;
    auto row = before(step);
    if (pieces_.back().step == step) pieces_.pop_back();  // which made no step
    if (pieces_.empty() || pieces_.back().batch != batch) pieces_.push_back({step, row, batch});
  }
  /// Steps behind `step` read as many rows as those of `other`.
  void follow(std::int64_t step, const RowCursor& other) {
    while (pieces_.back().step > step) pieces_.pop_back();
    change(step, other.batch_of(step));
    for (auto& p : other.pieces_)
      if (p.step > step) change(p.step, p.batch);
  }
  /// A checkpoint's note: "STEP ROW BATCH" of each change.
  std::string note() const {
    std::string r;
    for (auto& p : pieces_)
      r += (r.empty() ? "" : ", ") + std::to_string(p.step) + " " + std::to_string(p.row) + " " +
           std::to_string(p.batch);
    return r;
  }
  static RowCursor of_note(const std::string& text) {
    RowCursor r(1);
    r.pieces_.clear();
    std::istringstream in(text);
    bool fits = true;
    for (Piece p; in >> p.step >> p.row >> p.batch; in.ignore()) {
      auto first = r.pieces_.empty();
      fits = fits && p.batch > 0 && p.step >= 0 && p.row == (first ? 0 : r.before(p.step)) &&
             (first ? p.step == 0 : p.step > r.pieces_.back().step);
      r.pieces_.push_back(p);
    }
    check<CheckpointError>(fits && !r.pieces_.empty() && r.note() == text, "the checkpoint's note 'rows' is '", text,
                           "', not a step, the rows before it and a batch for each change of the batch");
    return r;
  }

 private:
  struct Piece {
    std::int64_t step = 0, row = 0, batch = 1;  // from this step and row on
  };
  const Piece& piece_of(std::int64_t step) const {
    auto p = pieces_.rbegin();
    while (p->step > step) ++p;
    return *p;
  }
  std::vector<Piece> pieces_;
};
}  // namespace bora::training
