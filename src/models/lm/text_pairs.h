// text_pairs.h -- training the vectors of texts on pairs of them.
#pragma once
#include "bora/models/lm.h"

namespace bora::models {
/// The task of a model under its policy, whose examples have a text in each half of the positions, with weights of 1
/// where there is a token. With `values` (a number at a row's first place) the loss is a mean of (cosine - value)^2;
/// without them of the cross-entropy of each first text's dot products with all second texts of the batch, whatever
/// ranks have them, of which its own is to be the largest (van den Oord et al. 2018, InfoNCE; sentence-transformers'
/// MultipleNegativesRankingLoss). Predictions are cosines, or the number of the row with the largest product.
TrainTask<tree::Any> text_pairs_task(const AnyModelPtr&, const ModelOptions&);
}  // namespace bora::models
