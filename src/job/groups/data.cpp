// Rules of the data with the model, and with the run's own files.
#include "bora/array/mesh.h"
#include "bora/data/data.h"
#include "bora/models/model.h"
#include "bora/text/tokenizer.h"
#include "job/facts.h"

namespace bora::job {
bool has_pairs(const Settings& s) {
  auto shape = s.data->shape(s.model->positions());
  return shape.pairs && shape.prediction == data::Prediction::tokens;
}
void check_group(const models::PreferenceSettings& preference, const Facts& facts) {
  if (!facts.mesh) return;
  auto& s = facts.all;
  auto& mesh = *facts.mesh;
  if (!has_pairs(s))
    return check<ConfigError>(preference == models::PreferenceSettings(), "preference: it is the loss of pairs; set "
                              "data.task to preference, or leave it out");
  check<ConfigError>(s.loss == models::LossSettings(),
                     "loss: the loss of pairs is the group preference; leave loss out");
  check<ConfigError>(!s.model->decoder_start(),
                     "data.task: preference is for models without an encoder, and the model ", s.model->type(),
                     " has one");
  check<ConfigError>(!s.local->on(), "local: replicas of local steps hold no reference model; leave local out, or the "
                     "task preference");
  AxisName context(mesh_axes::kContext);
  check<ConfigError>(facts.stages == 1 && (!mesh.has(context) || mesh.axis_size(context) == 1), "mesh: ",
                     to_string(mesh), ": the loss of pairs needs whole texts on a rank that has all layers; leave the "
                     "axes stage and context out");
}
void check_rows(const Settings& s) {
  auto shape = s.data->shape(s.model->positions());
  bool inputs = shape.inputs > 0, encoder = s.model->decoder_start().has_value();
  check<ConfigError>(s.model->generates() || shape.in_place, "data.task: its rows are for models that predict the next "
                     "token, and the model ", s.model->type(), " is an encoder; choose a task such as mlm");
  check<ConfigError>(!s.model->generates() || !shape.in_place, "data.task: its rows are for an encoder alone, and the "
                     "model ", s.model->type(), " predicts the next token; choose a task such as lm");
  check<ConfigError>(encoder || !inputs, "data.task: its rows are for an encoder and a decoder, and the model ",
                     s.model->type(), " has no encoder; choose a task such as lm");
  using enum data::Prediction;
  auto rows = [](data::Prediction p) {
    return p == tokens    ? "tokens"
           : p == classes ? "classes"
           : p == numbers ? "numbers"
           : p == spans   ? "spans of an answer"
                          : "how texts go together";
  };
  auto kind = shape.prediction == partners ? similarities : shape.prediction;
  check<ConfigError>(s.model->prediction() == kind, "data.task: its rows have ", rows(shape.prediction),
                     " to predict, and the model ", s.model->type(), " predicts ", rows(s.model->prediction()),
                     "; choose another task, or model.head (mlm: tokens; classify, tag: classes; regress: numbers; "
                     "qa: spans; embed: pairs)");
  bool parts = s.accumulate > 1 || s.reproducible.virtual_ > 0;
  check<ConfigError>(shape.prediction != partners || !parts, s.accumulate > 1 ? "accumulate: " : "reproducible: ",
                     "pairs without scores are compared with all others of their batch, which cannot be cut into "
                     "parts; leave it out, or give data.task.score");
  check<ConfigError>(inputs || !encoder, "data.task: its rows have no inputs for the encoder of the model ",
                     s.model->type(), "; choose a task such as spans or seq2seq");
}
void check_rows(const Settings& s, const text::Tokenizer& tokenizer) {
  check_rows(s);
  auto first = tokenizer.padding().value_or(0);  // in the rows, before a decoder's first target
  auto start = s.model->decoder_start().value_or(first);
  check<ConfigError>(start == first, "model.decoder_start: ", start, ", but rows begin with the tokenizer's token ",
                     first, "; set model.decoder_start=", first);
}
}  // namespace bora::job
