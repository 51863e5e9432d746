// Files that NumPy wrote (tests/golden/make_npz.py): compressed, big-endian, with entries that have no dtype here.
#include <gtest/gtest.h>
#include <cmath>
#include <complex>
#include <fstream>
#include <limits>
#include "bora/io/npy.h"
#include "bora/ops/creation.h"
#include "support/files.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace npz_test {
namespace {
using namespace bora;
const std::string golden = test::source_dir() + "/tests/golden/";
void check_numbers(const std::map<std::string, Array>& m) {
  EXPECT_EQ(m.at("fortran").to_vector<double>(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(m.at("fortran").type(), (Type{{2, 3}, f64}));
  EXPECT_EQ(m.at("big_f4").to_vector<float>(),
            (std::vector<float>{1.5F, -2.25F, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(m.at("big_f8").to_vector<double>(), (std::vector<double>{1e300, -0.0, 3.5, 2.0}));
  EXPECT_TRUE(std::signbit(m.at("big_f8").to_vector<double>()[1]));
  EXPECT_EQ(m.at("big_i2").to_vector<int>(), (std::vector<int>{-2, 258}));
  EXPECT_EQ(m.at("big_i4").type(), (Type{{2}, i32}));
  EXPECT_EQ(m.at("big_i4").to_vector<int>(), (std::vector<int>{1, -70000}));
  EXPECT_EQ(m.at("big_i8").to_vector<std::int64_t>(), (std::vector<std::int64_t>{(std::int64_t{1} << 40) + 1, -3}));
  EXPECT_EQ(m.at("big_u4").to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{4000000000u}));
  EXPECT_EQ(m.at("big_f2").to_vector<float>(), (std::vector<float>{1, -0.5}));
  EXPECT_EQ(m.at("bytes").type(), (Type{{256}, u8}));
  EXPECT_EQ(m.at("bytes").to_vector<int>()[255], 255);
  EXPECT_EQ(m.at("flags").to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(m.at("nothing").shape(), (Shape{0, 3}));
}
std::string problem_of(const std::string& file, const LoadNpzOptions& options = {}) {
  return test::error_of([&] { (void)load_npz(file, options); });
}
using test::slurp;
}  // namespace

TEST(Npz, WhatNumPyCompressed) {
  auto m = load_npz(golden + "compressed.npz");
  EXPECT_EQ(m.size(), 13U);
  check_numbers(m);
  EXPECT_EQ(m.at("zeros").type(), (Type{{64, 64}, f32}));
  EXPECT_EQ(m.at("zeros").to_vector<float>(), std::vector<float>(4096, 0.F));
  auto counting = m.at("counting").to_vector<std::int64_t>();
  for (std::size_t i = 0; i < counting.size(); ++i) ASSERT_EQ(counting[i], static_cast<std::int64_t>(i));
  auto some = load_npz(golden + "compressed.npz", {.dtype = f32, .only = {"counting", "big_i2"}});
  EXPECT_EQ(some.size(), 2U);
  EXPECT_EQ(some.at("big_i2").dtype(), f32);
}
TEST(Npz, OddEntriesAreNamedWhenTheyAreAskedFor) {
  auto file = golden + "mixed.npz";
  auto m = load_npz(file);
  EXPECT_EQ(m.size(), 13U);
  EXPECT_EQ(m.at("unsigned").dtype(), u64);
  EXPECT_EQ(m.at("complex").to_vector<std::complex<float>>(), (std::vector<std::complex<float>>{{1, 2}}));
  check_numbers(m);
  EXPECT_EQ(problem_of(file, {.only = {"flags"}}), "no error");
  EXPECT_TRUE(problem_of(file, {.only = {"flags", "names"}})
                  .starts_with(file + ": names.npy holds '<U6', which has no dtype here"));
  for (std::string odd : {"records", "dates"})
    EXPECT_TRUE(problem_of(file, {.only = {odd}}).starts_with(file + ": " + odd + ".npy holds "))
        << problem_of(file, {.only = {odd}});
  EXPECT_TRUE(problem_of(file, {.only = {"name"}}).starts_with(file + " has no array 'name'; it has fortran, big_f4"))
      << problem_of(file, {.only = {"name"}});
  EXPECT_TRUE(problem_of(golden + "odd.npz").find("names.npy holds '<U6'") != std::string::npos)
      << problem_of(golden + "odd.npz");
}
TEST(Npz, DamageAnywhereIsFound) {
  test::TempFolder temp;
  auto whole = slurp(golden + "compressed.npz"), file = temp / "x.npz";
  auto table = whole.find("PK\x01\x02");
  int found = 0, tried = 0;
  for (std::size_t at = 0; at < table; at += 7, ++tried) {
    auto bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x5a);
    std::ofstream(file, std::ios::binary) << bytes;
    found += problem_of(file) != "no error";
  }
  EXPECT_GT(10 * found, 7 * tried);  // what is left are fields of the local headers that nobody reads
  auto sizes = whole;  // a member that says it is 2 GiB large
  for (int i = 0; i < 4; ++i) sizes[table + 24 + static_cast<std::size_t>(i)] = i == 3 ? 0x7f : static_cast<char>(0xff);
  std::ofstream(file, std::ios::binary) << sizes;
  EXPECT_NE(problem_of(file).find("its sizes are damaged"), std::string::npos) << problem_of(file);
  for (std::size_t n = 0; n < whole.size(); n += 97) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, n);
    EXPECT_NE(problem_of(file), "no error") << n;
  }
}
}  // namespace npz_test
