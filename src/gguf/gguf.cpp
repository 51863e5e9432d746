#include "gguf/api/gguf.h"
#include <sys/mman.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include "base/api/file.h"
#include "bora/base/text.h"

namespace bora::gguf {
namespace {
constexpr std::size_t kMostName = 4096;  // bytes of a key, of a tensor's name
constexpr std::uint64_t kMostAlignment = 1 << 20;
constexpr std::pair<Encoding, Blocks> kEncodings[] = {
    {Encoding::f32, {"F32", 1, 4}},      {Encoding::f16, {"F16", 1, 2}},       {Encoding::bf16, {"BF16", 1, 2}},
    {Encoding::q8_0, {"Q8_0", 32, 34}},  {Encoding::q4_0, {"Q4_0", 32, 18}},   {Encoding::q4_k, {"Q4_K", 256, 144}},
    {Encoding::q6_k, {"Q6_K", 256, 210}}};
/// Others, which errors name.
constexpr std::pair<std::uint32_t, std::string_view> kOthers[] = {
    {3, "Q4_1"},     {6, "Q5_0"},    {7, "Q5_1"},   {9, "Q8_1"},    {10, "Q2_K"},  {11, "Q3_K"},
    {13, "Q5_K"},    {15, "Q8_K"},   {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {20, "IQ4_NL"},  {21, "IQ3_S"},  {22, "IQ2_S"}, {23, "IQ4_XS"}, {24, "I8"},    {25, "I16"},
    {26, "I32"},     {27, "I64"},    {28, "F64"},   {29, "IQ1_M"},  {34, "TQ1_0"}, {35, "TQ2_0"},
    {39, "MXFP4"}};
const Blocks* find_blocks(Encoding e) {
  for (auto& [encoding, blocks] : kEncodings)
    if (encoding == e) return &blocks;
  return nullptr;
}
std::string supported() {
  std::string all;
  for (auto& [encoding, blocks] : kEncodings) all += (all.empty() ? "" : ", ") + std::string(blocks.name);
  return all;
}
/// Bytes of a value; 0 for texts and lists.
std::size_t size_of(Kind kind) {
  switch (kind) {
    case Kind::u8:
    case Kind::i8:
    case Kind::boolean: return 1;
    case Kind::u16:
    case Kind::i16: return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::f32: return 4;
    case Kind::u64:
    case Kind::i64:
    case Kind::f64: return 8;
    default: return 0;
  }
}
template <class T> T load(const char* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
bool is_integer(Kind k) { return size_of(k) > 0 && k != Kind::f32 && k != Kind::f64 && k != Kind::boolean; }
/// An integer; none: above 2^63 - 1.
std::optional<std::int64_t> integer_at(Kind kind, const char* p) {
  switch (kind) {
    case Kind::u8: return load<std::uint8_t>(p);
    case Kind::i8: return load<std::int8_t>(p);
    case Kind::u16: return load<std::uint16_t>(p);
    case Kind::i16: return load<std::int16_t>(p);
    case Kind::u32: return load<std::uint32_t>(p);
    case Kind::i32: return load<std::int32_t>(p);
    case Kind::i64: return load<std::int64_t>(p);
    default: {
      auto x = load<std::uint64_t>(p);
      return x <= INT64_MAX ? std::optional(static_cast<std::int64_t>(x)) : std::nullopt;
    }
  }
}
/// The file's bytes, one part after the other.
class Cursor {
 public:
  Cursor(std::string_view bytes, const std::string& file) : all_(bytes), file_(file) {}
  std::size_t place() const { return at_; }
  std::string_view take(std::uint64_t n) {
    check<IoError>(n <= all_.size() - at_, file_, ": ends at byte ", all_.size(), ", within its header");
    auto taken = all_.substr(at_, n);
    at_ += n;
    return taken;
  }
  template <class T> T number() { return load<T>(take(sizeof(T)).data()); }
  std::string_view text() { return take(number<std::uint64_t>()); }
  std::string_view name(std::string_view what) {
    auto name = text();
    check<IoError>(!name.empty() && name.size() <= kMostName && first_not_utf8(name) == name.npos, file_, ": ", what,
                   " has a name of ", name.size(), " bytes, or one that is no UTF-8: the file is damaged");
    return name;
  }
  Value value(std::string_view key) {
    Value v{.kind = kind(key)};
    if (v.kind == Kind::text) v.bytes = text();
    else if (v.kind != Kind::list) v.bytes = take(size_of(v.kind));
    else list(v, key);
    return v;
  }

 private:
  Kind kind(std::string_view key) {
    auto number = this->number<std::uint32_t>();
    check<IoError>(number <= static_cast<std::uint32_t>(Kind::f64), file_, ": ", one_line(key), ": type ", number,
                   " of a value is not known");
    return static_cast<Kind>(number);
  }
  void list(Value& v, std::string_view key) {
    v.item = kind(key);
    check<IoError>(v.item != Kind::list, file_, ": ", one_line(key), ": a list of lists is not supported");
    v.count = number<std::uint64_t>();
    auto begin = at_;
    if (v.item == Kind::text) {
      for (std::uint64_t i = 0; i < v.count; ++i) text();  // ends with the file, if not before
    } else {
      check<IoError>(v.count <= all_.size() / size_of(v.item), file_, ": ", one_line(key), ": ", v.count,
                     " items are more than the file can hold");
      take(v.count * size_of(v.item));
    }
    v.bytes = all_.substr(begin, at_ - begin);
  }
  std::string_view all_;
  const std::string& file_;
  std::size_t at_ = 0;
};
/// The shape, encoding and place of one tensor.
Tensor read_tensor(Cursor& c, const std::string& file, std::uint64_t& offset) {
  Tensor t{.name = std::string(c.name("a tensor"))};
  auto where = [&] { return file + ": " + one_line(t.name); };
  auto dims = c.number<std::uint32_t>();
  check<IoError>(dims >= 1 && dims <= 4, where, ": it has ", dims, " dimensions; 1 to 4 are possible");
  std::uint64_t numbers = 1;
  for (std::uint32_t d = 0; d < dims; ++d) {
    auto n = c.number<std::uint64_t>();
    check<IoError>(n >= 1 && n <= (std::uint64_t{1} << 48) && numbers <= (std::uint64_t{1} << 48) / n, where,
                   ": a dimension of ", n, " is not possible");
    numbers *= n;
    t.shape.insert(t.shape.begin(), static_cast<std::int64_t>(n));
  }
  t.numbers = static_cast<std::int64_t>(numbers);
  auto type = c.number<std::uint32_t>();
  t.encoding = static_cast<Encoding>(type);
  auto blocks = find_blocks(t.encoding);
  if (!blocks) {
    auto other = std::find_if(std::begin(kOthers), std::end(kOthers), [&](auto& o) { return o.first == type; });
    fail<IoError>(where(), ": its type ",
                  other == std::end(kOthers) ? std::to_string(type) : std::string(other->second),
                  " is not supported; supported: ", supported());
  }
  check<IoError>(t.shape.back() % blocks->numbers == 0, where, ": rows of ", t.shape.back(),
                 " numbers are no blocks of ", blocks->numbers, ", as ", blocks->name, " has them");
  t.bytes = t.numbers / blocks->numbers * blocks->bytes;
  offset = c.number<std::uint64_t>();
  return t;
}
}  // namespace

const Blocks& blocks_of(Encoding e) {
  auto found = find_blocks(e);
  check<ValueError>(found != nullptr, "gguf: encoding ", static_cast<std::uint32_t>(e), " is none");
  return *found;
}
File::~File() {
  if (mapped_) ::munmap(mapped_, mapped_bytes_);
}
std::shared_ptr<const File> File::open(const std::string& path) {
  std::string problem;
  int fd = open_file(path, problem);
  check<IoError>(fd >= 0, "cannot read ", path, ": ", problem);
  struct ::stat s {};
  bool known = ::fstat(fd, &s) == 0;
  std::shared_ptr<File> f(new File(path));
  auto bytes = known ? static_cast<std::size_t>(s.st_size) : 0;
  auto* mapped = bytes > 0 ? ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0) : nullptr;
  auto error = errno;
  ::close(fd);
  check<IoError>(known && mapped != MAP_FAILED, "cannot map ", path, ": ", std::strerror(error));
  f->mapped_ = mapped;
  f->mapped_bytes_ = bytes;
  f->parse({static_cast<const char*>(mapped), bytes});
  return f;
}
std::shared_ptr<const File> File::of(std::string_view bytes, const std::string& path) {
  std::shared_ptr<File> f(new File(path));
  f->parse(bytes);
  return f;
}
void File::parse(std::string_view bytes) {
  check<IoError>(bytes.size() >= 24 && bytes.starts_with("GGUF"), path_, ": is no GGUF file: it does not begin with ",
                 "GGUF and its counts");
  Cursor c(bytes, path_);
  c.take(4);
  auto version = c.number<std::uint32_t>();
  check<IoError>(version == 2 || version == 3, path_, ": GGUF version ", version, " is not supported; 2 and 3 are",
                 version > 0 && (version & 0xffff) == 0 ? " (its numbers are big-endian)" : "");
  auto tensors = c.number<std::uint64_t>(), values = c.number<std::uint64_t>();
  for (std::uint64_t i = 0; i < values; ++i) {
    auto key = c.name("a value");
    bool is_new = values_.emplace(key, c.value(key)).second;
    check<IoError>(is_new, path_, ": ", one_line(key), ": the value is given twice");
  }
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < tensors; ++i) tensors_.push_back(read_tensor(c, path_, offsets.emplace_back()));
  std::uint64_t alignment = 32;
  if (auto given = maybe_integer("general.alignment")) {
    alignment = static_cast<std::uint64_t>(*given);
    bool fits = *given >= 8 && alignment <= kMostAlignment && std::has_single_bit(alignment);
    if (!fits) wrong("general.alignment", *given, " is no power of two from 8 to ", kMostAlignment);
  }
  auto begin = (c.place() + alignment - 1) / alignment * alignment;
  auto size = bytes.size() > begin ? bytes.size() - begin : 0;
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    auto& t = tensors_[i];
    auto where = [&] { return path_ + ": " + one_line(t.name); };
    check<IoError>(places_.emplace(t.name, i).second, where, ": the tensor is there twice");
    check<IoError>(offsets[i] % alignment == 0, where, ": its offset ", offsets[i], " is no multiple of ", alignment);
    auto n = static_cast<std::uint64_t>(t.bytes);
    check<IoError>(offsets[i] <= size && n <= size - offsets[i], where, ": its ", n, " bytes from ", offsets[i],
                   " on exceed the ", size, " of all tensors: the file is not whole");
    t.data = reinterpret_cast<const unsigned char*>(bytes.data()) + begin + offsets[i];
    order.emplace_back(offsets[i], i);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 1; i < order.size(); ++i) {
    auto& before = tensors_[order[i - 1].second];
    check<IoError>(order[i - 1].first + static_cast<std::uint64_t>(before.bytes) <= order[i].first, path_, ": ",
                   [&] { return one_line(tensors_[order[i].second].name); }, ": its bytes are also those of ",
                   [&] { return one_line(before.name); });
  }
}
const Tensor* File::tensor(std::string_view name) const {
  auto found = places_.find(name);
  return found == places_.end() ? nullptr : &tensors_[found->second];
}
const Value* File::find(std::string_view key) const {
  auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}
const Value& File::need(std::string_view key) const {
  auto found = find(key);
  if (!found) wrong(key, "the value is missing");
  return *found;
}
std::string File::text(std::string_view key) const {
  auto& v = need(key);
  if (v.kind != Kind::text || first_not_utf8(v.bytes) != v.bytes.npos) wrong(key, "expected a text in UTF-8");
  return std::string(v.bytes);
}
std::optional<std::string> File::maybe_text(std::string_view key) const {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}
std::int64_t File::integer(std::string_view key) const {
  auto& v = need(key);
  auto kind = v.kind == Kind::list ? v.item : v.kind;
  if (!is_integer(kind) || v.count == 0) wrong(key, "expected an integer");
  auto first = integer_at(kind, v.bytes.data());
  if (!first) wrong(key, "the integer is too large");
  for (std::size_t i = 1; i < v.count; ++i)
    if (integer_at(kind, v.bytes.data() + i * size_of(kind)) != first)
      wrong(key, "it differs from layer to layer, which is not supported");
  return *first;
}
std::optional<std::int64_t> File::maybe_integer(std::string_view key) const {
  return has(key) ? std::optional(integer(key)) : std::nullopt;
}
float File::number(std::string_view key) const {
  auto& v = need(key);
  float x = 0;
  if (v.kind == Kind::f32) x = load<float>(v.bytes.data());
  else if (v.kind == Kind::f64) x = static_cast<float>(load<double>(v.bytes.data()));
  else if (is_integer(v.kind)) x = static_cast<float>(integer(key));
  else wrong(key, "expected a number");
  if (!std::isfinite(x)) wrong(key, "the number is not finite");
  return x;
}
std::optional<float> File::maybe_number(std::string_view key) const {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}
std::optional<bool> File::maybe_flag(std::string_view key) const {
  auto v = find(key);
  if (!v) return {};
  if (v->kind != Kind::boolean) wrong(key, "expected true or false");
  return v->bytes[0] != 0;
}
std::vector<std::string_view> File::texts(std::string_view key) const {
  auto& v = need(key);
  if (v.kind != Kind::list || v.item != Kind::text) wrong(key, "expected a list of texts");
  std::vector<std::string_view> all;
  Cursor c(v.bytes, path_);
  for (std::uint64_t i = 0; i < v.count; ++i) {
    all.push_back(c.text());
    if (first_not_utf8(all.back()) != all.back().npos) wrong(key, "text ", i, " is no UTF-8");
  }
  return all;
}
std::vector<std::int64_t> File::integers(std::string_view key) const {
  std::vector<std::int64_t> all;
  auto v = find(key);
  if (!v) return all;
  if (v->kind != Kind::list || !is_integer(v->item)) wrong(key, "expected a list of integers");
  for (std::size_t i = 0; i < v->count; ++i) {
    auto x = integer_at(v->item, v->bytes.data() + i * size_of(v->item));
    if (!x) wrong(key, "integer ", i, " is too large");
    all.push_back(*x);
  }
  return all;
}
std::vector<float> File::numbers(std::string_view key) const {
  std::vector<float> all;
  auto v = find(key);
  if (!v) return all;
  if (v->kind != Kind::list || v->item != Kind::f32) wrong(key, "expected a list of f32");
  for (std::size_t i = 0; i < v->count; ++i) all.push_back(load<float>(v->bytes.data() + i * 4));
  return all;
}
}  // namespace bora::gguf
