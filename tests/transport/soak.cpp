// soak.cpp -- one rank of a soak: bora_transport_soak SECONDS SEED [STALL_MS]. Random collectives over random groups,
// several under way, random stalls of up to 50 ms, every result checked. All ranks draw the same numbers, so all know
// the expected results. Memory must not grow: fails if it does by more than 16 MiB after the first fifth of the time
// (64 rounds at least).
#include <malloc.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>
#include "bora/transport/transport.h"

using namespace bora::transport;
using bora::CollectiveCall, bora::CollectiveKind;
namespace {
using Steady = std::chrono::steady_clock;
/// Bytes of this process in memory that are its own or shared with peers.
long resident() {
  long pages = 0, in_memory = 0;
  std::ifstream("/proc/self/statm") >> pages >> in_memory;
  return in_memory * ::sysconf(_SC_PAGESIZE);
}
/// Element i of rank r's input to collective k: whole numbers, so that sums are exact.
float given(std::uint32_t k, int r, std::int64_t i) {
  return static_cast<float>((static_cast<std::uint32_t>(i) * 31 + k * 7 + static_cast<std::uint32_t>(r) * 3) % 1001);
}

struct UnderWay {
  std::string what;
  std::shared_ptr<void> in, out;
  std::vector<float> expected;
  WorkPtr work;
};
}  // namespace

/// AddressSanitizer keeps freed memory: less of it here than memory may grow by. Other builds do not ask.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=1:thread_local_quarantine_size_kb=16"; }

int main(int argc, char** argv) {
  auto number = [&](int i, double otherwise) { return argc > i ? std::atof(argv[i]) : otherwise; };
  double seconds = number(1, 60);
  auto seed = static_cast<unsigned>(number(2, 1));
  int stall = static_cast<int>(number(3, 50));
  // Freed payloads of this program go back to the system, so that the remaining memory is the library's: in the heap
  // they would leave up to the 70 MiB that are under way at once.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 16);
  try {
    auto c = join(config_from_environment());
    int P = c->size(), me = c->rank();
    // The same on all ranks; this rank's own, for stalls.
    std::mt19937 random(seed), mine(seed * 7919 + static_cast<unsigned>(me));
    auto begin = Steady::now();
    auto elapsed = [&] { return std::chrono::duration<double>(Steady::now() - begin).count(); };
    Group all{.ranks = std::vector<int>(static_cast<std::size_t>(P)), .name = "all"};
    std::iota(all.ranks.begin(), all.ranks.end(), 0);
    std::vector<UnderWay> under_way;
    long first = 0, most = 0;
    std::uint64_t done = 0;
    auto finish = [&](UnderWay& u) {
      u.work->wait();
      auto out = static_cast<const float*>(u.out.get());
      for (std::size_t i = 0; i < u.expected.size(); ++i)
        if (out[i] != u.expected[i])
          return std::printf("%s: element %zu is %g instead of %g\n", u.what.c_str(), i, static_cast<double>(out[i]),
                             static_cast<double>(u.expected[i])),
                 false;
      ++done;
      return true;
    };
    for (std::uint32_t k = 0;; ++k) {
      if (k % 64 == 0) {  // rank 0 says whether to go on
        for (auto& u : under_way)
          if (!finish(u)) return 1;
        under_way.clear();
        std::int32_t more = elapsed() < seconds;
        c->run(all,
               {.kind = CollectiveKind::broadcast, .dtype = bora::i32, .in = &more, .out = &more, .send_counts = {1}});
        if (!more) break;
        auto now = resident();
        if (elapsed() < seconds / 5 || k <= 64) first = std::max(first, now);
        most = std::max(most, now);
      }
      auto g = all;
      if (P > 2 && random() % 3 == 0) {  // some of them, in some order
        std::shuffle(g.ranks.begin(), g.ranks.end(), random);
        g.ranks.resize(2 + random() % static_cast<unsigned>(P - 1));
        g.name = "some";
      }
      constexpr CollectiveKind ops[] = {CollectiveKind::all_reduce,     CollectiveKind::all_gather,
                                        CollectiveKind::reduce_scatter, CollectiveKind::broadcast,
                                        CollectiveKind::all_to_all,     CollectiveKind::permute,
                                        CollectiveKind::gather,         CollectiveKind::scatter};
      auto op = ops[random() % std::size(ops)];
      constexpr std::int64_t sizes[] = {0, 1, 17, 1000, 5000, 70000, 300000};
      auto n = std::min(sizes[random() % std::size(sizes)], 600000 / static_cast<std::int64_t>(g.ranks.size()));
      bool shared = random() % 2, at_once = random() % 4 == 0;
      auto size = static_cast<std::int64_t>(g.ranks.size());
      int root = static_cast<int>(random() % g.ranks.size()), shift = 1 + static_cast<int>(random() % g.ranks.size());
      auto found = std::find(g.ranks.begin(), g.ranks.end(), me);
      if (found == g.ranks.end()) continue;
      if (stall > 0 && mine() % 8 == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(mine() % static_cast<unsigned>(stall + 1)));
      auto p = static_cast<int>(found - g.ranks.begin());
      bool parts = op == CollectiveKind::all_gather || op == CollectiveKind::reduce_scatter ||
                   op == CollectiveKind::all_to_all || op == CollectiveKind::gather || op == CollectiveKind::scatter;
      bool gives_all = op == CollectiveKind::reduce_scatter || op == CollectiveKind::all_to_all ||
                       op == CollectiveKind::scatter,
           gets_all =
               op == CollectiveKind::all_gather || op == CollectiveKind::all_to_all || op == CollectiveKind::gather;
      std::vector<std::int64_t> each(g.ranks.size(), n);
      auto in_count = gives_all ? n * size : n, out_count = gets_all ? n * size : n;
      if ((op == CollectiveKind::gather && p != root)) out_count = 0;
      UnderWay u;
      u.what = std::string(word(op)) + " number " + std::to_string(k) + " of " + std::to_string(n);
      auto buffer = [&](std::int64_t count) {
        auto bytes = static_cast<std::size_t>(count) * 4;
        return shared ? c->allocate(bytes) : std::shared_ptr<void>(new std::byte[bytes + 1], [](void* q) {
          delete[] static_cast<std::byte*>(q);
        });
      };
      u.in = buffer(in_count);
      u.out = buffer(out_count);
      auto in = static_cast<float*>(u.in.get());
      for (std::int64_t i = 0; i < in_count; ++i) in[i] = given(k, me, i);
      CollectiveCall x{.kind = op, .in = u.in.get(), .out = u.out.get(), .root = root};
      if (parts) x.recv_counts = each;
      else x.send_counts = {n};
      if (op == CollectiveKind::all_to_all) x.send_counts = each;
      auto member = [&](int position) { return g.ranks[static_cast<std::size_t>(position)]; };
      int source = static_cast<int>((p + size - shift % size) % size);
      if (op == CollectiveKind::permute) x.source = source, x.target = static_cast<int>((p + shift) % size);
      u.expected.resize(static_cast<std::size_t>(out_count));
      for (std::int64_t i = 0; i < out_count; ++i) {
        float v = 0;
        switch (op) {
          case CollectiveKind::all_reduce:
            for (int r : g.ranks) v += given(k, r, i);
            break;
          case CollectiveKind::reduce_scatter:
            for (int r : g.ranks) v += given(k, r, p * n + i);
            break;
          case CollectiveKind::broadcast: v = given(k, member(root), i); break;
          case CollectiveKind::permute: v = given(k, member(source), i); break;
          case CollectiveKind::scatter: v = given(k, member(root), p * n + i); break;
          case CollectiveKind::all_to_all: v = given(k, member(static_cast<int>(i / n)), p * n + i % n); break;
          default: v = given(k, member(static_cast<int>(i / n)), i % n); break;
        }
        u.expected[static_cast<std::size_t>(i)] = v;
      }
      u.work = c->start(g, x);
      if (at_once) {
        if (!finish(u)) return 1;
      } else {
        under_way.push_back(std::move(u));
      }
      if (under_way.size() > 8) {
        auto i = mine() % under_way.size();
        if (!finish(under_way[i])) return 1;
        under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    std::printf("rank %d: %llu collectives right in %.0f s, %ld MiB in memory, at most %ld\n", me,
                static_cast<unsigned long long>(done), elapsed(), first >> 20, most >> 20);
    if (most > first + (16 << 20)) return std::printf("rank %d: memory grows\n", me), 1;
    c->leave();
    return 0;
  } catch (const bora::Error& e) {
    std::printf("bora: %s\n", e.what());
    return 86;
  }
}
