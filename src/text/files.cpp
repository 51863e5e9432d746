#include "text/api/files.h"
#include <filesystem>
#include "base/api/file.h"
#include "base/api/paths.h"
#include "gguf/api/companions.h"

namespace bora::text {
namespace fs = std::filesystem;
std::string read_file(const std::string& path) {
  if (gguf::is_within(path)) return gguf::read_file(path);
  constexpr std::uintmax_t most = std::uintmax_t{1} << 28;
  std::error_code error;
  auto status = fs::status(path, error);
  check<IoError>(status.type() != fs::file_type::not_found, "tokenizer: no file at ", path);
  check<IoError>(status.type() != fs::file_type::none, "tokenizer: cannot read ", path, ": ", error.message());
  check<IoError>(fs::is_regular_file(status), "tokenizer: ", path,
                 fs::is_directory(status) ? " is a folder" : " is no regular file");
  auto bytes = fs::file_size(path, error);
  check<IoError>(!error && bytes <= most, "tokenizer: ", path, ": ",
                 error ? error.message() : "has " + std::to_string(bytes) + " bytes; this is no tokenizer");
  return bora::read_file(path);
}
std::string file_at(const std::string& place, FileForm form) {
  std::error_code error;
  if (gguf::is_file(place)) {
    for (auto [name, wanted] : {std::pair{"/tokenizer.json", FileForm::json}, {"/tokenizer.model", FileForm::model}})
      if ((form == FileForm::any || form == wanted) && gguf::is_there(place + name)) return place + name;
    fail<IoError>("tokenizer: ", place, " has no tokenizer",
                  form == FileForm::any ? "" : " of the form that its settings name");
  }
  if (!fs::is_directory(place, error)) return place;
  auto in = [&](const char* name) { return (fs::path(place) / name).string(); };
  bool json = form != FileForm::model, model = form != FileForm::json;
  if (json && is_there(in("tokenizer.json"))) return in("tokenizer.json");
  if (model) {
    for (auto name : {"tokenizer.model", "spiece.model"})
      if (is_there(in(name))) return in(name);
    std::string only;
    for (fs::directory_iterator i(place, error), end; !error && i != end; i.increment(error)) {
      if (i->path().extension() != ".model") continue;
      check<IoError>(only.empty(), "tokenizer: ", place, " has several files *.model; give one of them");
      only = i->path().string();
    }
    check<IoError>(!error, "tokenizer: cannot read the folder ", place, ": ", error.message());
    if (!only.empty()) return only;
  }
  if (json && is_there(in("vocab.json")) && is_there(in("merges.txt"))) return in("vocab.json");
  fail<IoError>("tokenizer: ", place, " has no ", json ? "tokenizer.json" : "", json && model ? ", no " : "",
                model ? "tokenizer.model, spiece.model or other *.model" : "",
                json ? ", and no vocab.json with merges.txt" : "");
}
}  // namespace bora::text
