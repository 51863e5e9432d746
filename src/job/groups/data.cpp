// Rules of the data with the model, and with the run's own files.
#include "bora/data/data.h"
#include "bora/text/tokenizer.h"
#include "job/facts.h"

namespace bora::job {
void check_rows(const Settings& s) {
  bool inputs = s.data->shape(s.model->positions()).inputs > 0, encoder = s.model->decoder_start().has_value();
  check<ConfigError>(encoder || !inputs, "data.task: its rows are for an encoder and a decoder, and the model ",
                     s.model->type(), " has no encoder; choose a task such as lm");
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
