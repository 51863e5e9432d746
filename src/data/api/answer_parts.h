// answer_parts.h -- how a question and a text that may answer it become rows: the question, then a part of the text.
#pragma once
#include <algorithm>
#include "bora/base/error.h"
#include "bora/data/around.h"

namespace bora::data {
/// Rows of a model's positions; neighbouring parts of a text share `overlap` tokens, at most half of a row's.
struct AnswerParts {
  AnswerParts(const Around& a, std::int64_t model_positions, std::int64_t shared)
      : around(std::ssize(a.before()) + std::ssize(a.between()) + std::ssize(a.after())),
        positions(model_positions), overlap(shared) {}
  /// Throws ConfigError if a question and a text have no room.
  void check() const {
    bora::check<ConfigError>(positions - around >= 2, "model.positions: the ", around, " tokens around texts leave ",
                             "none of ", positions, " to them; raise it");
  }
  /// Of a question of n tokens: it has half of the room at most, and loses its end.
  std::int64_t question_length(std::int64_t n) const { return std::min(n, (positions - around) / 2); }
  /// Tokens of a text behind a question of so many.
  std::int64_t text_room(std::int64_t question) const { return positions - around - question_length(question); }
  /// Where the parts of a text of n tokens begin.
  std::vector<std::int64_t> begins(std::int64_t question, std::int64_t n) const {
    auto room = text_room(question), step = room - std::min(overlap, room / 2);
    std::vector<std::int64_t> all;
    for (std::int64_t begin = 0;; begin += step) {
      all.push_back(begin);
      if (begin + room >= n) return all;
    }
  }
  std::int64_t around, positions, overlap;  // around: tokens of a row besides those of both texts
};
}  // namespace bora::data
