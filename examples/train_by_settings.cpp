// Training from settings, as `bora train` does it, in a program of your own:
//   train_by_settings CONFIG.yaml [key=value ...]         one rank
//   bora launch -n 4 -- train_by_settings CONFIG.yaml     four
// Without words it trains a small model on this line of text, in a folder that it removes.
#include <unistd.h>
#include <bora/base/error.h>
#include <bora/job/job.h>
#include <bora/job/trained_run.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
using namespace bora;

int main(int argc, char** argv) {
  try {
    if (argc > 1) return job::train(job::Job::open(job::load_settings(argv[1], {argv + 2, argv + argc})));
    auto name = "bora_train_by_settings_" + std::to_string(::getpid());
    auto folder = (std::filesystem::temp_directory_path() / name).string();
    std::filesystem::create_directories(folder);
    std::ofstream text(folder + "/text.txt");
    for (int i = 0; i < 200; ++i) text << "Line " << i << " says what the lines before it have said.\n";
    text.close();
    auto settings = job::load_settings("", {"data=" + folder + "/text.txt", "out=" + folder + "/run", "steps=5",
                                            "batch=8", "model={type: gpt2, layers: 1, embed: 16, heads: 2}",
                                            "model.positions=32"});
    if (auto code = job::train(job::Job::open(settings, {.resume = Resume::none}))) return code;
    auto evaluation = job::evaluate({.run = folder + "/run"});
    for (auto& [name, value] : evaluation.values) std::printf("%s: %.4f\n", name.c_str(), value);
    std::filesystem::remove_all(folder);
    return 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
