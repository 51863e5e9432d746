// example.h -- rows for a language model, as a tree of named arrays.
#pragma once
#include <optional>
#include "bora/named/array.h"

namespace bora::training {
/// Axes: batch, position.
struct Example {
  NamedArray tokens = {};                             // i32
  NamedArray targets = {};                            // i32: the token to predict at each position
  NamedArray weights = {};                            // f32: of each target's loss; 0: does not count
  /// i32: number of the document, from 1, of those that share a row (0: padding); attention stays inside of one.
  std::optional<NamedArray> segments = std::nullopt;
  std::optional<NamedArray> filled = std::nullopt;  // i32 [batch]: tokens before a row's padding; absent: it has none
  std::optional<NamedArray> positions = std::nullopt;   // i32: place of each token in its document
  std::optional<NamedArray> token_types = std::nullopt;  // i32: of each token of an encoder: 0 of the first text, 1 ..
  std::optional<NamedArray> values = std::nullopt;       // f32: the number to predict at a position
  std::optional<NamedArray> mask = std::nullopt;        // i32; 1: a token, 0: padding, which no position attends to
  std::optional<NamedArray> inputs = std::nullopt;      // i32 [batch, input]: an encoder's tokens
  std::optional<NamedArray> input_mask = std::nullopt;  // i32 [batch, input]; 1: a token, 0: padding
  /// i32 [batch, input]: of the encoder's documents, with `segments`; a document's decoder sees its inputs only.
  std::optional<NamedArray> input_segments = std::nullopt;
  /// f32 [batch, source]: 1 for the source of each row, of several, else 0: reports have the loss of each.
  std::optional<NamedArray> sources = std::nullopt;
  /// Above 1: along `position` all of this is in the zigzag order of so many ranks (nn/ring_attention.h).
  std::int64_t zigzag = 1;
};
}  // namespace bora::training
