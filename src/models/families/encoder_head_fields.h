// encoder_head_fields.h -- the head of an encoder in config.json: the class's name, and the names of labels. Private.
#pragma once
#include "models/families/encoder_head.h"

namespace bora::models {
/// The end of the name of transformers' class.
inline std::string_view architecture_of(EncoderTask head) {
  return head == EncoderTask::mlm     ? "ForMaskedLM"
         : head == EncoderTask::tag   ? "ForTokenClassification"
         : head == EncoderTask::qa    ? "ForQuestionAnswering"
         : head == EncoderTask::embed ? "Model"
                                      : "ForSequenceClassification";
}
/// That of the first class in `architectures`; without one, the head of hidden tokens.
inline EncoderTask read_head(HfConfig& c) {
  auto classes = c.words("architectures");
  auto name = classes.empty() ? std::string() : classes[0];
  auto is = [&](std::string_view end) { return name.ends_with(end); };
  if (is("ForTokenClassification")) return EncoderTask::tag;
  if (is("ForQuestionAnswering")) return EncoderTask::qa;
  if (is("ForSequenceClassification")) {
    auto kind = c.word("problem_type", "");
    if (kind == "multi_label_classification") c.refuse("problem_type", "one class for a text is");
    bool one = c.integer("num_labels", 0) == 1 || (c.has("id2label") && !c.group("id2label").has("1"));
    return one || kind == "regression" ? EncoderTask::regress : EncoderTask::classify;
  }
  if (is("Model")) return EncoderTask::embed;
  if (name.empty() || is("ForMaskedLM") || is("ForPreTraining")) return EncoderTask::mlm;
  c.refuse("architectures", "names that end in ForMaskedLM, ForSequenceClassification, ForTokenClassification, "
           "ForQuestionAnswering and Model are");
}
/// Those of id2label; without it transformers calls them LABEL_0 ...
inline std::vector<std::string> read_labels(HfConfig& c, EncoderTask head) {
  std::vector<std::string> labels;
  bool named = c.has("id2label");
  if (named)
    for (auto group = c.group("id2label"); group.has(std::to_string(labels.size()));)
      labels.push_back(group.word(std::to_string(labels.size())));
  auto n = c.integer("num_labels", named ? std::ssize(labels) : 2);
  if (named && n != std::ssize(labels)) c.refuse("num_labels", "as many as id2label has are");
  if (n < 0 || n > 1 << 20) c.refuse("num_labels", "up to 2^20 are");
  if (head == EncoderTask::qa && n != 2) c.refuse(named ? "id2label" : "num_labels", "the two of begin and end are");
  while (std::ssize(labels) < n) labels.push_back("LABEL_" + std::to_string(labels.size()));
  if (predicted_by(head) != data::Prediction::classes) labels.clear();
  return labels;
}
inline void write_labels(HfConfig& c, EncoderTask head, const std::vector<std::string>& labels) {
  if (head != EncoderTask::regress && predicted_by(head) != data::Prediction::classes) return;
  auto names = labels;
  if (head == EncoderTask::regress) {
    names = {"LABEL_0"};
    c.set("problem_type", std::string("regression"));
  }
  auto by_id = c.group("id2label"), by_name = c.group("label2id");
  for (std::size_t i = 0; i < names.size(); ++i) {
    by_id.set(std::to_string(i), names[i]);
    by_name.set(names[i], static_cast<std::int64_t>(i));
  }
}
}  // namespace bora::models
