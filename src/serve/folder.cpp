#include "serve/api/folder.h"
#include <algorithm>
#include <ctime>
#include <filesystem>
#include "base/api/file.h"
#include "base/api/sha256.h"
#include "bora/job/prompt.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "gguf/api/companions.h"
#include "json/api/value.h"

namespace fs = std::filesystem;
namespace bora::serve {
namespace {
constexpr std::int64_t kSamples = 16, kSample = 64 << 10;  // bytes

/// A token as tokenizer_config.json has it: a text, or an object with one.
std::string token_text(const json::Value& config, std::string_view name) {
  auto v = config.find(name);
  if (v && v->is_object()) v = v->find("content");
  return v && v->is_text() ? v->text() : std::string();
}
}  // namespace

std::string fingerprint_of(const std::string& folder, std::string_view format, std::string_view version) {
  std::vector<fs::path> files;
  if (gguf::is_file(folder)) files.emplace_back(folder);
  else
    for (auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  Sha256 digest;
  std::string bytes;
  for (auto& path : files) {
    auto file = File::open(path.string());
    auto size = file.size();
    auto name = path.lexically_relative(folder).string() + '\0' + std::to_string(size) + '\0';
    digest.update(name.data(), name.size());
    for (std::int64_t i = 0; i < kSamples; ++i) {
      auto at = size / kSamples * i;
      auto n = std::min(kSample, size - at);
      bytes.resize(static_cast<std::size_t>(n));
      check<IoError>(file.read(at, bytes.data(), n), path.string(), ": the file became shorter while it was read");
      digest.update(bytes.data(), bytes.size());
    }
  }
  return "bora-" + std::string(version) + "-" + std::string(format) + "-" + digest.hex().substr(0, 12);
}
namespace {
/// bos, eos, pad and chat_text of files that a folder may have; eos and pad of the tokenizer else.
void describe(Model& m, const std::string& folder) {
  auto path = folder + "/tokenizer_config.json";
  if (gguf::is_there(path)) {
    auto config = json::parse_or_null(gguf::read_file(path));
    m.bos = token_text(config, "bos_token");
    m.eos = token_text(config, "eos_token");
    m.pad = token_text(config, "pad_token");
    m.chat_text = token_text(config, "chat_template");
  }
  if (auto jinja = folder + "/chat_template.jinja"; gguf::is_there(jinja)) m.chat_text = read_file(jinja);
  auto end = m.tokenizer->end_of_text(), pad = m.tokenizer->padding();
  if (m.eos.empty() && end) m.eos = m.tokenizer->bytes_of(*end);
  if (m.pad.empty() && pad) m.pad = m.tokenizer->bytes_of(*pad);
}
}  // namespace
Model model_of(const job::TrainedRun& words, const job::Settings& s, std::shared_ptr<const text::Tokenizer> tokenizer,
               const ModelWords& how) {
  auto folder = fs::absolute(words.run).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  Model m{.name = folder.filename().string(),
          .created = std::time(nullptr),
          .tokenizer = tokenizer,
          .around = job::prompt_tokenizer(words, s, nullptr),
          .ends = job::end_ids(words, *tokenizer),
          .positions = s.model->positions(),
          .grammars = std::make_shared<const generate::Grammars>(tokenizer),
          .date = how.date,
          .start = s.model->decoder_start()};
  try {
    m.chat = job::chat_template_for(words, s, how.chat_template);
  } catch (const ConfigError& e) {
    if (!how.chat_template.empty()) throw;
    m.no_chat = e.text();
  }
  if (m.chat) (void)m.chat->on(how.date);  // its words are checked
  auto tokens = job::is_pretrained(words) ? words.run : job::companions_of(words.run);
  describe(m, gguf::is_folder(tokens) ? tokens : words.run);
  return m;
}
}  // namespace bora::serve
