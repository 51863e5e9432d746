// texts.h -- what an encoder says of texts: their classes, their vectors, answers that stand in them. bora classify,
// bora embed, bora answer.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora {
class Array;
}  // namespace bora
namespace bora::job {
struct TrainedRun;
/// What is said of one text, or of one of its words.
struct Said {
  std::string label = {};  // the likeliest class
  double probability = 0;  // of that
  double value = 0;        // of a model that predicts numbers
};
struct TextClasses {                          // of classify_texts
  std::vector<std::vector<Said>> texts = {};  // by text: one, or one for each word of a model that tags
  bool numbers = false, of_words = false;
};
/// The classes of texts, by a run or a folder of Hugging Face's, on the job's mesh. A text is cut at the model's
/// positions; of a model that tags, a text is cut into words at white space, and words that are cut off have the label
/// "". Throws ConfigError for a model that is no encoder, or has the head mlm; as read_parameters.
TextClasses classify_texts(const TrainedRun&, const std::vector<std::string>& texts, std::string_view command);

/// The vector of a text: the mean of those of its tokens, special ones too, or the first one.
enum class Pooling : std::uint8_t { mean, first };
struct EmbedOptions {            // of embed_texts
  Pooling pool = Pooling::mean;  // of a text's tokens
  bool normalize = false;        // to length 1
};
/// f32 [texts, embed]: the vectors in front of the encoder's head. Throws as classify_texts, but for the head.
Array embed_texts(const TrainedRun&, const std::vector<std::string>& texts, const EmbedOptions&,
                  std::string_view command);

/// What find_answers is asked.
struct Question {
  std::string question = {};
  std::string context = {};  // the text in which the answer is looked for
};
/// Those of lines {"question": .., "context": ..}, with other fields or without; blank lines are none. Throws
/// ConfigError "COMMAND: line N: ..".
std::vector<Question> read_questions(const std::vector<std::string>& lines, std::string_view command);
/// The answer to one of them.
struct FoundAnswer {
  std::string text = {};            // a piece of the context; empty: it has no answer
  std::int64_t start = 0, end = 0;  // characters of the context before the piece, and before its end
  double score = 0;
};
/// The answers to questions, by a run or a folder of Hugging Face's with the head qa. A context that has no room in a
/// row is read in parts that share `overlap` tokens, as the task qa cuts it. In each part, the softmax of the scores of
/// an answer's first token runs over the part's tokens and the row's first one, which stands for no answer; so does
/// that of its last token. A piece's score is the product of its two probabilities; the likeliest piece of all parts
/// is the answer, unless that there is none is likelier in every part (transformers' question-answering, of pieces of
/// any length). Throws ConfigError for another head; as classify_texts.
std::vector<FoundAnswer> find_answers(const TrainedRun&, const std::vector<Question>&, std::int64_t overlap,
                                      std::string_view command);
}  // namespace bora::job
