// arguments.h -- the command line as a value.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::app {
struct Arguments {
  enum class Command : std::uint8_t {
    train,
    launch,
    plan,
    eval,
    generate,
    inspect,
    doctor,
    comm,
    agent
  } command = Command::train;
  std::string path = {};                          // configuration file (empty: none), run folder or checkpoint
  std::vector<std::string> settings = {};         // key=value, short forms included
  std::vector<transport::Option> transport = {};  // flags of train and comm
  bool pipeline = true;                           // train, launch, plan: see CompileOptions
  std::string resume = {};                        // train, launch: latest, good, none; empty: latest
  // launch
  int ranks = 1, max_restarts = 0;
  bool ranks_given = false;
  std::string log_dir = {}, hosts = {}, ssh = {};
  std::vector<std::string> variables = {};  // names, sent to other hosts too
  std::vector<std::string> program = {};  // run by every rank instead of `train`: eval .., a program .., with arguments
  std::string interface_name = {};        // agent
  // generate
  std::string prompt = {};
  std::int64_t length = 300, top_k = 0, seed = 0;
  double temperature = 1;
  bool details = false;  // inspect: every block
  // comm
  std::int64_t most_bytes = 16 << 20;
  bool explain = false;
  int hosts_explained = 0;  // 0: one for each rank
  std::string json = {}, svg = {};
};
/// Whether `launch --` runs this word as a command of bora, beside `train`: comm, eval, generate.
bool is_own_command(const std::string& word);
/// The arguments; none if help or the version was asked for and printed. Throws ConfigError.
std::optional<Arguments> parse_arguments(int argc, const char* const* argv);
}  // namespace bora::app
