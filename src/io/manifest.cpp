// The manifest file: magic, CRC-32C and size of what follows; then numbers and texts, little-endian, each list after its length.
#include "manifest.h"
#include <algorithm>
#include <cstring>
#include "bora/base/crc32c.h"
#include "files.h"

namespace bora::io {
namespace {
constexpr char magic[8] = {'b', 'o', 'r', 'a', 'c', 'k', 'p', '1'};
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // bytes of a manifest: millions of blocks
struct Header {
  char magic[8];
  std::uint32_t version = 1, crc = 0;
  std::uint64_t bytes = 0;
};

class Writer {
 public:
  template <class T> void number(T x) { bytes_.append(reinterpret_cast<const char*>(&x), sizeof x); }
  void text(std::string_view s) { number<std::uint64_t>(s.size()), bytes_.append(s); }
  template <class List, class F> void list(const List& all, const F& f) {
    number<std::uint64_t>(all.size());
    for (auto& x : all) f(x);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_ = "\1";  // little-endian
};
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {
    check<CheckpointError>(number<char>() == 1, "its numbers are not little-endian");
  }
  template <class T> T number() {
    T x;
    std::memcpy(&x, piece(sizeof x).data(), sizeof x);
    return x;
  }
  std::string text() { return std::string(piece(count(1))); }
  /// How many things follow, of at least so many bytes each: no more than there are bytes for.
  std::size_t count(std::size_t least) {
    auto n = number<std::uint64_t>();
    check<CheckpointError>(n <= bytes_.size() / least, "it lists ", n, " things in ", bytes_.size(), " bytes");
    return static_cast<std::size_t>(n);
  }
  template <class T, class F> std::vector<T> list(std::size_t least, const F& f) {
    std::vector<T> all(count(least));
    for (auto& x : all) x = f();
    return all;
  }
  void end() const { check<CheckpointError>(bytes_.empty(), bytes_.size(), " bytes are left over at its end"); }

 private:
  std::string_view piece(std::size_t n) {
    check<CheckpointError>(n <= bytes_.size(), "it ends in the middle of a value");
    auto p = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return p;
  }
  std::string_view bytes_;
};

void put(Writer& w, const std::vector<StoredLeaf>& leaves) {
  w.list(leaves, [&](auto& leaf) {
    w.text(leaf.path);
    w.text(dtype_name(leaf.type.dtype));  // by name: numbers of an enum may change
    w.list(leaf.type.shape, [&](std::int64_t d) { w.number(d); });
    w.list(leaf.blocks, [&](auto& b) {
      w.list(b.box, [&](auto& range) { w.number(range.begin), w.number(range.end); });
      for (auto x : {b.file, b.offset, b.bytes}) w.number(x);
      w.list(b.crc, [&](std::uint32_t c) { w.number(c); });
    });
  });
}
std::vector<StoredLeaf> get_leaves(Reader& r) {
  auto int64 = [&] { return r.number<std::int64_t>(); };
  return r.list<StoredLeaf>(32, [&] {
    StoredLeaf leaf{r.text(), {}};
    try {
      auto word = r.text();
      leaf.type.dtype = parse_dtype(word);
      check<CheckpointError>(dtype_name(leaf.type.dtype) == word, "leaf '", leaf.path, "': no dtype is written '", word, "'");
    } catch (const DtypeError& e) { fail<CheckpointError>("leaf '", leaf.path, "': ", e.text()); }
    leaf.type.shape = Shape(r.list<std::int64_t>(8, int64));
    leaf.blocks = r.list<StoredBlock>(40, [&] {
      StoredBlock b;
      b.box = r.list<BlockRange>(16, [&] {
        auto begin = int64();
        return BlockRange{begin, int64()};
      });
      for (auto x : {&b.file, &b.offset, &b.bytes}) *x = int64();
      b.crc = r.list<std::uint32_t>(4, [&] { return r.number<std::uint32_t>(); });
      return b;
    });
    return leaf;
  });
}
}  // namespace

std::string pack(const std::vector<StoredLeaf>& leaves) {
  Writer w;
  put(w, leaves);
  return w.take();
}
std::vector<StoredLeaf> unpack(const std::string& bytes) {
  Reader r(bytes);
  return get_leaves(r);
}

std::string manifest_bytes(const Manifest& m) {
  Writer w;
  w.text(m.mesh);
  w.list(m.notes, [&](auto& note) { w.text(note.first), w.text(note.second); });
  put(w, m.leaves);
  auto body = w.take();
  Header h;
  std::memcpy(h.magic, magic, sizeof magic);
  h.crc = crc32c(body.data(), body.size());
  h.bytes = body.size();
  return std::string(reinterpret_cast<const char*>(&h), sizeof h) + body;
}
void write_manifest(const std::string& path, const Manifest& m) {
  auto bytes = manifest_bytes(m);
  auto file = File::create(path);
  file.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  file.sync();
  file.close();
}

Manifest parse_manifest(std::string_view file) {
  Header h;
  check<CheckpointError>(file.size() >= sizeof h, "it is truncated");
  std::memcpy(static_cast<void*>(&h), file.data(), sizeof h);
  file.remove_prefix(sizeof h);
  check<CheckpointError>(std::memcmp(h.magic, magic, sizeof magic) == 0, "it does not begin as one");
  check<CheckpointError>(h.version == 1, "its format version ", h.version, " is newer than this library (1)");
  check<CheckpointError>(file.size() >= h.bytes, "it is truncated");
  check<CheckpointError>(file.size() == h.bytes, "it is longer than it says");
  check<CheckpointError>(crc32c(file.data(), file.size()) == h.crc, "its checksum differs");
  Reader r(file);
  Manifest m{r.text()};
  for (auto n = r.count(16); n > 0; --n) {
    auto name = r.text();
    m.notes[name] = r.text();
  }
  m.leaves = get_leaves(r);
  r.end();
  auto wrong = contradiction(m);
  check<CheckpointError>(wrong.empty(), wrong);
  return m;
}
Manifest read_manifest(const std::string& folder) {
  auto damaged = [&](std::string_view why) { fail<CheckpointError>("checkpoint ", folder, ": the manifest is damaged: ", why); };
  try {
    auto file = File::open(folder + "/manifest");
    auto size = file.size();
    if (static_cast<std::uint64_t>(size) > kMost) damaged("it has " + std::to_string(size) + " bytes");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (!file.read(0, bytes.data(), size)) damaged("it became shorter while it was read");
    try {
      return parse_manifest(bytes);
    } catch (const CheckpointError& e) { damaged(e.text()); }
    return {};
  } catch (const IoError& e) { fail<CheckpointError>("no checkpoint at ", folder, ": ", e.text()); }
}

const StoredLeaf* Manifest::find(const std::string& path) const {
  auto it = std::find_if(leaves.begin(), leaves.end(), [&](auto& l) { return l.path == path; });
  return it == leaves.end() ? nullptr : &*it;
}
}  // namespace bora::io
