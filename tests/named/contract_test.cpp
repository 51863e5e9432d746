// Products of several arrays, and texts that move axes.
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "bora/named/contract.h"
#include "support/throws.h"

namespace bora::contract_test {
namespace {
using bora::test::says_line;
using List = std::vector<Axis>;
const Axis H{"H", 2}, W{"W", 3}, D{"D", 4}, B{"B", 2}, E{"E", 5};
NamedArray of(const List& axes, int seed) { return random::normal(random::key(seed), axes); }
void close(const NamedArray& got, const List& axes, const Array& want) {
  EXPECT_EQ(got.axes(), axes);
  EXPECT_TRUE(allclose(got.array(), want, 1e-4, 1e-5)) << got.array() << want;
}
TEST(NamedDot, OfSeveralArrays) {
  auto a = of({B, H, D}, 1), b = of({D, E}, 2), c = of({E, B}, 3);
  close(dot({a, b}, "D"), {B, H, E}, einsum("bhd,de->bhe", a.array(), b.array()));
  close(dot({a, b, c}, {"D", "E"}), {B, H}, einsum("bhd,de,eb->bh", a.array(), b.array(), c.array()));
  close(dot({a, b, c}, none), {}, einsum("bhd,de,eb->", a.array(), b.array(), c.array()));
  close(dot({a, c}, AxisNames{}), {B, H, D, E}, einsum("bhd,eb->bhde", a.array(), c.array()));
  close(dot({a, b}, D, {.out_axes = {{"E", "..."}}}), {E, B, H}, einsum("bhd,de->ebh", a.array(), b.array()));
  close(dot({a}, H), {B, D}, sum(a.array(), 1));
  EXPECT_EQ(dot({a.astype(bf16), b.astype(bf16)}, D, {.dtype = f32}).dtype(), f32);
  says_line<AxisError>([&] { return dot({a, b}, "X"); }, "dot: no axis 'X' among {B:2, H:2, D:4, E:5}");
  says_line<AxisError>([&] { return dot({a, ones(D.resize(9))}, D); }, "dot: axis 'D' has size 4 and size 9");
  says_line<AxisError>([&] { return dot({a, b}, D, {.out_axes = {{"E"}}}); }, "does not name all axes");
  says_line<ValueError>([&] { return dot(std::vector<NamedArray>{}, none); }, "needs at least one array");
}
TEST(NamedEinsum, ThreeForms) {
  auto a = of({H, W, D}, 1), b = of({D, W, H}, 2);
  auto hw = einsum("hwd,dwh->hw", a.array(), b.array());
  close(einsum("h w d, d w h -> h w", a, b), {H, W}, hw);
  close(einsum("h w d, d ... -> h ...", a, of({D, E}, 3)), {H, E},
        einsum("hwd,de->he", a.array(), of({D, E}, 3).array()));
  close(einsum("{H W D} -> H W", a, b), {H, W}, hw);
  close(einsum("{D} ->", a, b), {H, W}, hw);
  close(einsum("-> H W", a, b), {H, W}, hw);
  close(einsum("-> W H", a, b), {W, H}, transpose(hw));
  close(einsum("-> D ...", a, b), {D, H, W}, einsum("hwd,dwh->dhw", a.array(), b.array()));
  close(einsum("{...} -> H", a, b), {H}, einsum("hwd,dwh->h", a.array(), b.array()));
  close(einsum("{} ->", a, b), {H, W, D}, einsum("hwd,dwh->hwd", a.array(), b.array()));
  close(einsum("{x y} -> y", {a, b}, {{"x", H}, {"y", W}}), {D, W}, einsum("hwd,dwh->dw", a.array(), b.array()));
  close(einsum("... d -> ...", a), {H, W}, sum(a.array(), 2));
  auto squares = of({Axis{"my axis", 2}, W}, 4);
  close(einsum("-> 'my axis'", squares), {{"my axis", 2}}, sum(squares.array(), 1));
  // The words of two arrays may be different although they have an axis of one name.
  auto c = of({H, W}, 5), d = of({H, W}, 6);
  close(einsum("i w, j w -> i", c, d), {H}, einsum("iw,jw->i", c.array(), d.array()));
  auto g = grad([&](const NamedArray& v) { return sum(einsum("{D} -> ...", v, b)).array(); })(a);
  close(g, {H, W, D}, transpose(b.array()));
}
TEST(NamedEinsum, BadTextsAreQuoted) {
  auto a = ones({H, W, D}), b = ones({D, W, H});
  says_line<ValueError>([&] { return einsum("h w d -> h", a, b); }, "does not match the number of arrays, 2");
  says_line<ValueError>([&] { return einsum("h w, d w h -> h", a, b); },
                        "not all axes are bound: the array has {H:2, W:3, D:4}");
  says_line<ValueError>([&] { return einsum("h w d x, d w h -> h", a, b); }, "too many axes");
  says_line<ValueError>([&] { return einsum("h w d, d w h -> h h", a, b); },
                        "'h' occurs multiple times, at column 19 of 'h w d, d w h -> h h'");
  says_line<ValueError>([&] { return einsum("-> H H", a, b); }, "axis 'H' occurs multiple times");
  says_line<ValueError>([&] { return einsum("h w d, h w d -> h", a, b); },
                        "'h' stands for more than one axis, H and D");
  says_line<ValueError>([&] { return einsum("h w d, d w h -> x", a, b); }, "'x' does not occur on the left");
  says_line<ValueError>([&] { return einsum("{Q} -> H", a, b); }, "no array has axis 'Q'; they have {H:2, W:3, D:4}");
  says_line<ValueError>([&] { return einsum("-> H", {a, b}, {{"x", W}}); },
                        "the word 'x' is bound but not in the text");
  says_line<ValueError>([&] { return einsum("{x} ->", {a, b}, {{"x", H.resize(9)}}); },
                        "axis 'H' has size 2, bound is 9");
  says_line<ValueError>([&] { return einsum("h w d, d w h", a, b); }, "-> is missing");
  says_line<ValueError>([&] { return einsum("(h w) d, d w h -> h", a, b); }, "no parentheses");
  says_line<AxisError>([&] { return einsum("-> H", a, ones(D.resize(9))); }, "axis 'D' has size 4 and size 9");
}
TEST(NamedRearrange, Texts) {
  const Axis C{"C", 2}, Q{"Q", 6}, big{"W", 6}, tall{"H", 4};
  auto x = of({B, tall, big, C}, 1);
  auto n = x.array();
  close(rearrange(x, "b h w c -> c b h w"), {C, B, tall, big}, transpose(n, {3, 0, 1, 2}));
  close(rearrange(x, "B H W C -> B (E: H W C)"), {B, {"E", 48}}, reshape(n, {2, 48}));
  close(rearrange(x, "a b ... -> b ... a"), {tall, big, C, B}, transpose(n, {1, 2, 3, 0}));
  close(rearrange(x, "a ... b -> b ... a"), {C, tall, big, B}, transpose(n, {3, 1, 2, 0}));
  close(rearrange(x, "{C B} -> ... B C"), {tall, big, B, C}, transpose(n, {1, 2, 0, 3}));
  close(rearrange(x, "{H W C} -> ... (C: C H W)"), {B, {"C", 48}}, reshape(transpose(n, {0, 3, 1, 2}), {2, 48}));
  auto patches = rearrange(x, "{B (H: h1 H) (W: w1 W)} -> (B: B h1 w1) H W ...", {{"H", 2}, {"W", 3}});
  close(patches, {{"B", 8}, {"H", 2}, {"W", 3}, C},
        reshape(transpose(reshape(n, {2, 2, 2, 2, 3, 2}), {0, 1, 3, 2, 4, 5}), {8, 2, 3, 2}));
  close(rearrange(x, "{B (H: h1 h) (W: w1 w)} -> (B: B h1 w1) (H: h) (W: w) ...", {{"h1", 2}, {"w1", 2}}),
        {{"B", 8}, {"H", 2}, {"W", 3}, C}, patches.array());
  auto qkv = of({Q, H}, 2);
  close(rearrange(qkv, "{(Q: qkv heads c)} -> qkv heads c ...", {{"qkv", 3}, {"heads", Axis{"heads", 1}}}),
        {{"qkv", 3}, {"heads", 1}, {"c", 2}, H}, reshape(qkv.array(), {3, 1, 2, 2}));
  close(rearrange(x, "{x} -> ... x", {{"x", "H"}}), {B, big, C, tall}, transpose(n, {0, 2, 3, 1}));
  close(rearrange(x, "{H W} -> ... ('a b': H W)"), {B, C, {"a b", 24}},
        reshape(transpose(n, {0, 3, 1, 2}), {2, 2, 24}));
}
TEST(NamedRearrange, BadTextsAreQuoted) {
  const Axis Q{"Q", 6};
  auto x = ones({H, W, D}), q = ones({Q, W});
  auto bad = [](const NamedArray& a, const char* text, const char* words, const AxisBindings& b = {}) {
    says_line<ValueError>([&] { return rearrange(a, text, b); }, words);
  };
  bad(x, "a b c d -> a", "too many axes: the array has {H:2, W:3, D:4}, at column 7");
  bad(x, "a b -> a b", "not all axes are bound");
  bad(x, "a b c -> a b q", "'q' is not bound on the left");
  bad(x, "a ... b ... -> a", "only one ... stands for axes by position");
  bad(x, "a a c -> a c", "'a' is assigned more than once");
  bad(x, "a b c -> a b b c", "'b' is used more than once");
  bad(x, "a b c -> a b", "axis 'D' is not used on the right; ... keeps the others");
  bad(x, "{H (H: a b)} -> ...", "axis 'H' is bound more than once");
  bad(q, "{(Q: a b)} -> a b ...", "the sizes do not divide axis 'Q' of size 6", {{"a", 4}});
  bad(q, "{(Q: a b)} -> a b ...", "the sizes do not fill axis 'Q' of size 6", {{"a", 3}, {"b", 1}});
  bad(q, "{(Q: a b)} -> a b ...", "the sizes of 'a' and 'b' are ambiguous");
  bad(x, "a b c -> (a b) c", "an axis on the right has a name");
  bad(x, "{(a b)} -> a b ...", "in braces a group has a name");
  bad(x, "{Z} -> Z ...", "no axis 'Z' among {H:2, W:3, D:4}");
  bad(x, "{H -> H", "a } is missing");
  bad(x, "(H W -> H", "a ) is missing, at column 1 of '(H W -> H'");
  bad(x, "H W D -> {H}", "the right side has an order");
  bad(x, "1a b c -> b", "a name cannot begin with a digit");
  bad(x, "a b c -> 'a", "the closing quote is missing");
  bad(x, "a b c -> a b c d e (", "a ) is missing");
  says_line<AxisError>([&] { return rearrange(x, "a b c -> (H: a b) (H: c)"); }, "occurs twice");
}
}  // namespace
}  // namespace bora::contract_test
