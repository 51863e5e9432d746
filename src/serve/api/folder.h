// folder.h -- what a server tells of the folder that its model comes from.
#pragma once
#include <string>
#include <string_view>
#include "bora/job/forward.h"
#include "serve/api/model.h"

namespace bora::job {
struct TrainedRun;
}  // namespace bora::job
namespace bora::serve {
/// "bora-VERSION-FORMAT-0123456789ab": equal for folders with equal files, as far as names, sizes and samples of all
/// files tell. Throws IoError.
std::string fingerprint_of(const std::string& folder, std::string_view format, std::string_view version);
/// As --chat-template and --date give them. A template that was not asked for may be missing.
struct ModelWords {
  std::string chat_template = {}, date = "now";
};
/// The model of a run or folder, whose name is the folder's, without a fingerprint. Throws ConfigError, IoError.
Model model_of(const job::TrainedRun&, const job::Settings&, std::shared_ptr<const text::Tokenizer>,
               const ModelWords& = {});
}  // namespace bora::serve
