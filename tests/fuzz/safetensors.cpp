// Headers of safetensors files, and their indices. A header that is accepted divides the rest of the file among its
// tensors, each as large as its shape and dtype say. Blocks of parts of them, with dimensions in any order, have the
// numbers that are at their places in the whole tensor.
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include "bora/base/error.h"
#include "io/safetensors_read.h"

using namespace bora;
namespace {
/// Numbers that the input determines.
struct Draw {
  std::uint64_t state = 1469598103934665603u;
  explicit Draw(std::string_view bytes) {
    for (unsigned char c : bytes) state = (state ^ c) * 1099511628211u;
  }
  /// From 0 to n.
  std::int64_t up_to(std::int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 16) % (static_cast<std::uint64_t>(n) + 1));
  }
};
/// The bytes as a file without a name.
class Input {
 public:
  explicit Input(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<::ssize_t>(bytes.size())) std::abort();
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() { ::close(fd_); }
  File open() const { return File::open("/proc/self/fd/" + std::to_string(fd_)); }

 private:
  int fd_;
};
TensorPart any_part(const Shape& shape, Draw& draw) {
  TensorPart part;
  auto n = volume(shape);
  if (draw.up_to(1)) {
    auto first = 1 + draw.up_to(7);
    if (n > 0 && n % first == 0) part.view = draw.up_to(1) ? Shape{first, n / first} : Shape{n / first, 1, first};
  }
  auto view = part.view.value_or(shape);
  if (draw.up_to(2))
    for (auto d : view) {
      part.end.push_back(draw.up_to(d));
      part.begin.push_back(draw.up_to(part.end.back()));
    }
  if (draw.up_to(2)) {
    part.order.resize(view.size());
    std::iota(part.order.begin(), part.order.end(), 0);
    for (auto i = static_cast<std::int64_t>(view.size()); i-- > 1;)
      std::swap(part.order[static_cast<std::size_t>(i)], part.order[static_cast<std::size_t>(draw.up_to(i))]);
  }
  return part;
}
std::vector<char> block_of(const File& file, const io::StoredTensor& t, const io::ResolvedPart& part,
                           const io::Box& box, Dtype dtype) {
  auto bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (auto& range : box) bytes *= range.size();
  std::vector<char> out(static_cast<std::size_t>(bytes));
  io::read_part(file, t, part, box, dtype, out.data(), "fuzz.safetensors");
  return out;
}
io::Box all_of(const Shape& shape) {
  io::Box box;
  for (auto n : shape) box.push_back({0, n});
  return box;
}
void read_blocks(const File& file, const io::StoredTensor& t, Draw& draw) {
  constexpr Dtype floats[] = {f32, f64, bf16};
  auto stored = io::stored_dtype(t.dtype)->read_as;
  if (!stored) return;
  auto dtype = is_float(*stored) ? floats[draw.up_to(2)] : *stored;
  auto whole = block_of(file, t, io::resolve({}, t, ""), all_of(t.shape), dtype);
  auto part = io::resolve(any_part(t.shape, draw), t, "");
  io::Box box;
  for (auto n : part.shape) {
    auto end = draw.up_to(n);
    box.push_back({draw.up_to(end), end});
  }
  auto block = block_of(file, t, part, box, dtype);
  auto item = dtype_size(dtype);
  for (std::size_t i = 0; i * item < block.size(); ++i) {
    std::int64_t from = part.first, left = static_cast<std::int64_t>(i);
    for (auto d = box.size(); d-- > 0;) {
      auto of = static_cast<std::size_t>(part.order[d]);
      from += (part.begin[of] + box[d].begin + left % box[d].size()) * part.strides[of];
      left /= box[d].size();
    }
    if (std::memcmp(&block[i * item], &whole[static_cast<std::size_t>(from) * item], item) != 0) std::abort();
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  try {
    auto size = static_cast<std::int64_t>(n);
    auto length = io::header_length(bytes.substr(0, 8), size, "fuzz.safetensors");
    auto header = io::parse_safetensors(bytes.substr(8, static_cast<std::size_t>(length)), size, "fuzz.safetensors");
    auto left = size - 8 - length;
    Input input(bytes);
    auto file = input.open();
    Draw draw(bytes);
    for (auto& [name, t] : header.tensors) {
      if (t.offset < 8 + length || t.bytes < 0 || t.bytes > size - t.offset) std::abort();
      if (t.bytes != volume(t.shape) * io::stored_dtype(t.dtype)->size) std::abort();
      left -= t.bytes;
      read_blocks(file, t, draw);
    }
    if (left != 0) std::abort();
  } catch (const IoError&) {}
  try {
    for (auto& [name, file] : io::parse_safetensors_index(bytes, "fuzz.json"))
      if (file.empty() || file.find('/') != file.npos) std::abort();
  } catch (const IoError&) {}
  return 0;
}
