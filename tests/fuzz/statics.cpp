// The archive of a tree's static values. What is accepted is written back as the same bytes, and can be read by each
// row of bora/tree/stored.h, or is refused.
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cstdlib>
#include <set>
#include <sstream>
#include "bora/io/cereal.h"
#include "bora/tree/stored.h"
#include "io/api/statics.h"

using namespace bora;
namespace {
enum class Mode : std::uint8_t { a, b };
struct Chain {
  std::int8_t n = 0;
  std::vector<Chain> next = {};
};
struct Made {  // by cereal
  std::vector<std::int32_t> numbers;
  std::map<std::string, std::vector<std::string>> words;
  template <class A> void serialize(A& archive) { archive(numbers, words); }
};
void need(bool ok) {
  if (!ok) std::abort();
}
template <class T> void read(const tree::Value& v) {
  T x{};
  try {
    tree::read_value(x, v, "x");
    tree::Value back = tree::to_value(x);
    T again{};
    tree::read_value(again, back, "x");
    need(tree::to_value(again) == back);
  } catch (const CheckpointError&) {}
}
template <class... T> void read_each(const tree::Value& v) { (read<T>(v), ...); }
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string bytes(reinterpret_cast<const char*>(data), n);
  try {
    auto all = io::unpack_statics(bytes);
    if (bytes[0] == 1) need(io::pack_statics(all) == bytes);
    std::ostringstream text;
    text << all;
    for (auto& v : all.parts)
      read_each<bool, std::string, long double, Dtype, Scalar, std::int8_t, std::uint64_t, Mode, float, double,
                std::optional<std::optional<int>>, std::vector<bool>, std::vector<std::string>, std::set<int>, Shape,
                std::pair<int, std::string>, std::array<float, 2>, std::variant<int, std::string>, Chain,
                std::map<std::string, std::vector<int>>>(v);
  } catch (const CheckpointError&) {}
  try {
    Made x;
    io::read_archive(x, bytes);
  } catch (const CheckpointError&) {}
  return 0;
}
