// Static values in the files of trees: laws over a table of types, what does not fit is named, damage, old folders.
#include <gtest/gtest.h>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <complex>
#include <filesystem>
#include <limits>
#include <set>
#include "bora/fx/checkpoint.h"
#include "bora/io/cereal.h"
#include "bora/io/tree.h"
#include "bora/named/named.h"
#include "bora/nn/conv.h"
#include "bora/ops/creation.h"
#include "bora/tree/any.h"
#include "bora/tree/functions.h"
#include "io/api/statics.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace statics_test {
using namespace bora;
using bora::test::error_of;
using bora::test::says;
namespace {
enum class Mode : std::uint8_t { train, eval, last = 255 };
enum Signed : int { minus = -3, plus = 4 };
enum Untyped { second = 2 };
struct Window {
  int size = 3;
  std::vector<int> strides = {1, 2};
  std::optional<std::string> name = none;
};
struct Chain {  // holds itself
  int link = 0;
  std::vector<Chain> next = {};
};
class Listed {
 public:
  Listed() = default;
  explicit Listed(int n) : n_(n), words_{"a", ""} {}
 private:
  int n_ = 0;
  std::vector<std::string> words_;
 public:
  using members = MemberList<&Listed::n_, &Listed::words_>;
};
class Serialized {  // cereal's one function
 public:
  Serialized() = default;
  explicit Serialized(int n) : n_(n), text_("text") {}
  template <class A> void serialize(A& archive) { archive(CEREAL_NVP(n_), text_); }
 private:
  int n_ = 0;
  std::string text_;
};
class SavedAndLoaded {  // its two, with a version
 public:
  SavedAndLoaded() = default;
  explicit SavedAndLoaded(std::vector<double> v) : v_(std::move(v)) {}
  template <class A> void save(A& archive, std::uint32_t) const { archive(v_); }
  template <class A> void load(A& archive, std::uint32_t) { archive(v_); }
 private:
  std::vector<double> v_;
};
class Word {  // as one of cereal's minimal types
 public:
  explicit Word(std::string word = "") : word_(std::move(word)) {}
  template <class A> std::string save_minimal(const A&) const { return word_; }
  template <class A> void load_minimal(const A&, const std::string& word) { word_ = word; }
 private:
  std::string word_;
};
class Closed {
 public:
  explicit Closed(int x = 0) : x_(x) {}
  bool operator==(const Closed&) const = default;
 private:
  int x_;
};
}  // namespace
struct Base {
  virtual ~Base() = default;
  virtual int number() const = 0;
};
struct Derived final : Base {
  int n = 0;
  int number() const override { return n; }
  template <class A> void serialize(A& archive) { archive(n); }
};
class Held {  // one of cereal's polymorphic types
 public:
  explicit Held(int n = 0) {
    auto d = std::make_shared<Derived>();
    d->n = n;
    held_ = std::move(d);
  }
  int number() const { return held_->number(); }
  template <class A> void serialize(A& archive) { archive(held_); }
 private:
  std::shared_ptr<Base> held_;
};
}  // namespace statics_test
CEREAL_REGISTER_TYPE(statics_test::Derived)
CEREAL_REGISTER_POLYMORPHIC_RELATION(statics_test::Base, statics_test::Derived)
template <> inline constexpr bool bora::is_static<statics_test::Window> = true;
template <> inline constexpr bool bora::is_static<statics_test::Closed> = true;
template <> inline constexpr bool bora::is_static<std::set<int>> = true;
template <> struct std::hash<statics_test::Closed> {
  std::size_t operator()(const statics_test::Closed&) const { return 1; }
};

namespace statics_test {
namespace {
template <class T> using Limits = std::numeric_limits<T>;
template <class T> std::vector<T> ends() { return {T{}, T{1}, Limits<T>::lowest(), Limits<T>::max()}; }
template <class T> std::vector<T> floats() {
  auto r = ends<T>();
  for (T x : {T(1) / T(3), Limits<T>::denorm_min(), -T(0), Limits<T>::infinity(), Limits<T>::quiet_NaN()})
    r.push_back(x);
  return r;
}
template <class T> std::vector<T> one_and(T x) {
  std::vector<T> r;
  r.push_back(std::move(x));
  r.emplace_back();
  return r;
}
/// Values of each kind of type, two at least; the last is not the first.
auto table() {
  using Either = std::variant<int, std::string, std::monostate>;
  using Keyed = std::map<std::string, std::vector<Axis>>;
  return std::tuple{
      std::vector<bool>{true, false}, ends<char>(), ends<std::int8_t>(), ends<std::uint8_t>(), ends<std::int16_t>(),
      ends<std::uint16_t>(), ends<int>(), ends<unsigned>(), ends<std::int64_t>(), ends<std::uint64_t>(),
      ends<long long>(), floats<float>(), floats<double>(), floats<long double>(),
      std::vector{bfloat16(1.F), bfloat16(-0.1F)}, std::vector{float16(1.F), float16(-0.1F)},
      std::vector<std::string>{"", "text", std::string("\0\xff\n", 3)},
      std::vector{Mode::train, Mode::eval, Mode::last},
      std::vector{minus, plus}, std::vector{f32, bf16, Dtype::key}, std::vector{Axis{"in", 3}, Axis{"", 0}},
      std::vector<Scalar>{1.5, 3, true, std::complex<float>(1, 2)}, std::vector{Shape{}, Shape{2, 3}},
      std::vector{MeshAxes{}, MeshAxes{"data", "model"}}, std::vector{Spec{}, Spec{none, {"data", "model"}, "data"}},
      std::vector{Window{}, Window{4, {}, "w"}}, std::vector{Listed(3), Listed()},
      std::vector{Chain{1, {{2, {{3, {}}}}, {4, {}}}}, Chain{}}, std::vector{remat::nothing, remat::names({"attn"})},
      std::vector<Padding>{Padding::Pairs{{1, 2}}, Padding::same}, one_and(std::set<int>{3, -1}),
      std::vector<std::optional<int>>{none, 3}, one_and(std::optional<std::optional<int>>(std::optional<int>())),
      std::vector<std::vector<int>>{{}, {1, 2}}, std::vector<std::vector<bool>>{{true, false}, {}},
      std::vector<std::vector<Window>>{{{}, {}}, {}}, std::vector<std::array<float, 2>>{{1, 2}, {3, 4}},
      std::vector<std::pair<int, std::string>>{{1, "a"}, {2, "b"}},
      std::vector<std::tuple<int, bool, Axis>>{{1, true, {"a", 2}}, {2, false, {"b", 2}}},
      std::vector<Either>{1, "one", std::monostate()}, std::vector<Keyed>{{{"a.b", {{"x", 1}}}, {"", {}}}, {}},
      std::vector<std::map<Mode, int>>{{{Mode::eval, 1}}, {}}, std::vector{Serialized(7), Serialized()},
      std::vector{SavedAndLoaded({1, 2}), SavedAndLoaded()}, std::vector{Word("word"), Word()}};
}
/// Calls f(values) for each type of the table.
template <class F> void each_type(const F& f) {
  std::apply([&](const auto&... values) { (f(values), ...); }, table());
}
template <class T> tree::Key key_of(const T& x) {
  tree::Key k;
  tree::append_key(tree::node(x), k);
  return k;
}
template <class T> tree::Value stored(const T& x) {
  auto slots = tree::value_slots(const_cast<T&>(x));
  return tree::write_values(slots);
}
template <class T> struct With {
  Array array;
  T value;
};
struct StaticFiles : testing::Test {
  test::TempFolder temp;
  std::string at = temp / "tree";
};
}  // namespace

TEST_F(StaticFiles, EveryTypeComesBack) {
  each_type([&]<class T>(const std::vector<T>& values) {
    SCOPED_TRACE(testing::Message() << typeid(T).name());
    EXPECT_FALSE(key_of(T(values.front())) == key_of(T(values.back())));
    for (std::size_t i = 0; i < values.size(); ++i) {
      With<T> x{array(1), values[i]}, like{array(2), i == 0 ? values.back() : values.front()}, before = like;
      save_tree(at, x);
      EXPECT_TRUE(key_of(load_tree(at, like)) == key_of(x)) << i << ": " << stored(x);
      EXPECT_TRUE(key_of(load_tree(at, like, {.statics = ignore})) == key_of(before));
      EXPECT_EQ(io::unpack_statics(io::pack_statics(stored(x))), stored(x));
    }
  });
}
TEST(StaticValues, ATypeTakesExactlyItsOwnValuesOrNamesThePath) {
  std::vector<std::pair<const std::type_info*, tree::Value>> all;
  each_type([&]<class T>(const std::vector<T>& values) {
    for (const T& x : values) all.emplace_back(&typeid(T), stored(With<T>{array(1), x}));
  });
  each_type([&]<class T>(const std::vector<T>& values) {
    for (auto& [type, value] : all) {
      With<T> x{array(1), values.front()};
      try {
        tree::read_values(tree::value_slots(x), value);
        EXPECT_EQ(stored(x), value);
      } catch (const CheckpointError& e) {
        EXPECT_NE(e.text().find("'value"), std::string::npos) << e.text();
        EXPECT_NE(*type, typeid(T)) << e.text();
      }
    }
  });
}
TEST(StaticValues, DamagedBytesAreRefusedOrReadAsWhatTheySay) {
  each_type([&]<class T>(const std::vector<T>& values) {
    With<T> x{array(1), values.front()};
    auto bytes = io::pack_statics(stored(x));
    auto read = [&](const std::string& damaged) {
      With<T> y{array(1), values.back()};
      try {
        auto v = io::unpack_statics(damaged);
        if (damaged[0] == 1) {
          EXPECT_EQ(io::pack_statics(v), damaged);
        }
        tree::read_values(tree::value_slots(y), v);
      } catch (const CheckpointError&) {}
    };
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_THROW(io::unpack_statics(std::string_view(bytes).substr(0, n)), CheckpointError) << n;
    EXPECT_THROW(io::unpack_statics(bytes + "x"), CheckpointError);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      for (int bit = 0; bit < 8; ++bit) {
        auto damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
        read(damaged);
      }
    for (auto word : {~std::uint64_t{0}, std::uint64_t{1} << 60, std::uint64_t{1} << 33})
      for (std::size_t i = 2; i + 8 <= bytes.size(); ++i) {
        auto damaged = bytes;
        damaged.replace(i, 8, reinterpret_cast<const char*>(&word), 8);
        read(damaged);
      }
  });
  // A list in a list in a list ..: nine bytes each, until stack would be needed for it.
  std::string deep("\1\1", 2);
  for (int i = 0; i < 100000; ++i) deep += std::string("\10\1\0\0\0\0\0\0\0", 9);
  says<CheckpointError>([&] { io::unpack_statics(deep); }, "more than 200 deep");
  Chain chain;
  for (auto [i, c] = std::pair{0, &chain}; i < 300; ++i) c = &c->next.emplace_back();
  std::vector<Chain> both{chain};
  says<ValueError>([&] { io::pack_statics(stored(both)); }, "more than 200 deep");
}
TEST(StaticValues, EnumsWithoutATypeAreRefused) {
  With<Untyped> x{array(1), second};
  says<ValueError>([&] { stored(x); }, "Untyped : int");
  tree::Value v = stored(With<int>{array(1), 7});
  says<ValueError>([&] { tree::read_values(tree::value_slots(x), v); }, "Untyped : int");
  EXPECT_EQ(x.value, second);
}
TEST(StaticValues, EitherOrderOfBytesIsRead) {
  std::ostringstream out;
  {
    cereal::PortableBinaryOutputArchive big(out, cereal::PortableBinaryOutputArchive::Options::BigEndian());
    // Version, fields, of which one: "x", an integer.
    big(std::uint8_t{1}, std::uint8_t{9}, std::uint64_t{1}, std::string("x"), std::uint8_t{3}, std::int64_t{-2});
    big(std::vector<std::int32_t>{});
  }
  auto bytes = out.str();
  auto v = io::unpack_statics(std::string_view(bytes).substr(0, bytes.size() - 8));
  EXPECT_EQ(v.names, std::vector<std::string>{"x"});
  EXPECT_EQ(static_cast<std::int64_t>(v.parts[0].bits), -2);
  SavedAndLoaded x({1, -0.1}), y;
  std::ostringstream other;
  {
    cereal::PortableBinaryOutputArchive big(other, cereal::PortableBinaryOutputArchive::Options::BigEndian());
    big(x);
  }
  io::read_archive(y, other.str());
  EXPECT_EQ(io::archive_of(y), io::archive_of(x));
}

namespace {
struct Block {
  Array weight;
  int heads = 2;
  std::variant<int, Array> width = 3;
};
struct Net {
  std::vector<Block> blocks;
  Window window;
  float scale = 1;
  std::vector<std::string> words;
};
Net net(int n) { return {{{ones({2}), n}, {ones({2}), n + 1}}, {n, {n}, "w"}, static_cast<float>(n), {"a", "b"}}; }
template <class T> std::string load_error(const std::string& folder, const T& like) {
  return error_of<CheckpointError>([&] { (void)load_tree(folder, like); });
}
}  // namespace
TEST_F(StaticFiles, WhatIsMissingRenamedAddedOrOfAnotherTypeIsNamed) {
  struct Old {
    Array a;
    int heads = 4;
    float scale = 0.5F;
  };
  struct Renamed {
    Array a;
    int heads = 4;
    float factor = 1;
  };
  struct Added {
    Array a;
    int heads = 4;
    float scale = 1;
    bool bias = true;
  };
  struct Removed {
    Array a;
    int heads = 4;
  };
  struct Retyped {
    Array a;
    float heads = 4;
    float scale = 1;
  };
  save_tree(at, Old{array(1)});
  auto folder = "checkpoint " + at + "/step-0: ";
  auto advice = "; a field was added, removed or renamed since: give the struct the same fields, or keep this tree's "
                "statics with {.statics = ignore}";
  EXPECT_EQ(load_error(at, Renamed{array(1)}), folder + "other statics than wanted: it has no 'factor', it has 'scale' "
                                                        "(0.5), which is not wanted" + advice);
  EXPECT_EQ(load_error(at, Added{array(1)}), folder + "other statics than wanted: it has no 'bias'" + advice);
  EXPECT_EQ(load_error(at, Removed{array(1)}),
            folder + "other statics than wanted: it has 'scale' (0.5), which is not wanted" + advice);
  EXPECT_EQ(load_error(at, Retyped{array(1)}),
            folder + "the static 'heads' is an integer there: 4; this tree wants a floating number");
  EXPECT_EQ(load_tree(at, Retyped{array(2)}, {.statics = ignore}).a.item<int>(), 1);
  struct Narrow {
    Array a;
    std::int8_t heads = 4;
    double scale = 1;
  };
  EXPECT_EQ(load_tree(at, Narrow{array(1)}).scale, 0.5);  // they hold what was written
  save_tree(at, Old{array(1), 300, 0.5F});
  EXPECT_EQ(load_error(at, Narrow{array(1)}),
            folder + "the static 'heads' is an integer there: 300; this tree wants an integer from -128 to 127");
  save_tree(at, Narrow{array(1), 4, 0.1});
  EXPECT_EQ(load_error(at, Old{array(1)}),
            folder + "the static 'scale' is a number there: 0.1; this tree wants a number of fewer bits");
  save_tree(at, net(5));
  EXPECT_EQ(load_error(at, With<Net>{array(1), net(5)}).find("it has no leaf"), std::string::npos);
}
TEST_F(StaticFiles, PartsOfTreesAndTreesOfUnknownTypes) {
  save_tree(at, net(5));
  auto back = load_tree(at, net(7));
  EXPECT_TRUE(key_of(back) == key_of(net(5)));
  auto longer = net(7);
  longer.words = {};
  longer.window.strides = {1, 2, 3};
  EXPECT_TRUE(key_of(load_tree(at, longer)) == key_of(net(5)));
  longer.blocks[1].width = ones({1});
  EXPECT_NE(load_error(at, longer).find("it has 'blocks.1.width' (3)"), std::string::npos);
  save_tree(at, With<Net>{array(1), net(6)});
  EXPECT_TRUE(key_of(load_tree(at, net(7), "value")) == key_of(net(6)));
  EXPECT_EQ(load_tree(at, Window{}, "value.window").size, 6);
  EXPECT_EQ(load_tree(at, 0.F, "value.scale"), 6.F);
  auto any = load_tree(at, With<tree::Any>{array(2), tree::Any(net(7))});
  EXPECT_TRUE(key_of(any.value.get<Net>()) == key_of(net(6)));
  save_tree(at, any);
  EXPECT_TRUE(key_of(load_tree(at, With<Net>{array(1), net(7)}).value) == key_of(net(6)));
}
TEST_F(StaticFiles, AlternativesAndPathsAreOnesOwn) {
  struct Left {
    Array a;
    int n = 1;
  };
  struct Right {
    Array a;
    int n = 2;
  };
  using Either = std::variant<Left, Right>;
  save_tree(at, With<Either>{array(1), Left{array(2), 5}});
  EXPECT_EQ(std::get<0>(load_tree(at, With<Either>{array(1), Left{array(1)}}).value).n, 5);
  EXPECT_NE(load_error(at, With<Either>{array(1), Right{array(1)}})
                .find("'value.(alternative)' is an integer there: 0; this tree wants 1"), std::string::npos);
  struct Node {
    Array a;
    int n = 1;
    std::map<std::string, Node> of = {};
  };
  Node leaf{array(1)}, dotted{array(1), 1, {{"a.of.b", leaf}, {"a", {array(2), 2, {{"b", leaf}}}}}};
  says<ValueError>([&] { save_tree(at, dotted); }, "two static values have the path 'of.a.of.b.n'");
}
TEST_F(StaticFiles, PolymorphicTypesOfCerealsComeBack) {
  save_tree(at, With<Held>{array(1), Held(3)});
  EXPECT_EQ(load_tree(at, With<Held>{array(2), Held(4)}).value.number(), 3);
}
TEST_F(StaticFiles, ATypeThatCannotBeWrittenIsNamedAndCanBeLeftOut) {
  With<Closed> x{array(1), Closed(3)};
  says<ValueError>([&] { save_tree(at, x); }, "the static 'value': a value of type statics_test::");
  EXPECT_FALSE(fs::exists(at + "/step-0"));
  save_tree(at, x, {.statics = ignore});
  EXPECT_TRUE(load_tree(at, With<Closed>{array(2), Closed(4)}).value == Closed(4));
}
TEST_F(StaticFiles, WhatTheLibraryHoldsIsRefused) {
  With<tree::Any> x{array(1), tree::Any(net(5), tree::unsaved)};
  says<ValueError>([&] { save_tree(at, x); }, "leave them out with {.statics = ignore}");
  save_tree(at, x, {.statics = ignore});
  says<ValueError>([&] { (void)load_tree(at, x); }, "get<T>()");
  EXPECT_EQ(load_tree(at, With<tree::Any>{array(2), x.value}, {.statics = ignore}).array.item<int>(), 1);
}
TEST_F(StaticFiles, FoldersWithoutStaticsKeepThoseOfLike) {
  auto old = net(5);
  Arrays keep;
  io::save_checkpoint(at, 0, io::leaves_of(tree::node(old), "", keep), io::place_here());
  EXPECT_TRUE(key_of(load_tree(at, net(7))) == key_of(net(7)));
  EXPECT_TRUE(key_of(load_tree(at, net(7), {.statics = ignore})) == key_of(net(7)));
}
TEST_F(StaticFiles, RanksAgreeOnThem) {
  local_mesh({{"data", 3}}, [&](const Mesh&) { save_tree(at, net(5)); });
  EXPECT_TRUE(key_of(load_tree(at, net(7))) == key_of(net(5)));
  local_mesh({{"data", 2}}, [&](const Mesh&) { EXPECT_TRUE(key_of(load_tree(at, net(7))) == key_of(net(5))); });
  says<ShardError>([&] { local_mesh({{"data", 2}}, [&](const Mesh& m) { save_tree(at, net(5 + m.rank())); }); },
                   "the ranks' static values differ: rank 0 has blocks.0.heads = 5, rank 1 has blocks.0.heads = 6");
  EXPECT_TRUE(key_of(load_tree(at, net(7))) == key_of(net(5)));  // untouched
}
/// tests/golden/saved_tree was written by the first version that kept static values. Every later one reads it.
TEST_F(StaticFiles, TheGoldenFolderStaysReadable) {
  auto golden = test::golden_path("saved_tree");
  auto written = [] {
    return std::pair{net(3), std::apply([](const auto&... values) { return std::tuple{values.front()...}; }, table())};
  }();
  auto like = [] {
    return std::pair{net(4), std::apply([](const auto&... values) { return std::tuple{values.back()...}; }, table())};
  }();
  EXPECT_TRUE(key_of(load_tree(golden, like)) == key_of(written));
  save_tree(at, written);
  for (auto file : {"manifest", "rank-0"})
    EXPECT_EQ(test::slurp(at + "/step-0/" + file), test::slurp(golden + "/step-0/" + file)) << file;
}
}  // namespace statics_test
