// cases.h -- what perf/compare measures, written with the public API as a user would write it.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include "bora/array/array.h"

namespace cases {
/// Numbers that a peer must come to as well, by name; perf/compare compares the names that both sides have.
using Values = std::vector<std::pair<std::string, std::vector<double>>>;
struct Case {
  std::function<void()> run;       // once, until its results are there
  std::function<Values()> values;  // from the same inputs every time
};
/// By name: makes inputs and whatever is kept between runs.
using Cases = std::map<std::string, std::function<Case()>>;
void add_kernels(Cases&);
void add_moves(Cases&);
void add_overheads(Cases&);
void add_tokens(Cases&);
void add_training(Cases&);
void add_pretrained(Cases&);
void add_science(Cases&);
void add_networks(Cases&);
void add_limits(Cases&);
void add_data(Cases&);

/// The case that perf/race wrote as one word, "program:..": see programs.cpp.
Case program(const std::string& text);
/// f compiled, on fixed inputs. Digests of its results, out0, out1, .., must agree.
Case compiled(const std::function<bora::Arrays(const bora::Arrays&)>& f, bora::Arrays in);
/// Uniform in [-scale, scale): a hash of seed and position, which perf/peers/common.py repeats.
bora::Array uniform(std::uint32_t seed, const bora::Shape&, float scale = 1);
/// Integers in [0, below), i32.
bora::Array integers(std::uint32_t seed, const bora::Shape&, std::uint32_t below);
/// Sum, sum of magnitudes and eight elements.
std::vector<double> digest(const bora::Array&);
}  // namespace cases
