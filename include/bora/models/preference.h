// preference.h -- training on pairs of answers, of which one is preferred.
#pragma once
#include "bora/models/lm.h"

namespace bora::models {
/// Sums over the tokens of each pair's answers, f32 [batch]: of log-probabilities, and of their weights.
struct AnswerScores {
  NamedArray chosen, rejected, chosen_tokens, rejected_tokens;
};
/// The loss of each pair, f32 [batch]. reference: those of the model that the run began with; orpo reads none.
NamedArray preference_losses(const PreferenceSettings&, const AnswerScores& model, const AnswerScores& reference);
/// The task of a model under its policy, whose examples have the chosen text with its prompt in the first half of the
/// positions, and the rejected one in the second. The loss is a mean over pairs. The reference model is the base that
/// adapters stand beside, or, where all of the model is trained, its first parameters, which the state's base keeps
/// (Trainable::holds_reference). It measures "accuracy", the part of pairs whose chosen answer gains more, and
/// "margin", the mean of what it gains more, times beta.
/// With PreferenceSettings::ahead there is no such model, and Example::values has the sums of its log-probabilities,
/// each at the first position of its text, and zeros.
TrainTask<tree::Any> preference_task(const AnyModelPtr&, const ModelOptions&);
/// The task of asking the model that a run begins with, without adapters: its predictions are the sums of
/// log-probabilities of the chosen and of the rejected answer of each pair, f32 [2, batch], and its loss is 0.
TrainTask<tree::Any> reference_task(const AnyModelPtr&, const ModelOptions&);
}  // namespace bora::models
