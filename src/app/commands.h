// commands.h -- the commands of `bora`. Each is a source in commands/: an aggregate whose fields are its options, with
//   static constexpr std::string_view name, help;   its word, and one line for `bora --help`
//   static constexpr Row row{.place = 60};          its place there
//   void declare(Flags&);                           binds its words and flags to its fields
//   int run() const;                                returns the exit code, throws errors
// and, where it needs them,
//   void before(std::vector<const char*>& words);   takes words that CLI11 must not see
//   void settle();                                  after parsing: domains of its options; ConfigError
// A line at the end of the source adds it: template const bool added<Inspect>;
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "app/flags.h"
#include "app/options.h"
#include "bora/config/config.h"

namespace bora::app {
class Command;
struct Row {
  int place;              // in `bora --help`, which lists commands by their places
  bool launched = false;  // whether `launch --` takes its word: every rank runs it
  bool prints = false;    // does nothing else, so a reader that goes has read enough
  bool own_check = false;  // run() calls check_places, and tells other pods the reason
  std::string_view name = {};
  std::unique_ptr<Command> (*make)() = nullptr;
};
/// A command with its options.
class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view help() const = 0;
  virtual void declare(Flags&) = 0;
  virtual void before(std::vector<const char*>& words) = 0;
  virtual void settle() = 0;
  virtual int run() const = 0;
  virtual bool only_prints() const = 0;
  /// The fields by their names, as tests read them.
  virtual config::Document options() const = 0;
};
/// Throws ConfigError if a command would write what it reads, or what its run reads or writes.
void check_places(const Flags&, const ConfigWords*);
template <class T> void check_places(T fields) {
  Flags flags;
  fields.declare(flags);
  const ConfigWords* config = nullptr;
  if constexpr (requires { fields.config.load(); }) config = &fields.config;
  check_places(flags, config);
}
template <class T> class CommandOf final : public Command {
 public:
  std::string_view name() const override { return T::name; }
  std::string_view help() const override { return T::help; }
  void declare(Flags& flags) override { fields_.declare(flags); }
  void before(std::vector<const char*>& words) override {
    if constexpr (requires { fields_.before(words); }) fields_.before(words);
  }
  void settle() override {
    if constexpr (requires { fields_.settle(); }) fields_.settle();
  }
  int run() const override {
    if constexpr (!T::row.own_check) check_places(fields_);
    return fields_.run();
  }
  bool only_prints() const override { return T::row.prints; }
  config::Document options() const override { return config::write(fields_); }

 private:
  T fields_ = {};
};

/// All commands, by their places.
const std::vector<Row>& commands();
void add_row(const Row&);
template <class T> bool add() {
  Row row = T::row;
  row.name = T::name;
  row.make = []() -> std::unique_ptr<Command> { return std::make_unique<CommandOf<T>>(); };
  add_row(row);
  return true;
}
/// An explicit instantiation adds T at start-up (see config::added).
template <class T> inline const bool added = add<T>();

/// The command that the words ask for, ready to run; null if help or the version was asked for and printed. Throws
/// ConfigError.
std::unique_ptr<Command> parse_command(int argc, const char* const* argv);
/// The help of a command; none if there is no such command.
std::optional<std::string> help_text(const std::string& command);
}  // namespace bora::app
