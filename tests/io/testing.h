// testing.h -- checkpoints of a known state, written and read by ranks that are threads.
#pragma once
#include "bora/io/checkpoint.h"
#include <gtest/gtest.h>
#include <unistd.h>
#include <barrier>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace bora::io {
struct Folder {
  test::TempFolder temp;
  std::string path = temp / "io";
};
inline MeshShape mesh_of(int data, int model) { return {{{AxisName("data"), data}, {AxisName("model"), model}}}; }
inline MeshShape shares_of(const std::vector<std::vector<int>>& each) {  // of data and model
  auto mesh = mesh_of(static_cast<int>(each[0].size()), static_cast<int>(each[1].size()));
  for (std::size_t d = 0; d < each.size(); ++d) mesh.set_shares(mesh.axes[d].first, each[d]);
  return mesh;
}

/// Ranks as threads; exchange gives everybody everybody's text.
template <class F> void run_ranks(const MeshShape& mesh, const F& f) {
  auto n = mesh.size();
  std::barrier sync(n);
  std::vector<std::string> texts(static_cast<std::size_t>(n));
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r)
    threads.emplace_back([&, r] {
      f(Place{mesh, r, [&, r](const std::string& mine, std::string_view) {
                texts[static_cast<std::size_t>(r)] = mine;
                sync.arrive_and_wait();
                auto all = texts;
                sync.arrive_and_wait();
                return all;
              }});
    });
  for (auto& t : threads) t.join();
}

/// A state whose global values are known: element i of leaf l is a hash of both. A rank holds its blocks.
struct State {
  std::vector<Leaf> leaves;
  std::vector<std::vector<char>> memory;
};
inline char expected(std::size_t leaf, std::int64_t byte) {
  return static_cast<char>((byte * 2654435761LL + static_cast<std::int64_t>(leaf) * 97) >> 7);
}
using Shapes = std::vector<std::pair<Type, Spec>>;
inline Shapes shapes(const Spec& matrix = {"data", "model"}) {
  return {{{{7, 5}, f32}, matrix},
          {{{3, 11, 4}, bf16}, Spec{none, "model", "data"}},
          {{{13}, f32}, Spec{{"data", "model"}}},
          {{{}, i64}, {}},
          {{{2}, Dtype::key}, {}},
          {{{1, 3}, f32}, Spec{"data"}},
          {{{310, 900}, f32}, matrix}};  // more than one chunk
}
/// Calls f(local byte, global byte) for every byte of a block.
inline void each_byte(const Type& type, const Box& box, const std::function<void(std::int64_t, std::int64_t)>& f) {
  auto item = static_cast<std::int64_t>(dtype_size(type.dtype));
  std::int64_t n = 1;
  for (auto& b : box) n *= b.size();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, global = 0, stride = 1;
    for (std::size_t d = box.size(); d-- > 0;) {
      global += (box[d].begin + rest % box[d].size()) * stride;
      rest /= box[d].size();
      stride *= type.shape[d];
    }
    for (std::int64_t b = 0; b < item; ++b) f(i * item + b, global * item + b);
  }
}
inline State make_state(const Shapes& types, const Place& place, bool fill) {
  State s;
  for (std::size_t l = 0; l < types.size(); ++l) {
    auto& [type, spec] = types[l];
    auto box = block_of_rank(type, spec, place.mesh, place.rank);
    std::int64_t bytes = static_cast<std::int64_t>(dtype_size(type.dtype));
    for (auto& b : box) bytes *= b.size();
    s.memory.emplace_back(static_cast<std::size_t>(bytes), 'x');
    if (fill)
      each_byte(type, box, [&](std::int64_t local, std::int64_t global) {
        s.memory.back()[static_cast<std::size_t>(local)] = expected(l, global);
      });
    s.leaves.push_back({"params.leaf" + std::to_string(l), type, spec, nullptr});
  }
  for (std::size_t l = 0; l < types.size(); ++l) s.leaves[l].data = s.memory[l].data();
  return s;
}
inline bool holds_expected(const Shapes& types, const Place& place, const State& s) {
  bool ok = true;
  for (std::size_t l = 0; l < types.size(); ++l)
    each_byte(types[l].first, block_of_rank(types[l].first, types[l].second, place.mesh, place.rank),
              [&](std::int64_t local, std::int64_t global) {
                ok = ok && s.memory[l][static_cast<std::size_t>(local)] == expected(l, global);
              });
  return ok;
}
using bora::test::error_of;
inline void save_on(const MeshShape& mesh, const std::string& root, std::int64_t step, const Shapes& types = shapes(),
                    std::int64_t keep = 2) {
  run_ranks(mesh, [&](const Place& place) {
    auto s = make_state(types, place, true);
    save_checkpoint(root, step, s.leaves, place, {{"step", std::to_string(step)}}, keep);
  });
}
inline std::string restore_alone(const std::string& folder, const Shapes& types = shapes()) {
  return error_of<CheckpointError>([&] {
    Place alone{mesh_of(1, 1)};
    auto s = make_state(types, alone, false);
    restore_checkpoint(folder, s.leaves, alone);
    EXPECT_TRUE(holds_expected(types, alone, s));
  });
}
inline void edit(const std::string& file, const std::function<void(std::string&)>& f) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  in.close();
  f(bytes);
  std::ofstream(file, std::ios::binary) << bytes;
}
}  // namespace bora::io
