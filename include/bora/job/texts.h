// texts.h -- what an encoder says of texts: their classes, or their vectors. bora classify, bora embed.
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
}  // namespace bora::job
