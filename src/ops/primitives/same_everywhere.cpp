#include "ops/api/same_everywhere.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>
#include "bora/array/communicator.h"
#include "bora/array/rules.h"
#include "bora/base/parallel.h"
#include "bora/ops/print.h"

namespace bora::ops {
namespace {
constexpr std::size_t kBlock = std::size_t{256} << 10;
constexpr std::size_t kStreams = 8;
constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15ull;
/// The product carries low bits up, the shift carries high ones down: signs that change in pairs do not cancel.
std::uint64_t stirred(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * kPrime;
  return h ^ (h >> 32);
}
std::uint64_t digest_of_block(const std::byte* data, std::size_t bytes) {
  std::uint64_t h[kStreams], words[kStreams];
  for (std::size_t l = 0; l < kStreams; ++l) h[l] = stirred(bytes, l + 1);
  for (; bytes > 0; data += std::min(bytes, sizeof words), bytes -= std::min(bytes, sizeof words)) {
    if (bytes < sizeof words) std::memset(words, 0, sizeof words);
    std::memcpy(words, data, std::min(bytes, sizeof words));
    for (std::size_t l = 0; l < kStreams; ++l) h[l] = stirred(h[l], words[l]);
  }
  for (std::size_t l = 1; l < kStreams; ++l) h[0] = stirred(h[0], h[l]);
  return stirred(h[0], kPrime);
}
/// "is A on ranks 0, 2, is B on rank 1": each text with the ranks that gave it.
std::string by_rank(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> ranks;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    auto& who = ranks[texts[r]];
    who += (who.empty() ? "" : ", ") + std::to_string(r);
  }
  std::string words;
  for (auto& [text, who] : ranks)
    words += (words.empty() ? "" : ", ") + text + (who.find(',') == who.npos ? " on rank " : " on ranks ") + who;
  return words;
}
bool all_equal(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [&](auto& t) { return t == texts[0]; });
}
std::vector<std::string> exchanged(const std::string& mine, std::string_view what) {
  return here().communicator->exchange(mine, std::string(what) + ": an array that every rank has");
}
std::string_view bytes_at(const std::uint64_t& h) { return {reinterpret_cast<const char*>(&h), sizeof h}; }
/// With all digits; of a NaN the bits too, which may differ.
std::string element_text(const Array& x, std::int64_t at) {
  auto size = dtype_size(x.dtype());
  auto* data = static_cast<const std::byte*>(x.bytes()) + static_cast<std::size_t>(at) * size;
  auto text = to_string(from_bytes({{}, x.dtype()}, data), {.precision = 24});
  if (text.find("nan") == text.npos) return text;
  text += " 0x";
  for (std::size_t b = size; b-- > 0;)
    for (auto digit : {data[b] >> 4, data[b] & std::byte{15}}) text += "0123456789abcdef"[static_cast<int>(digit)];
  return text;
}
/// The first element in which the ranks' arrays differ: ranges are cut in parts until one element is left.
std::int64_t first_differing_element(std::string_view what, const Array& x) {
  constexpr std::int64_t parts = 64;
  auto* data = static_cast<const std::byte*>(x.bytes());
  auto size = static_cast<std::int64_t>(dtype_size(x.dtype()));
  std::int64_t begin = 0, end = x.size();
  while (end - begin > 1) {
    auto step = (end - begin + parts - 1) / parts;
    std::string mine;
    for (auto at = begin; at < end; at += step)
      mine += bytes_at(digest(data + at * size, static_cast<std::size_t>((std::min(end, at + step) - at) * size)));
    auto all = exchanged(mine, what);
    std::size_t part = 0, last = mine.size() / sizeof(std::uint64_t) - 1;
    auto differs = [&] {
      auto of = [&](auto& t) { return t.substr(part * sizeof(std::uint64_t), sizeof(std::uint64_t)); };
      return std::any_of(all.begin(), all.end(), [&](auto& t) { return of(t) != of(all[0]); });
    };
    while (part < last && !differs()) ++part;
    begin += static_cast<std::int64_t>(part) * step;
    end = std::min(end, begin + step);
  }
  return begin;
}
}  // namespace

std::uint64_t digest(const void* data, std::size_t bytes) {
  auto blocks = (bytes + kBlock - 1) / kBlock;
  std::vector<std::uint64_t> of_block(blocks);
  parallel_for(static_cast<std::int64_t>(blocks), 4, [&](std::int64_t begin, std::int64_t end) {
    for (auto b = static_cast<std::size_t>(begin); b < static_cast<std::size_t>(end); ++b)
      of_block[b] = digest_of_block(static_cast<const std::byte*>(data) + b * kBlock,
                                    std::min(kBlock, bytes - b * kBlock));
  });
  auto h = stirred(bytes, kPrime);
  for (auto d : of_block) h = stirred(h, d);
  return h;
}
bool is_placed_eagerly(const Array& x) {
  auto& h = here();
  return h.communicator && h.mesh && h.mesh->size() > 1 && !h.in_blocks && current()->parent == eval_interpreter() &&
         is_buffer(x);
}
void check_same_everywhere(std::string_view what, const Array& x, const Spec& spec, std::int64_t up_to) {
  constexpr std::string_view remedy =
      "; every rank must give the same numbers (from_local_block takes each rank's own block)";
  auto mine = describe({x, x.type(), spec});
  bool compared = static_cast<std::int64_t>(x.type().nbytes()) <= up_to;
  auto h = compared ? digest(x.bytes(), x.type().nbytes()) : 0;
  auto all = exchanged(mine + '\n' + std::string(bytes_at(h)), what);
  if (all_equal(all)) return;
  std::vector<std::string> types;
  for (auto& t : all) types.push_back(t.substr(0, t.find('\n')));
  if (!all_equal(types)) fail<ShardError>(what, ": the ranks' arrays differ: ", by_rank(types), remedy);
  auto at = first_differing_element(what, x);
  auto index = at;
  Dims place(x.type().shape.size());
  for (std::size_t d = place.size(); d-- > 0; index /= x.type().shape[d]) place[d] = index % x.type().shape[d];
  fail<ShardError>(what, ": the ranks' arrays differ: element ", place, " of ", mine, " is ",
                   by_rank(exchanged(element_text(x, at), what)), remedy);
}
}  // namespace bora::ops
