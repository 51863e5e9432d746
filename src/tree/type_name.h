// type_name.h -- the name of a type, as its author writes it.
#pragma once
#include <cxxabi.h>
#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

namespace bora::tree {
inline std::string type_name(const std::type_info& type) {
  if (type == typeid(void)) return "nothing";
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return text ? text.get() : type.name();
}
}  // namespace bora::tree
