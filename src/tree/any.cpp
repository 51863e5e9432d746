#include "bora/tree/any_base.h"
#include <ostream>
#include <typeindex>
#include "type_name.h"

namespace bora::tree {
void Any::walk(Visitor& v, const Name& name) {
  v.statics(name, {&type(),
                   [](const void* type, Key& k) {
                     k.add_value(std::type_index(*static_cast<const std::type_info*>(type)));
                   },
                   [](const void* type, std::ostream& o) {
                     o << type_name(*static_cast<const std::type_info*>(type));
                   }});
  if (held_) held_->walk(v, name);
}
void Any::walk_values(ValueVisitor& v, const Name& name) {
  check<ValueError>(!held_ || held_->walk_values(v, name), "tree::Any: the library made it, and keeps no static values "
                    "of it; save what it holds, get<T>(), or leave them out with {.statics = ignore}");
}
void Any::wrong_type(const std::type_info& wanted) const {
  fail<ValueError>("tree::Any: it holds ", type_name(type()), ", not ", type_name(wanted));
}
template <> void walk<Any>(void* p, Visitor& v, const Name& name) { static_cast<Any*>(p)->walk(v, name); }
}  // namespace bora::tree
