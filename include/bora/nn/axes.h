// axes.h -- names of the models' logical axes. Layers, models and layouts use these words, so that a layout fits every
// model.
#pragma once
#include <string_view>
#include "bora/named/axes.h"

namespace bora::nn {
inline constexpr const char* kBatch = "batch";               // rows of a batch
inline constexpr const char* kWindow = "window";             // a row's tokens: the inputs and the last target
inline constexpr const char* kPosition = "position";         // along a sequence; of queries in attention
inline constexpr const char* kKeyPosition = "key_position";  // of keys and values in attention
inline constexpr const char* kInput = "input";               // along an encoder's sequence
inline constexpr const char* kEmbed = "embed";               // the vectors between blocks
inline constexpr const char* kHeads = "heads";               // heads of attention; with groups those of the keys
inline constexpr const char* kHeadGroup = "head_group";      // query heads that share the keys of one head
inline constexpr const char* kHeadSize = "head_size";        // a head's part of a vector
inline constexpr const char* kMlp = "mlp";                   // hidden units between two blocks' vectors
inline constexpr const char* kVocab = "vocab";               // tokens
inline constexpr const char* kBucket = "relative_bucket";    // of distances between positions
inline constexpr const char* kLayers = "layers";             // equal blocks, stacked
inline constexpr const char* kRank = kAdapterRank;           // of an adapter's product
/// All of them: a rule of the settings must name one of these, or one of its model's own.
inline constexpr std::string_view kAxes[] = {kBatch,     kWindow,   kPosition, kKeyPosition, kInput,  kEmbed,  kHeads,
                                             kHeadGroup, kHeadSize, kMlp,      kVocab,       kBucket, kLayers, kRank};
}  // namespace bora::nn
