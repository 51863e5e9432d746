// NumPy files: files of NumPy 2.4 are read, and written files are byte for byte as NumPy reads them.
#include "bora/io/npy.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include <gtest/gtest.h>
#include <fstream>
#include <locale>
#include "bora/ops/ops.h"
#include "support/files.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace npy_test {
namespace {
using namespace bora;
using test::slurp;
std::filesystem::path folder() {
  static const test::TempFolder temp;
  return temp.path();
}
void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}
std::string npy(std::string header, const std::string& data) {
  header.append((64 - (header.size() + 11) % 64) % 64, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 255) +
         static_cast<char>(header.size() >> 8) + header + data;
}
template <class T> std::string raw(std::initializer_list<T> x) {
  return {reinterpret_cast<const char*>(x.begin()), x.size() * sizeof(T)};
}

TEST(Npy, EveryDtypeAndRankComesBack) {
  auto file = folder() / "x.npy";
  for (auto d : {boolean, u8, i32, i64, u32, f32, f64}) {
    for (auto& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 2}, Shape{1, 2, 3}}) {
      auto x = (arange(volume(shape)) * 3).astype(d);
      x = reshape(x, shape);
      save_npy(file, x);
      auto y = load_npy(file);
      EXPECT_EQ(y.type(), x.type());
      EXPECT_EQ(y.to_vector<double>(), x.to_vector<double>());
    }
  }
  auto h = array({1.5, -2.}).astype(bf16);
  save_npy(file, h);
  EXPECT_EQ(load_npy(file, {.dtype = bf16}).to_vector<float>(), (std::vector<float>{1.5, -2}));
  EXPECT_EQ(load_npy(file).dtype(), u16);
}
TEST(Npy, WhatIsCutIsRefused) {
  auto file = folder() / "cut.npy";
  for (std::size_t d = 0; d < kDtypes; ++d) {
    auto dtype = static_cast<Dtype>(d);
    if (!is_numeric(dtype)) continue;
    SCOPED_TRACE(dtype_name(dtype));
    auto x = arange(5).astype(dtype);
    save_npy(file, x);
    auto y = load_npy(file, {.dtype = dtype});
    EXPECT_EQ(y.type(), x.type());
    EXPECT_TRUE(all(y == x).item<bool>());
    auto bytes = slurp(file);
    for (std::size_t less : {std::size_t{1}, dtype_size(dtype) * 5 - 1}) {
      write(file, bytes.substr(0, bytes.size() - less));
      EXPECT_THROW((void)load_npy(file), IoError) << less;
    }
  }
}
TEST(Npy, NoLocaleChangesAFile) {
  struct Grouping : std::numpunct<char> {
    char do_thousands_sep() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  auto file = folder() / "locale.npy";
  auto before = std::locale::global(std::locale(std::locale(), new Grouping));
  save_npy(file, zeros({1200}));
  auto shape = load_npy(file).shape();
  std::locale::global(before);
  EXPECT_EQ(shape, Shape{1200});
}
TEST(Npy, WritesWhatNumPyWrites) {
  auto file = folder() / "w.npy";
  save_npy(file, array({{1., 2.}, {3., 4.}}));
  EXPECT_EQ(slurp(file), npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", raw({1.F, 2.F, 3.F, 4.F})));
  save_npy(file, array({1, 2}));
  EXPECT_EQ(slurp(file), npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", raw({1, 2})));
  save_npy(file, array(true));
  EXPECT_EQ(slurp(file), npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", raw({true})));
}
TEST(Npy, ReadsWhatItDoesNotWrite) {
  auto file = folder() / "r.npy";
  write(file, npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", raw({1., 4., 2., 5., 3., 6.})));
  EXPECT_EQ(load_npy(file).to_vector<double>(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  write(file, npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", raw<std::int16_t>({-3, 7})));
  EXPECT_EQ(load_npy(file).to_vector<int>(), (std::vector<int>{-3, 7}));
  write(file, npy("{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }",
                  raw<std::uint16_t>({0x3c00, 0xc180, 0x0001, 0x7c00})));
  EXPECT_EQ(load_npy(file).to_vector<float>(),
            (std::vector<float>{1, -2.75, 0x1p-24F, std::numeric_limits<float>::infinity()}));
  write(file, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", raw({2.5})));
  EXPECT_EQ(load_npy(file, {.dtype = f32}).dtype(), f32);
}
TEST(Npy, SaysWhatItCannotRead) {
  auto file = folder() / "bad.npy";
  auto says = [&](const std::string& bytes, const std::string& words) {
    write(file, bytes);
    test::says([&] { (void)load_npy(file); }, words);
  };
  says("hello", "is not a .npy file");
  says(npy("{'descr': '>c32', 'fortran_order': False, 'shape': (1,), }", std::string(32, 'x')),
       "'>c32', which has no dtype here");
  says(npy("{'descr': '<c32', 'fortran_order': False, 'shape': (1,), }", std::string(32, 'x')),
       "'<c32', which has no dtype here");
  says(npy("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }", raw<std::int16_t>({1})), "if they are bf16");
  says(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", raw({1.F})), "holds records");
  says(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", raw({1.F})), "ends before its 3 numbers");
  EXPECT_THROW((void)load_npy(folder() / "missing.npy"), IoError);
}
TEST(Npz, NamesAreUtf8) {
  auto file = folder() / "names.npz";
  save_npz(file, {{"gr\u00f6\u00dfe", array(1)}});
  EXPECT_EQ(slurp(file)[7], '\x08') << "bit 11: other readers take names for those of DOS otherwise";
  EXPECT_TRUE(load_npz(file).contains("gr\u00f6\u00dfe"));
  save_npz(file, {{"plain", array(1)}});
  EXPECT_EQ(slurp(file)[7], 0);
  EXPECT_THROW(save_npz(file, {{"\xff", array(1)}}), ValueError);
  EXPECT_THROW(save_npz(file, {{std::string(70000, 'a'), array(1)}}), ValueError);
}
TEST(Npz, ArraysByName) {
  auto file = folder() / "m.npz";
  save_npz(file, {{"a", array({{1, 2}, {3, 4}})}, {"b.weight", array(2.5)}, {"empty", zeros({0})}});
  auto m = load_npz(file);
  ASSERT_EQ(m.size(), 3u);
  EXPECT_EQ(m.at("a").to_vector<int>(), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(m.at("b.weight").item<float>(), 2.5F);
  EXPECT_EQ(m.at("empty").shape(), Shape{0});
  auto bytes = slurp(file);
  auto broken = bytes;
  broken[broken.find("NUMPY") + 120] = 99;
  write(file, broken);
  EXPECT_THROW((void)load_npz(file), IoError);
  write(file, bytes.substr(0, bytes.size() - 30));
  EXPECT_THROW((void)load_npz(file), IoError);
}
}  // namespace
}  // namespace npy_test
