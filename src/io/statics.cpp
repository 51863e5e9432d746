// Static values as a portable cereal archive: a version, then each value as its kind and what the kind has.
#include "io/api/statics.h"
#include <set>
#include <cereal/types/string.hpp>
#include "bora/base/text.h"
#include "bora/io/cereal.h"

namespace bora::io {
using tree::Value;
using Kind = Value::Kind;
namespace {
constexpr std::uint8_t kVersion = 1;
constexpr int kDeepest = 200;  // values inside values; each takes stack when it is read

template <class E> void check_depth(int depth) {
  check<E>(depth < kDeepest, "a static value holds values inside values more than ", kDeepest, " deep");
}
template <class Archive> void write(Archive& archive, const Value& v, int depth) {
  check_depth<ValueError>(depth);
  archive(static_cast<std::uint8_t>(v.kind));
  switch (v.kind) {
    case Kind::none: break;
    case Kind::boolean: archive(v.bits != 0); break;
    case Kind::integer:
    case Kind::natural: archive(v.bits); break;
    case Kind::number: archive(std::bit_cast<double>(v.bits)); break;
    case Kind::text:
    case Kind::bytes: archive(v.text); break;
    case Kind::some: write(archive, v.parts[0], depth + 1); break;
    case Kind::list:
    case Kind::fields:
      archive(cereal::make_size_tag(static_cast<cereal::size_type>(v.parts.size())));
      for (std::size_t i = 0; i < v.parts.size(); ++i) {
        if (v.kind == Kind::fields) archive(v.names[i]);
        write(archive, v.parts[i], depth + 1);
      }
  }
}
template <class T> T next(BoundedArchive& archive) {
  T x{};
  archive(x);
  return x;
}
Value read(BoundedArchive& archive, int depth) {
  check_depth<CheckpointError>(depth);
  auto kind = next<std::uint8_t>(archive);
  check<CheckpointError>(kind <= static_cast<int>(Kind::fields), "it has a value of the kind ", int{kind});
  Value v{static_cast<Kind>(kind)};
  switch (v.kind) {
    case Kind::none: break;
    case Kind::boolean: v.bits = next<bool>(archive); break;
    case Kind::integer:
    case Kind::natural:
      v.bits = next<std::uint64_t>(archive);
      check<CheckpointError>(v.kind == Kind::integer || v.bits >> 63 == 1, "an integer in it has the wrong kind");
      break;
    case Kind::number: v.bits = std::bit_cast<std::uint64_t>(next<double>(archive)); break;
    case Kind::text:
    case Kind::bytes: archive(v.text); break;
    case Kind::some: v.parts.push_back(read(archive, depth + 1)); break;
    case Kind::list:
      for (auto n = archive.length(); n > 0; --n) v.parts.push_back(read(archive, depth + 1));
      break;
    case Kind::fields:
      std::set<std::string> known;
      for (auto n = archive.length(); n > 0; --n) {
        archive(v.names.emplace_back());
        check<CheckpointError>(known.insert(v.names.back()).second, "it has '",
                               [&] { return one_line(v.names.back()); }, "' twice");
        v.parts.push_back(read(archive, depth + 1));
      }
  }
  return v;
}
}  // namespace

std::string pack_statics(const Value& v) {
  std::ostringstream out;
  cereal::PortableBinaryOutputArchive archive(out, cereal::PortableBinaryOutputArchive::Options::LittleEndian());
  archive(kVersion);
  write(archive, v, 0);
  return std::move(out).str();
}
Value unpack_statics(std::string_view bytes) {
  BoundedArchive archive(bytes);
  auto version = next<std::uint8_t>(archive);
  check<CheckpointError>(version == kVersion, "they have version ", int{version}, "; this library reads ",
                         int{kVersion});
  auto v = read(archive, 0);
  archive.end();
  check<CheckpointError>(v.kind == Kind::fields, "they have no names");
  return v;
}
std::optional<Value> statics_of(const std::string& folder, const Manifest& m) {
  auto note = m.notes.find(std::string(kStatics));
  if (note == m.notes.end()) return std::nullopt;
  try {
    return unpack_statics(note->second);
  } catch (const CheckpointError& e) {
    fail<CheckpointError>("checkpoint ", folder, ": the statics are damaged: ", e.text());
  }
}
}  // namespace bora::io
