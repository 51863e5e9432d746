#include "app/flags.h"
#include <CLI/CLI.hpp>

namespace bora::app {
Flag& Flag::required() { return option_->required(), *this; }
Flag& Flag::one_of(const std::vector<std::string>& words) { return option_->check(CLI::IsMember(words)), *this; }
Flag& Flag::between(int least, int most) { return option_->check(CLI::Range(least, most)), *this; }
Flag& Flag::not_negative() { return option_->check(CLI::NonNegativeNumber), *this; }
Flag& Flag::take_last() { return option_->take_last(), *this; }
Flag& Flag::one_value() { return option_->allow_extra_args(false), *this; }
Flag& Flag::named(const std::string& type) { return option_->type_name(type), *this; }
Flag& Flag::no_default() { return option_->default_str(""), *this; }
Flag& Flag::hidden() { return option_->group(""), *this; }

Flag Flags::add(const std::string& name, std::string& value, const std::string& help) {
  return Flag(app_.add_option(name, value, help));
}
Flag Flags::add(const std::string& name, int& value, const std::string& help) {
  return Flag(app_.add_option(name, value, help));
}
Flag Flags::add(const std::string& name, std::optional<int>& value, const std::string& help) {
  return Flag(app_.add_option(name, value, help));
}
Flag Flags::add(const std::string& name, std::optional<std::string>& value, const std::string& help) {
  return Flag(app_.add_option(name, value, help));
}
Flag Flags::add(const std::string& name, std::int64_t& value, const std::string& help) {
  return Flag(app_.add_option(name, value, help));
}
Flag Flags::add(const std::string& name, double& value, const std::string& help) {
  return Flag(app_.add_option(name, value, help));
}
Flag Flags::add(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return Flag(app_.add_option(name, values, help));
}
Flag Flags::add(const std::string& name, std::function<void(const std::string&)> f, const std::string& help) {
  return Flag(app_.add_option_function<std::string>(name, std::move(f), help));
}
Flag Flags::add(const std::string& name, bool& value, const std::string& help) {
  return Flag(app_.add_flag(name, value, help));
}
Flag Flags::on(const std::string& name, std::function<void()> f, const std::string& help) {
  return Flag(app_.add_flag_callback(name, std::move(f), help));
}
void Flags::footer(std::function<std::string()> text) { app_.footer(std::move(text)); }
}  // namespace bora::app
