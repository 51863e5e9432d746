// budget.h -- how many pages of keys and values a mesh has.
#pragma once
#include <cstdint>

namespace bora {
class Mesh;
namespace models {
class Stepper;
}  // namespace models
}  // namespace bora
namespace bora::generate::engine {
/// The same number on all ranks: what the rank with the least has in `bytes`, or, where these are 0, in half of the
/// memory that is left there, which the ranks of a host share. Throws ValueError if it is none.
std::int64_t pages_for(models::Stepper&, const Mesh&, std::int64_t bytes, std::int64_t rows);
}  // namespace bora::generate::engine
