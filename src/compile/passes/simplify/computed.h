// computed.h -- a primitive and its operands, by which passes find a value that is there already.
#pragma once
#include <vector>
#include "bora/array/primitive_base.h"

namespace bora {
struct Computed {
  const Primitive* primitive;
  std::vector<int> in;
  bool operator==(const Computed& o) const { return in == o.in && primitive->equals(*o.primitive); }
  struct Hash {
    std::size_t operator()(const Computed& c) const {
      auto h = c.primitive->hash();
      for (int v : c.in) h = hash_combine(h, static_cast<std::size_t>(v));
      return h;
    }
  };
};
}  // namespace bora
