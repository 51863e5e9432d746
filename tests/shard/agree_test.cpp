// Steps of several ranks of which some fail.
#include "shard/api/agree.h"
#include <gtest/gtest.h>
#include <filesystem>
#include <mutex>
#include <new>
#include "bora/io/tree.h"
#include "bora/shard/mesh.h"

namespace bora::agree_test {
namespace {
/// The kind and text of what f throws, or what it returns.
template <class F> std::string ending(const F& f) {
  try {
    return f();
  } catch (const ConfigError& e) { return "ConfigError " + e.text(); } catch (const IoError& e) {
    return "IoError " + e.text();
  } catch (const CheckpointError& e) { return "CheckpointError " + e.text(); } catch (const ValueError& e) {
    return "ValueError " + e.text();
  } catch (const std::bad_alloc&) { return "bad_alloc"; }
}
/// ending() of f(mesh) on each of three ranks.
template <class F> std::vector<std::string> endings(const F& f) {
  std::vector<std::string> all(3);
  local_mesh({{"data", 3}}, [&](const Mesh& mesh) {
    auto text = ending([&] { return f(mesh); });
    all[static_cast<std::size_t>(mesh.rank())] = text;
  });
  return all;
}
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (auto& t : texts) all += t + ";";
  return all;
}
using Texts = std::vector<std::string>;
}  // namespace

TEST(Agree, GivesEachRankTheTextsOfAll) {
  EXPECT_EQ(endings([](const Mesh& mesh) {
              return joined(agree<IoError>(mesh, "a step", [&] { return std::to_string(mesh.rank()); }));
            }),
            Texts(3, "0;1;2;"));
  EXPECT_EQ(endings([](const Mesh& mesh) { return joined(agree(mesh, "a step", [] {})); }), Texts(3, ";;;"));
}
TEST(Agree, AllThrowTheErrorOfTheFirstRankThatFailed) {
  EXPECT_EQ(endings([](const Mesh& mesh) {
              return joined(agree<CheckpointError>(mesh, "a step", [&] {
                if (mesh.rank() > 0) fail<ValueError>("rank ", mesh.rank(), " failed");
              }));
            }),
            Texts(3, "CheckpointError rank 1 failed"));
}
TEST(Agree, KeepsTheKindWithoutAnother) {
  EXPECT_EQ(endings([](const Mesh& mesh) {
              return joined(agree(mesh, "a step", [&] {
                if (mesh.rank() == 1) fail<ConfigError>("bad setting");
                if (mesh.rank() == 2) fail<IoError>("bad file");
              }));
            }),
            Texts(3, "ConfigError bad setting"));
  EXPECT_EQ(endings([](const Mesh& mesh) {
              return joined(agree(mesh, "a step", [&] { check<ValueError>(mesh.rank() != 2, "bad value"); }));
            }),
            (Texts{"IoError bad value", "IoError bad value", "ValueError bad value"}));
}
TEST(Agree, TellsOthersOfWhatIsNoError) {
  EXPECT_EQ(endings([](const Mesh& mesh) {
              return joined(agree<CheckpointError>(mesh, "a step", [&] {
                if (mesh.rank() == 0) throw std::bad_alloc();
              }));
            }),
            (Texts{"bad_alloc", "CheckpointError std::bad_alloc", "CheckpointError std::bad_alloc"}));
  auto missing = endings([](const Mesh& mesh) {
    return joined(agree<IoError>(mesh, "a step", [&] {
      if (mesh.rank() == 2) (void)std::filesystem::file_size("/nowhere/file");
    }));
  });
  EXPECT_EQ(missing, Texts(3, "IoError cannot change /nowhere/file: No such file or directory"));
}
TEST(Agree, OnFirstCallsOnlyRankZero) {
  EXPECT_EQ(endings([](const Mesh& mesh) {
              return on_first(mesh, "a step", [&] { return "made by " + std::to_string(mesh.rank()); });
            }),
            Texts(3, "made by 0"));
  EXPECT_EQ(endings([](const Mesh& mesh) {
              return on_first<ConfigError>(mesh, "a step", [] { fail<IoError>("disk full"); });
            }),
            Texts(3, "ConfigError disk full"));
}
TEST(Agree, AloneThrowsAtOnce) {
  io::Place alone;
  EXPECT_EQ(joined(agree(alone, "a step", [] { return "mine"; })), "mine;");
  EXPECT_EQ(ending([&] { return on_first(alone, "a step", [] { fail<ValueError>("wrong"); }); }), "IoError wrong");
  EXPECT_EQ(ending([&] { return joined(agree(alone, "a step", [] { fail<ValueError>("wrong"); })); }),
            "ValueError wrong");
  EXPECT_EQ(error_of([] { fail<ValueError>("wrong"); }), "wrong");
  EXPECT_EQ(error_of([] {}), "");
}
}  // namespace bora::agree_test
