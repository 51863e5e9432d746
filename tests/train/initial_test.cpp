// A new run's parameters from a checkpoint of another model: what is taken, cast, left, and what is refused.
#include "train/api/initial.h"
#include <gtest/gtest.h>
#include "support/throws.h"

namespace initial_test {
using namespace bora;
using namespace bora::training;

const std::vector<PathAndType> kStored = {{"wte", {{10, 4}, f32}}, {"blocks.attn.q", {{4, 4}, f32}},
                                          {"blocks.mlp.up", {{4, 8}, f32}}, {"head", {{4, 10}, bf16}}};
struct Case {
  std::vector<PathAndType> wanted;
  InitialOptions options;
  std::string taken = {}, error = {};  // "path<from" with ! for a cast; a part of the error
};
std::string summary(const InitialPlan& plan) {
  std::string text;
  for (auto& t : plan.taken) text += t.path + (t.path == t.from ? "" : "<" + t.from) + (t.cast ? "! " : " ");
  for (auto& path : plan.initialised) text += "+" + path + " ";
  for (auto& path : plan.left) text += "-" + path + " ";
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

TEST(Initial, Cases) {
  const PathAndType wte = kStored[0], q = kStored[1], up = kStored[2], head = kStored[3];
  const PathAndType wide{"wte", {{12, 4}, f32}}, half{"wte", {{10, 4}, bf16}}, words{"wte", {{10, 4}, i32}};
  const PathAndType other{"layers.attn.q", q.type}, fresh{"gate", {{4}, f32}};
  const std::vector<Case> cases = {
      {{wte, q, up, head}, {}, "wte blocks.attn.q blocks.mlp.up head"},
      {{wte, q, up}, {}, "", "no parameter takes its leaf 'head'; init_from.unexpected=ignore"},
      {{wte, q}, {}, "", "'blocks.mlp.up' (nor 1 others)"},
      {{wte, q}, {.ignore_unexpected = true}, "wte blocks.attn.q -blocks.mlp.up -head"},
      {{wte, q, up, head, fresh}, {}, "", "it has no leaf 'gate' (f32[4] is wanted); init_from.missing=init"},
      {{wte, q, up, head, fresh}, {.init_missing = true}, "wte blocks.attn.q blocks.mlp.up head +gate"},
      {{wide, q, up, head}, {}, "", "leaf 'wte' is f32[10, 4], f32[12, 4] is wanted for 'wte'; give the model"},
      {{wide, q, up, head}, {.init_missing = true, .ignore_unexpected = true}, "", "f32[12, 4] is wanted"},
      {{half, q, up, head}, {}, "", "init_from.cast=true would convert it"},
      {{half, q, up, head}, {.cast = true}, "wte! blocks.attn.q blocks.mlp.up head"},
      {{words, q, up, head}, {.cast = true}, "", "only floating numbers are cast"},
      {{wte, q, up, head}, {.only = {"blocks"}}, "blocks.attn.q blocks.mlp.up +wte +head -wte -head"},
      {{wide, q, up, head}, {.only = {"blocks.*", "head"}}, "blocks.attn.q blocks.mlp.up head +wte -wte"},
      {{wte, q, up, head}, {.only = {"blocs"}}, "", "init_from.only: nothing matches 'blocs'"},
      {{wte, other, up, head}, {}, "", "no leaf 'layers.attn.q'"},
      {{wte, other, up, head},
       {.rename = {{"^blocks\\.attn", "layers.attn"}}},
       "wte layers.attn.q<blocks.attn.q blocks.mlp.up head"},
      {{wte, {"blocks.q.attn", q.type}, {"blocks.up.mlp", up.type}, head},
       {.rename = {{"blocks\\.(.*)\\.(.*)", "blocks.$2.$1"}}},
       "wte blocks.q.attn<blocks.attn.q blocks.up.mlp<blocks.mlp.up head"},
      {{wte, q, up, head}, {.rename = {{"[", "x"}}}, "", "init_from.rename: '[' is no regular expression"},
      {{wte, q, up, head}, {.rename = {{"nowhere", "x"}}}, "", "'nowhere' changes no path of the checkpoint"},
      {{wte, q, up, head}, {.rename = {{"head", "wte"}}}, "", "'wte' and 'head' both become 'wte'"},
      {{fresh}, {.init_missing = true, .ignore_unexpected = true}, "", "nothing is taken from it; its leaves are wte"},
  };
  for (auto& c : cases) {
    auto error = test::error_of<Error>(
        [&] { EXPECT_EQ(summary(plan_initial(c.wanted, kStored, "F", c.options)), c.taken); });
    if (c.error.empty()) {
      EXPECT_EQ(error, "no error");
    }
    else EXPECT_NE(error.find(c.error), std::string::npos) << error << "\nwanted: " << c.error;
  }
}
TEST(Initial, WhatIsSaid) {
  InitialPlan plan{.taken = {{"a", "a", {}, false}, {"b", "c", {}, true}}, .initialised = {"d"}};
  for (auto name : {"1", "2", "3", "4", "5"}) plan.left.push_back(name);
  EXPECT_EQ(plan.said("F"), (std::vector<std::string>{"taken from F: 2 parameters", "  renamed: c as b",
                                                      "  cast from another dtype: b", "  not in it, initialised: d",
                                                      "  in it and left: 1, 2, 3, 4 and 1 more"}));
}
}  // namespace initial_test
