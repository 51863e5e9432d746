// Files of tensors: those of Hugging Face's library, round trips on meshes, and damage.
#include "bora/io/safetensors.h"
#include <cmath>
#include <numeric>
#include "base/api/file.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sharding.h"
#include "bora/random/random.h"
#include "bora/shard/shard.h"
#include "io/safetensors_format.h"
#include "support/places.h"
#include "support/throws.h"
#include "testing.h"

namespace safetensors_test {
using namespace bora;
using io::edit, io::Folder, test::error_of;
namespace {
const std::string golden = test::source_dir() + "/tests/golden/safetensors";
std::string opening(const std::string& path) {
  return error_of([&] { (void)Safetensors::open(path); });
}
std::vector<double> counting(int n, double from = 0) {
  std::vector<double> r(static_cast<std::size_t>(n));
  std::iota(r.begin(), r.end(), from);
  return r;
}
void write(const std::string& path, const std::string& json, std::size_t bytes) {
  std::uint64_t n = json.size();
  std::ofstream(path, std::ios::binary) << std::string(reinterpret_cast<char*>(&n), 8) << json
                                        << std::string(bytes, '\1');
}
std::map<std::string, Array> some_tensors() {
  auto key = random::key(3);
  return {{"a", random::normal(key, {7, 5})},
          {"b.half", random::normal(key, {3, 11, 4}, bf16)},
          {"c", array(2.5, f64)},
          {"d", random::bits(key, {13}, u8)},
          {"e", zeros({0, 4})},
          {"f", random::normal(key, {40, 700})},
          {"g", array({1, -2, 3})}};
}
const std::map<std::string, Spec> specs = {{"a", {"data", "model"}},
                                           {"b.half", Spec{none, "model", "data"}},
                                           {"d", Spec{MeshAxes{"data", "model"}}},
                                           {"f", Spec{none, "data"}}};
Spec spec_for_name(const std::string& name) { return specs.contains(name) ? specs.at(name) : Spec(); }
std::map<std::string, Array> split_tensors() {
  auto r = some_tensors();
  for (auto& [name, x] : r)
    if (specs.contains(name)) x = with_sharding_constraint(x, specs.at(name));
  return r;
}
std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> r;
  for (auto& e : fs::directory_iterator(folder)) r[e.path().filename().string()] = read_file(e.path().string());
  return r;
}
struct Layers {
  Array embed, weights;
};
}  // namespace

TEST(Safetensors, ReadsEveryDtypeOfHuggingFaceFiles) {
  auto f = Safetensors::open(golden + "/dtypes.safetensors");
  EXPECT_EQ(f.names().size(), 17u);
  EXPECT_EQ(f.metadata().at("who"), "\u00e9 \"quoted\"");
  for (auto [name, dtype] : {std::pair{"float64", f64},
                             {"float32", f32},
                             {"bfloat16", bf16},
                             {"float16", f16},
                             {"int64", i64},
                             {"int32", i32},
                             {"int16", i16},
                             {"int8", i8}}) {
    EXPECT_EQ(f.type(name), (Type{{2, 3}, dtype})) << name;
    EXPECT_EQ(f.read(name).to_vector<double>(), counting(6, -3)) << name;
  }
  for (auto [name, dtype] : {std::pair{"uint32", u32}, {"uint16", u16}, {"uint8", u8}, {"uint64", u64}}) {
    EXPECT_EQ(f.read(name).dtype(), dtype);
    EXPECT_EQ(f.read(name).to_vector<double>(), counting(6)) << name;
  }
  EXPECT_EQ(f.read("bool").to_vector<double>(), (std::vector<double>{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(f.read("bool").dtype(), boolean);
  auto halves = f.read("halves").to_vector<float>();
  EXPECT_EQ(halves, (std::vector<float>{1.5F, -65504, 0x1p-24F, HUGE_VALF, 0, 0x1.998p-4F}));
  EXPECT_TRUE(std::signbit(halves[4]));
  EXPECT_EQ(f.read("empty").shape(), (Shape{0, 3}));
  EXPECT_EQ(f.read("scalar").item<float>(), 7);
  EXPECT_EQ(f.read("float8_e4m3fn").type(), (Type{{2, 3}, f8_e4m3fn}));
  EXPECT_EQ(f.read("float8_e4m3fn").to_vector<double>(), std::vector<double>(6, 0));
  EXPECT_EQ(error_of([&] { (void)f.read("x\ny"); }), golden + "/dtypes.safetensors: x\\ny: there is no such tensor");
}
TEST(Safetensors, NamesADtypeThatItDoesNotHave) {
  test::TempFolder folder;
  auto path = folder / "x.safetensors";
  write(path, R"({"x":{"dtype":"F8_E5M2","shape":[6],"data_offsets":[0,6]}})", 6);
  EXPECT_EQ(error_of([&] { (void)Safetensors::open(path).read("x"); }),
            path + ": x: its dtype F8_E5M2 has no counterpart here; convert it first");
}
TEST(Safetensors, ReadsPartsInOtherOrders) {
  auto f = Safetensors::open(golden);
  EXPECT_EQ(f.names(), (std::vector<std::string>{"embed", "layers.0.weight", "layers.1.weight"}));
  auto x = f.read("embed");
  EXPECT_EQ(x.to_vector<double>(), counting(35));
  auto turned = f.read({.name = "embed", .order = {1, 0}});
  EXPECT_EQ(turned.shape(), (Shape{5, 7}));
  EXPECT_EQ(turned.to_vector<float>(), transpose(x).to_vector<float>());
  auto part = f.read(
      {.name = "layers.0.weight", .view = Shape{3, 2, 2}, .begin = {1, 0, 1}, .end = {3, 2, 2}, .order = {2, 0, 1}});
  EXPECT_EQ(part.shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(part.to_vector<float>(), (std::vector<float>{5, 7, 9, 11}));
  auto rows = f.read({.name = "embed", .begin = {1, 1}, .end = {7, 5}, .order = {2, 1, 0}, .split = Shape{2, 3, 4}});
  EXPECT_EQ(rows.shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(rows.to_vector<float>(),
            transpose(reshape(slice_in_dim(slice_in_dim(x, 0, 1, 7), 1, 1, 5), {2, 3, 4})).to_vector<float>());
  for (auto& [wrong, why] : std::vector<std::pair<TensorPart, std::string>>{
           {{.name = "embed", .view = Shape{6, 6}}, "its shape is [7, 5], a view as [6, 6] is wanted"},
           {{.name = "embed", .begin = {0, 6}}, "elements 6:5 of dimension 1 of its view [7, 5] are wanted"},
           {{.name = "embed", .begin = {1, 0}, .end = {6, 5}, .split = Shape{2, 3, 5}},
            "a block of [5, 5] is wanted as [2, 3, 5]"},
           {{.name = "embed", .order = {0, 0}}, "the order [0, 0] is no permutation of its 2 dimensions"},
           {{.name = "embed", .end = {7}},
            "begin, end and order need as many numbers as its view [7, 5] has dimensions"}})
    EXPECT_EQ(error_of([&] { (void)f.read(wrong); }), golden + "/model-00001-of-00002.safetensors: embed: " + why);
}
TEST(Safetensors, FillsTreesAndStacksLayersOnMeshes) {
  auto from = [](const std::string& path, const Type& type) -> std::vector<TensorPart> {
    if (path != "weights") return {{.name = path}};
    std::vector<TensorPart> r;
    for (std::int64_t i = 0; i < type.shape[0]; ++i)
      r.push_back({.name = "layers." + std::to_string(i) + ".weight", .order = {1, 0}});
    return r;
  };
  auto all = counting(24);
  std::vector<double> expected;
  for (std::size_t l : {0u, 12u})
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t r = 0; r < 3; ++r) expected.push_back(all[l + 4 * r + c]);
  auto once = [&](const Layers& like) {
    auto x = load_safetensors(Safetensors::open(golden), like, {.from = from});
    EXPECT_EQ(x.embed.dtype(), bf16);  // converted
    EXPECT_EQ(x.embed.to_vector<double>(), counting(35));
    EXPECT_EQ(x.weights.to_vector<double>(), expected);
  };
  Layers like{zeros({7, 5}, bf16), zeros({2, 4, 3})};
  once(like);
  for (auto mesh : {std::pair{2, 1}, {2, 2}, {3, 1}})
    local_mesh({{"data", mesh.first}, {"model", mesh.second}}, [&](const Mesh&) {
      once({with_sharding_constraint(like.embed, {"model", "data"}),
            with_sharding_constraint(like.weights, {"model", none, "data"})});
      auto turned = Safetensors::open(golden).read({.name = "embed", .order = {1, 0}}, {"data"});
      EXPECT_EQ(spec_of(turned), (Spec{"data", none}));
      EXPECT_EQ(turned.to_vector<double>(), transpose(reshape(arange(35), {7, 5})).to_vector<double>());
    });
  auto f = Safetensors::open(golden);
  EXPECT_EQ(error_of([&] { (void)load_safetensors(f, like); }), golden + ": weights: there is no such tensor");
  EXPECT_EQ(error_of([&] { (void)load_safetensors(f, std::map<std::string, Array>{{"embed", zeros({7, 5})}}); }),
            golden + "/model-00001-of-00002.safetensors: layers.0.weight: no leaf takes this tensor");
  auto only = [&](const Array& x) {
    return error_of([&] { (void)load_safetensors(f, std::map<std::string, Array>{{"embed", x}}, {.others = true}); });
  };
  EXPECT_EQ(only(zeros({7, 5})), "no error");
  EXPECT_EQ(only(zeros({5, 7})), golden +
                                     "/model-00001-of-00002.safetensors: embed: it is f32[7, 5], f32[5, 7] is "
                                     "wanted for 'embed'");
  EXPECT_EQ(only(zeros({7, 5}, i32)), golden +
                                          "/model-00001-of-00002.safetensors: embed: it is f32[7, 5], i32[7, 5] is "
                                          "wanted for 'embed'");
}
/// Never other numbers: a tensor is read into a dtype that holds them, or refused.
TEST(Safetensors, EveryPairOfDtypesIsReadOrRefused) {
  Folder folder;
  fs::create_directories(folder.path);
  auto path = folder.path + "/w.safetensors";
  for (auto have : {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64})
    for (auto want : {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64}) {
      save_safetensors(path, std::map<std::string, Array>{{"w", ones({37}, have)}});
      auto text = error_of([&] {
        auto r = load_safetensors(Safetensors::open(path), std::map<std::string, Array>{{"w", zeros({37}, want)}});
        EXPECT_EQ(r.at("w").astype(f64).to_vector<double>(), std::vector<double>(37, 1)) << have << " as " << want;
      });
      bool wider = is_integer(have) && is_integer(want) && promote(have, want) == want;
      EXPECT_EQ(text == "no error", have == want || (is_float(have) && is_float(want)) || wider)
          << have << " as " << want << ": " << text;
    }
}
TEST(Safetensors, EveryMeshWritesTheSameBytesAndReadsThemBack) {
  Folder folder;
  auto tensors = some_tensors();
  fs::create_directories(folder.path);
  save_safetensors(folder.path + "/one.safetensors", tensors, {.metadata = {{"who", "test"}}});
  save_safetensors(folder.path + "/alone", tensors, {.shard_bytes = 500});
  auto alone = contents(folder.path + "/alone");
  EXPECT_EQ(alone.size(), 4u);  // a b c d e | f | g, and the index
  EXPECT_TRUE(alone.contains("model-00003-of-00003.safetensors"));
  auto check = [&] {
    for (auto path : {"/one.safetensors", "/alone"}) {
      auto f = Safetensors::open(folder.path + path);
      for (auto& [name, x] : tensors) {
        auto back = f.read(name, spec_for_name(name));
        EXPECT_EQ(back.type(), x.type());
        EXPECT_EQ(back.to_vector<double>(), x.to_vector<double>()) << name;
      }
    }
  };
  check();
  EXPECT_EQ(Safetensors::open(folder.path + "/one.safetensors").metadata().at("who"), "test");
  for (auto mesh : {std::pair{2, 1}, {2, 2}, {3, 1}}) {
    local_mesh({{"data", mesh.first}, {"model", mesh.second}}, [&](const Mesh&) {
      auto mine = split_tensors();
      check();
      save_safetensors(folder.path + "/mesh", mine, {.shard_bytes = 500});
      save_safetensors(folder.path + "/mesh.safetensors", mine, {.metadata = {{"who", "test"}}});
    });
    EXPECT_EQ(contents(folder.path + "/mesh"), alone);
    EXPECT_EQ(read_file(folder.path + "/mesh.safetensors"), read_file(folder.path + "/one.safetensors"));
  }
}
TEST(Safetensors, AFolderIsReplacedAsAWhole) {
  Folder folder;
  save_safetensors(folder.path, some_tensors(), {.shard_bytes = 100});
  save_safetensors(folder.path, some_tensors(), {.shard_bytes = 500});
  EXPECT_EQ(contents(folder.path).size(), 4u);
  save_safetensors(folder.path, {{"x", ones({2})}}, {.shard_bytes = 500});
  EXPECT_EQ(contents(folder.path).size(), 1u);
  EXPECT_EQ(Safetensors::open(folder.path).names(), std::vector<std::string>{"x"});
  save_safetensors(folder.path, some_tensors(), {.shard_bytes = 500});
  EXPECT_EQ(Safetensors::open(folder.path).names().size(), 7u);
  EXPECT_EQ(contents(folder.path).size(), 4u);
  auto before = contents(folder.path);
  auto saving = [&](const std::map<std::string, Array>& x, const SaveSafetensorsOptions& o = {}, std::string to = "") {
    return error_of([&] { save_safetensors(folder.path + to, x, o); });
  };
  EXPECT_EQ(saving({{"__metadata__", ones({2})}}), "save_safetensors: no tensor can be named '__metadata__'");
  EXPECT_TRUE(saving({{"\xff", ones({2})}}).starts_with("save_safetensors: a name or a text of metadata is not UTF-8"));
  EXPECT_TRUE(saving({{"k", random::key(1)}}).starts_with("save_safetensors: the format has no dtype for key"));
  EXPECT_EQ(saving({{"x", ones({2})}}, {.shard_bytes = -1}), "save_safetensors: shard_bytes is -1");
  EXPECT_TRUE(saving({{"x", ones({2})}}, {.shard_bytes = 9}, "/a.safetensors").ends_with("is the name of a file"));
  fs::create_directories(folder.path + "/a.safetensors/full");  // the rename fails on rank 0: every rank says so
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    EXPECT_TRUE(saving({{"x", ones({2})}}, {}, "/a.safetensors").starts_with("cannot rename "));
  });
  fs::remove_all(folder.path + "/a.safetensors");
  EXPECT_EQ(contents(folder.path), before);
}
TEST(Safetensors, WrongHeadersAreNamed) {
  Folder folder;
  fs::create_directories(folder.path);
  auto file = folder.path + "/x.safetensors";
  auto given = [&](const std::string& json, std::size_t bytes = 8) {
    write(file, json, bytes);
    auto text = opening(file);
    return text.starts_with(file + ": ") ? text.substr(file.size() + 2) : text;
  };
  auto tensor = [](const std::string& shape, const std::string& offsets, const std::string& dtype = "F32") {
    return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  auto one = [&](const std::string& value) { return given(R"({"a":)" + value + "}"); };
  EXPECT_EQ(one(tensor("[2]", "[0,8]")), "no error");
  EXPECT_EQ(one(tensor("[2]", "[0,8]", "F99")).substr(0, 36), "a: its dtype 'F99' is not known; kno");
  EXPECT_EQ(one(tensor("[3]", "[0,8]")), "a: its data_offsets 0:8 do not hold the 12 bytes of F32[3]");
  EXPECT_EQ(one(tensor("[2]", "[8,0]")), "a: its data_offsets 8:0 do not hold the 8 bytes of F32[2]");
  EXPECT_EQ(one(tensor("[2]", "[8,16]")), "a: 8 bytes before it belong to no tensor");
  EXPECT_EQ(one(tensor("[4]", "[0,16]")), "a: truncated: it ends 16 bytes behind the header, the file 8");
  EXPECT_EQ(one(tensor("[1]", "[0,4]")), "4 bytes at its end belong to no tensor");
  EXPECT_EQ(one(tensor("[4294967296,4294967296]", "[0,0]")), "a: its shape has more bytes than any disk");
  EXPECT_EQ(one(tensor("[9223372036854775808]", "[0,0]")), "a: 'shape' is not a list of sizes up to 2^50");
  EXPECT_EQ(one(tensor("[-2]", "[0,8]")), "a: 'shape' is not a list of sizes up to 2^50");
  EXPECT_EQ(one(tensor("[[2]]", "[0,8]")), "a: 'shape' is a list, which this format does not have here");
  EXPECT_EQ(one(tensor("2", "[0,8]")), "a: 'shape' is not a list of sizes up to 2^50");
  EXPECT_EQ(one(tensor("[2]", "[0,8,9]")), "a: 'data_offsets' is not a list of two numbers");
  EXPECT_EQ(one("[]"), "a: the header has a list where an object is expected");
  EXPECT_EQ(one("3"), "a: an object is expected, not a number");
  EXPECT_EQ(one(R"({"shape":[2],"data_offsets":[0,8]})"), "a: 'dtype' is missing");
  EXPECT_EQ(one(R"({"dtype":"F32","data_offsets":[0,8]})"), "a: 'shape' is missing");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"more":1})"), "a: 'more' is not known to this format");
  EXPECT_EQ(one(R"({"dtype":"F32","dtype":"F32"})"), "a: 'dtype' is given twice");
  EXPECT_EQ(given(R"({"a":)" + tensor("[1]", "[0,4]") + R"(,"a":)" + tensor("[1]", "[4,8]") + "}"),
            "'a' is given twice");
  EXPECT_EQ(given(R"({"a":)" + tensor("[2]", "[0,8]") + R"(,"b":)" + tensor("[1]", "[4,8]") + "}"),
            "b: its bytes overlap those of 'a'");
  EXPECT_EQ(given(R"({"__metadata__":{"a":1}})", 0), "__metadata__: 'a' is a number, not text");
  EXPECT_EQ(given("{}", 0), "no error");
  EXPECT_EQ(given("[]", 0), "no safetensors file: its header is no JSON object");
  EXPECT_TRUE(given("{\"a\":", 0).starts_with("broken JSON: "));
  EXPECT_TRUE(given("{} x", 0).starts_with("broken JSON: "));
  edit(file, [](auto& s) { s[4] = 1; });
  EXPECT_EQ(opening(file),
            file + ": no safetensors file: its header would have 4294967300 bytes, the limit is 100000000");
  edit(file, [](auto& s) { s[4] = 0, s[1] = 9; });
  EXPECT_EQ(opening(file), file + ": truncated: its header has 2308 bytes, the file 12");
}
TEST(Safetensors, EveryTruncationAndEveryFlipIsAnErrorOrHarmless) {
  Folder folder;
  fs::create_directories(folder.path);
  auto bytes = read_file(golden + "/dtypes.safetensors"), file = folder.path + "/x.safetensors";
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    std::ofstream(file, std::ios::binary) << bytes.substr(0, n);
    auto text = opening(file);
    ASSERT_TRUE(text.starts_with(file + ": ")) << n << " bytes: " << text;
    ASSERT_EQ(text.find('\n'), text.npos);
  }
  auto size = static_cast<std::int64_t>(bytes.size());
  auto parse = [&](const std::string& b) {
    auto n = io::header_length(std::string_view(b).substr(0, 8), size, "x");
    return io::parse_safetensors(std::string_view(b).substr(8, static_cast<std::size_t>(n)), size, "x").tensors;
  };
  auto whole = parse(bytes);
  auto header = static_cast<std::size_t>(8 + io::header_length(bytes.substr(0, 8), size, "x"));
  int accepted = 0;
  for (std::size_t i = 0; i < header; ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      try {
        for (auto& [name, t] : parse(flipped)) {
          auto same = whole.find(name);
          if (same == whole.end() || same->second.dtype != t.dtype || same->second.shape != t.shape) continue;
          ASSERT_EQ(t.offset, same->second.offset) << name << ": byte " << i << " bit " << bit;
        }
        ++accepted;
      } catch (const IoError& e) { ASSERT_TRUE(e.text().starts_with("x: ")) << e.text(); }
    }
  EXPECT_GT(accepted, 0);  // letters of names
}
TEST(Safetensors, FoldersThatAreNotWholeAreRefused) {
  Folder folder;
  fs::copy(golden, folder.path);
  fs::remove(folder.path + "/dtypes.safetensors");
  auto at = folder.path + "/", index = at + "model.safetensors.index.json",
       second = at + "model-00002-of-00002.safetensors";
  auto changed = [&](const std::string& from, const std::string& to) {
    auto before = read_file(index);
    edit(index, [&](auto& s) { s.replace(s.find(from), from.size(), to); });
    auto text = opening(folder.path);
    edit(index, [&](auto& s) { s = before; });
    return text;
  };
  EXPECT_EQ(opening(index), "no error");
  EXPECT_EQ(changed("\"layers.1", "\"layers.2"), second +
                                                     ": layers.1.weight: the index does not say that the tensor is "
                                                     "here");
  EXPECT_EQ(changed("\"embed\"", "\"embed2\": \"model-00001-of-00002.safetensors\", \"embed\""),
            at + "model-00001-of-00002.safetensors: embed2: there is no such tensor, but the index says so");
  EXPECT_EQ(changed("model-00002", "../00002"),
            index + ": layers.1.weight: '../00002-of-00002.safetensors' is not the name of a file in this folder");
  EXPECT_EQ(changed("weight_map", "weights"), index + ": it has no weight_map");
  EXPECT_EQ(changed("\"embed\":", "\"layers.1.weight\":"), index + ": 'layers.1.weight' is given twice");
  save_safetensors(second, {{"layers.1.weight", ones({2})}, {"embed", ones({2})}});
  EXPECT_EQ(opening(folder.path), second + ": embed: the tensor is also in " + at + "model-00001-of-00002.safetensors");
  fs::remove(second);
  EXPECT_EQ(opening(folder.path), index + ": layers.1.weight: its file model-00002-of-00002.safetensors is missing");
  fs::remove(index);
  EXPECT_EQ(opening(folder.path), folder.path +
                                      ": no model.safetensors and no model.safetensors.index.json; it has "
                                      "model-00001-of-00002.safetensors");
  fs::remove(at + "model-00001-of-00002.safetensors");
  EXPECT_EQ(opening(folder.path), folder.path + ": no model.safetensors and no model.safetensors.index.json");
  local_mesh({{"data", 2}}, [&](const Mesh&) { EXPECT_TRUE(opening(folder.path).starts_with(folder.path + ": no ")); });
  std::ofstream(at + "pytorch_model.bin") << std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00", 10);
  auto how = opening(folder.path);
  EXPECT_TRUE(how.starts_with(folder.path + ": PyTorch's pickles are programs")) << how;
  EXPECT_NE(how.find("s.save_file("), how.npos);
  EXPECT_NE(how.find(at + "pytorch_model*.bin"), how.npos);
  EXPECT_NE(opening(at + "pytorch_model.bin").find("convert it in Python"), how.npos);
  EXPECT_EQ(how.find('\n'), how.npos);
}
}  // namespace safetensors_test
