#include "bora/tree/any.h"
#include <cxxabi.h>
#include <cstdlib>
#include <ostream>
#include <typeindex>

namespace bora::tree {
namespace {
std::string name_of(const std::type_info& type) {
  if (type == typeid(void)) return "nothing";
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return text ? text.get() : type.name();
}
}  // namespace

void Any::walk(Visitor& v, const Name& name) {
  v.statics(name, {&type(),
                   [](const void* type, Key& k) {
                     k.add_value(std::type_index(*static_cast<const std::type_info*>(type)));
                   },
                   [](const void* type, std::ostream& o) {
                     o << name_of(*static_cast<const std::type_info*>(type));
                   }});
  if (held_) held_->walk(v, name);
}
void Any::wrong_type(const std::type_info& wanted) const {
  fail<ValueError>("tree::Any: it holds ", name_of(type()), ", not ", name_of(wanted));
}
template <> void walk<Any>(void* p, Visitor& v, const Name& name) { static_cast<Any*>(p)->walk(v, name); }
}  // namespace bora::tree
