// main.cpp -- compare_cases THREADS: the Bora side of perf/compare. Reads commands from stdin, a line each, and answers
// each with a line of JSON: prepare CASE | values CASE VARIANT | run CASE VARIANT N | drop CASE. An error is answered
// with {"error": ".."}. The one variant is "bora".
#include <sys/resource.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include "bora/base/parallel.h"
#include "bora/bora.h"
#include "cases.h"

namespace cases {
using namespace bora;
namespace {
std::uint32_t mix(std::uint32_t seed, std::uint32_t i) {  // murmur3's finalizer
  auto h = i + seed * 0x9e3779b9U;
  h = (h ^ h >> 16) * 0x85ebca6bU;
  h = (h ^ h >> 13) * 0xc2b2ae35U;
  return h ^ h >> 16;
}
template <class T, class F> Array filled(const Shape& shape, const F& f) {
  std::vector<T> v(static_cast<std::size_t>(volume(shape)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = f(static_cast<std::uint32_t>(i));
  return asarray(v, shape);
}
}  // namespace
Array uniform(std::uint32_t seed, const Shape& shape, float scale) {
  return filled<float>(shape, [&](std::uint32_t i) {
    return (static_cast<float>(mix(seed, i) >> 8) * 0x1p-23F - 1) * scale;
  });
}
Array integers(std::uint32_t seed, const Shape& shape, std::uint32_t below) {
  return filled<std::int32_t>(shape, [&](std::uint32_t i) { return static_cast<std::int32_t>(mix(seed, i) % below); });
}
Case compiled(const std::function<Arrays(const Arrays&)>& f, Arrays in) {
  auto call = jit(f);
  auto inputs = std::make_shared<const Arrays>(std::move(in));
  return {[=] { Arrays out = call(*inputs); },
          [=] {
            Values r;
            for (auto& x : call(*inputs)) r.emplace_back("out" + std::to_string(r.size()), digest(x));
            return r;
          }};
}
std::vector<double> digest(const Array& a) {
  auto x = a.astype(f32).concrete();
  auto* p = x.data<float>();
  auto n = x.size();
  double sum = 0, magnitude = 0;
  for (std::int64_t i = 0; i < n; ++i)
    sum += static_cast<double>(p[i]), magnitude += std::abs(static_cast<double>(p[i]));
  std::vector<double> r{sum, magnitude};
  for (std::int64_t k = 0; k < 8; ++k) r.push_back(static_cast<double>(p[k * (n - 1) / 7]));
  return r;
}
}  // namespace cases

namespace {
using namespace cases;
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
long disturbances() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_nivcsw;
}
std::string quoted(const std::string& s) {
  std::string r = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') r += '\\';
    r += c == '\n' ? ' ' : c;
  }
  return r + '"';
}
/// As Python's json module reads it, which has these names for non-finite numbers.
std::string json(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-Infinity" : "Infinity";
  std::ostringstream o;
  o.precision(17);
  o << x;
  return o.str();
}
std::string json(const Values& values) {
  std::ostringstream o;
  o << '{';
  for (std::size_t i = 0; i < values.size(); ++i) {
    o << (i ? ", " : "") << quoted(values[i].first) << ": [";
    for (std::size_t k = 0; k < values[i].second.size(); ++k) o << (k ? ", " : "") << json(values[i].second[k]);
    o << ']';
  }
  o << '}';
  return o.str();
}
std::string answer(const std::string& line, const Cases& all, std::map<std::string, Case>& ready) {
  std::istringstream words(line);
  std::string command, name;
  words >> command >> name;
  std::ostringstream o;
  o.precision(12);
  if (command == "prepare") {
    if (name.starts_with("program:")) {
      ready.emplace(name, program(name.substr(8)));
    } else {
      auto it = all.find(name);
      bora::check<bora::ConfigError>(it != all.end(), "no case ", name);
      ready.emplace(name, it->second());
    }
    o << "{\"variants\": [\"bora\"]}";
  } else if (command == "values") {
    o << json(ready.at(name).values());
  } else if (command == "run") {
    std::string variant;
    long n = 1;
    words >> variant >> n;
    auto& run = ready.at(name).run;
    auto cpu = cpu_seconds();
    auto switches = disturbances();
    auto begin = std::chrono::steady_clock::now();
    for (long i = 0; i < n; ++i) run();
    std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    o << "{\"seconds\": " << wall.count() / static_cast<double>(n)
      << ", \"cpu\": " << (cpu_seconds() - cpu) / static_cast<double>(n)
      << ", \"switches\": " << disturbances() - switches << "}";
  } else if (command == "drop") {
    ready.erase(name);
    o << "{}";
  } else bora::fail<bora::ConfigError>("no command ", command);
  return o.str();
}
}  // namespace

int main(int argc, char** argv) {
  bora::set_thread_count(argc > 1 ? std::stoi(argv[1]) : 0);
  Cases all;
  add_kernels(all);
  add_moves(all);
  add_overheads(all);
  add_training(all);
  add_pretrained(all);
  add_tokens(all);
  add_science(all);
  add_networks(all);
  add_limits(all);
  add_data(all);
  std::map<std::string, Case> ready;
  for (std::string line; std::getline(std::cin, line);) {
    std::string reply;
    try {
      reply = answer(line, all, ready);
    } catch (const std::exception& e) { reply = "{\"error\": " + quoted(e.what()) + "}"; }
    std::cout << reply << std::endl;
  }
}
