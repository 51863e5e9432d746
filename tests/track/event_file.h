// event_file.h -- TensorBoard's event files, read by the letter of their format and without the library's own code.
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace event_file {
/// CRC-32C bit by bit, masked as TFRecords are.
inline std::uint32_t masked_crc(const std::string& bytes) {
  std::uint32_t c = ~0U;
  for (char ch : bytes) {
    c ^= static_cast<unsigned char>(ch);
    for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0x82f63b78U : c >> 1;
  }
  c = ~c;
  return (c >> 15 | c << 17) + 0xa282ead8U;
}
template <class T> T number(const std::string& bytes, std::size_t at = 0) {
  T x{};
  std::memcpy(&x, bytes.substr(at, sizeof x).data(), std::min(sizeof x, bytes.size() - at));
  return x;
}
/// The records of a file, up to one that is cut off.
inline std::vector<std::string> records(const std::string& path) {
  std::stringstream s;
  s << std::ifstream(path, std::ios::binary).rdbuf();
  auto bytes = s.str();
  std::vector<std::string> all;
  for (std::size_t at = 0; at + 12 <= bytes.size();) {
    auto size = number<std::uint64_t>(bytes, at);
    EXPECT_EQ(number<std::uint32_t>(bytes, at + 8), masked_crc(bytes.substr(at, 8))) << path;
    if (at + 16 + size > bytes.size()) break;
    all.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(number<std::uint32_t>(bytes, at + 12 + size), masked_crc(all.back())) << path;
    at += 16 + size;
  }
  return all;
}
/// A message's fields in order: their number and their bytes; of a varint eight bytes.
inline std::vector<std::pair<unsigned, std::string>> fields(const std::string& m) {
  std::size_t at = 0;
  auto varint = [&] {
    std::uint64_t x = 0;
    for (int shift = 0; at < m.size(); shift += 7) {
      auto byte = static_cast<unsigned char>(m[at++]);
      x |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return x;
  };
  std::vector<std::pair<unsigned, std::string>> all;
  while (at < m.size()) {
    auto tag = varint();
    auto kind = tag & 7;
    if (kind == 0) {
      auto x = varint();
      all.emplace_back(tag >> 3, std::string(reinterpret_cast<const char*>(&x), sizeof x));
      continue;
    }
    EXPECT_TRUE(kind == 1 || kind == 2 || kind == 5) << kind;
    auto size = kind == 1 ? 8 : kind == 5 ? 4 : varint();
    all.emplace_back(tag >> 3, m.substr(at, size));
    at += size;
  }
  return all;
}
struct Row {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> values = {};
};
/// The scalars of a folder as TensorBoard shows them: files in the order of their names; a START drops earlier events
/// of its step and later ones.
inline std::vector<Row> scalars(const std::string& folder) {
  std::vector<std::string> files;
  for (auto& f : std::filesystem::directory_iterator(folder))
    if (f.path().filename().string().find("tfevents") != std::string::npos) files.push_back(f.path());
  std::sort(files.begin(), files.end());
  std::vector<Row> rows;
  for (auto& file : files) {
    auto all = records(file);
    for (std::size_t i = 0; i < all.size(); ++i) {
      Row row;
      for (auto& [field, bytes] : fields(all[i])) {
        EXPECT_TRUE(field != 1 || number<double>(bytes) > 1.5e9) << file;
        if (field == 2) row.step = number<std::int64_t>(bytes);
        EXPECT_EQ(field == 3, i == 0 && field != 1) << file;
        EXPECT_TRUE(field != 3 || bytes == "brain.Event:2") << file;
        if (field == 5)
          for (auto& [one, value] : fields(bytes)) {
            EXPECT_EQ(one, 1U);
            auto parts = fields(value);
            if (parts.size() > 1 && parts[1].first == 8) continue;  // a text
            EXPECT_EQ(parts.size(), 2U);
            EXPECT_EQ(parts[0].first, 1U);
            EXPECT_EQ(parts[1].first, 2U);
            row.values.emplace_back(parts[0].second, number<float>(parts[1].second));
          }
        if (field == 7) {
          EXPECT_EQ(number<std::uint64_t>(fields(bytes).at(0).second), 1U);  // START
          std::erase_if(rows, [&](auto& r) { return r.step >= row.step; });
        }
      }
      if (!row.values.empty()) rows.push_back(std::move(row));
    }
  }
  return rows;
}
}  // namespace event_file
