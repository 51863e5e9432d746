#include "commands.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <type_traits>
#include <variant>

namespace bora::app {
namespace {
std::vector<Row>& rows() {
  static std::vector<Row> all;
  return all;
}
template <class T> constexpr bool is_number = std::is_arithmetic_v<T> || std::is_same_v<T, std::optional<int>>;
/// CLI11 takes an empty text for 0.
CLI::Validator some_number() {
  return {[](std::string& text) { return std::string(text.empty() ? "a number is expected, got an empty text" : ""); },
          ""};
}
/// Makes the options of a command's flags.
void add_flags(CLI::App& app, const Flags& flags) {
  for (auto& flag : flags.all()) {
    auto option = std::visit(
        [&](auto& target) -> CLI::Option* {
          using T = std::remove_cvref_t<decltype(target)>;
          if constexpr (std::is_same_v<T, std::function<void()>>)
            return app.add_flag_callback(flag.name(), target, flag.help());
          else if constexpr (!std::is_pointer_v<T>)
            return app.add_option_function<std::string>(flag.name(), target, flag.help());
          else if constexpr (std::is_same_v<T, config::Duration*>) {
            auto parse = [name = flag.name(), target](const std::string& text) {
              try {
                *target = config::Duration::parse(text);
              } catch (const ConfigError& e) { fail<ConfigError>(name, ": ", e.text()); }
            };
            return app.add_option_function<std::string>(flag.name(), parse, flag.help())
                ->type_name("TIME")
                ->default_str(to_string(*target));
          } else if constexpr (std::is_same_v<T, bool*>) return app.add_flag(flag.name(), *target, flag.help());
          else {
            auto named = app.add_option(flag.name(), *target, flag.help());
            return is_number<std::remove_pointer_t<T>> ? named->check(some_number()) : named;
          }
        },
        flag.target());
    auto& form = flag.form();
    if (form.required) option->required();
    if (!form.words.empty()) option->check(CLI::IsMember(form.words));
    if (form.between) option->check(CLI::Range(form.between->first, form.between->second));
    if (form.not_negative) option->check(CLI::NonNegativeNumber);
    if (form.take_last) option->take_last();
    if (form.one_value) option->allow_extra_args(false);
    if (form.type) option->type_name(*form.type);
    if (form.no_default) option->default_str("");
    if (form.hidden) option->group("");
  }
  if (flags.footer()) app.footer(flags.footer());
}
/// CLI11's view of all commands.
struct CommandLine {
  CLI::App app{"Bora: sharded training of language models on CPUs", "bora"};
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> all = {};
  CommandLine() {
    app.require_subcommand(1);
    app.option_defaults()->always_capture_default();
    app.set_version_flag("--version", "bora " BORA_VERSION);
    for (auto& row : commands()) {
      auto command = row.make();
      auto words = app.add_subcommand(std::string(command->name()), std::string(command->help()));
      Flags flags;
      command->declare(flags);
      add_flags(*words, flags);
      all.emplace_back(words, std::move(command));
    }
  }
};
}  // namespace

const std::vector<Row>& commands() { return rows(); }
void add_row(const Row& row) {
  auto& all = rows();
  all.insert(std::upper_bound(all.begin(), all.end(), row, [](auto& a, auto& b) { return a.place < b.place; }), row);
}

std::unique_ptr<Command> parse_command(int argc, const char* const* argv) {
  CommandLine line;
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && argv[1][0] != '-') {
    std::string names;
    for (auto& row : commands()) names += (names.empty() ? "" : ", ") + std::string(row.name);
    auto named = std::find_if(line.all.begin(), line.all.end(), [&](auto& c) { return c.second->name() == argv[1]; });
    check<ConfigError>(named != line.all.end(), "unknown command '", argv[1], "'; there are ", names);
    named->second->before(words);
  }
  try {
    line.app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& e) {
    line.app.exit(e);
    return nullptr;
  } catch (const CLI::ParseError& e) {
    std::string text = e.what();
    throw ConfigError(text.substr(0, text.find('\n')) + "; see bora --help");
  }
  auto parsed = std::find_if(line.all.begin(), line.all.end(), [](auto& c) { return c.first->parsed(); });
  parsed->second->settle();  // there is one: the App requires it
  return std::move(parsed->second);
}

std::optional<std::string> help_text(const std::string& command) {
  CommandLine line;
  for (auto& [words, named] : line.all)
    if (named->name() == command) return words->help(line.app.get_name());
  return std::nullopt;
}
}  // namespace bora::app
