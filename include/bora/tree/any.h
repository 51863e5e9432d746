// any.h -- a tree whose type is known only at run time, made of any tree.
#pragma once
#include "bora/tree/any_base.h"
#include "bora/tree/stored.h"

namespace bora::tree {
template <class T>
requires(!std::is_same_v<T, Any>) Any::Any(T value) : Any(std::move(value), &tree::walk_values<T>) {}
}  // namespace bora::tree
