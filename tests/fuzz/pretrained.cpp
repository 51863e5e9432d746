// Folders of Hugging Face's. The input is a config.json, a line ----, and model.safetensors; or an index and the shards
// a, b .. that it may name, with such a line before each. A folder that is accepted gives a model with names and sizes
// of its tensors, whose numbers can be read.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "bora/io/safetensors.h"
#include "bora/models/pretrained.h"
#include "support/temp_folder.h"

using namespace bora;
namespace fs = std::filesystem;
namespace {
/// A folder of this process.
class Folder {
 public:
  const std::string& path() const { return temp_.path(); }
  void clear() const {
    fs::remove_all(path());
    fs::create_directories(path());
  }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(temp_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  test::TempFolder temp_;
};
std::vector<std::string_view> pieces_of(std::string_view bytes) {
  constexpr std::string_view line = "\n----\n";
  std::vector<std::string_view> all;
  for (std::size_t at; (at = bytes.find(line)) != bytes.npos && all.size() < 4; bytes.remove_prefix(at + line.size()))
    all.push_back(bytes.substr(0, at));
  all.push_back(bytes);
  return all;
}
template <class F> void expecting_errors(const F& f) {
  try {
    f();
  } catch (const IoError&) {
  } catch (const CheckpointError&) {
  } catch (const ConfigError&) {}
}
void look_into(const std::string& folder) {
  expecting_errors([&] {
    auto p = models::Pretrained::open(folder);
    expecting_errors([&] {
      models::HfConfig out;
      p.model->to_hf(out);
    });
    models::check_pretrained(folder, *p.model, p.vocabulary);
  });
  expecting_errors([&] {
    auto files = Safetensors::open(folder);
    for (auto& name : files.names()) try {
        auto order = Dims();
        for (auto d = static_cast<std::int64_t>(files.type(name).shape.size()); d-- > 0;) order.push_back(d);
        auto x = files.read({.name = name, .order = order});
        if (x.type() != files.type({.name = name, .order = order})) std::abort();
      } catch (const DtypeError&) {}
  });
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static const Folder folder;
  folder.clear();
  auto pieces = pieces_of({reinterpret_cast<const char*>(data), n});
  folder.write("config.json", pieces[0]);
  if (pieces.size() == 2) folder.write("model.safetensors", pieces[1]);
  if (pieces.size() > 2) folder.write("model.safetensors.index.json", pieces[1]);
  for (std::size_t i = 2; i < pieces.size(); ++i) folder.write(std::string(1, "abc"[i - 2]), pieces[i]);
  look_into(folder.path());
  return 0;
}
