// The same measurement with Gloo over tcp (package libgloo-dev; compiled by perf/transport/compare): for all_reduce the
// best of its five algorithms. Meets at files in the folder $STORE; listens on the network interface $IFACE.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>
#include <cstdio>
#include <functional>
#include "loop.h"

namespace {
template <class F> void fold(void* to, const void* a, const void* b, std::size_t n, F f) {
  using T = decltype(f(0, 0));
  for (std::size_t i = 0; i < n; ++i)
    static_cast<T*>(to)[i] = f(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i]);
}
void add(void* to, const void* a, const void* b, std::size_t n) {
  fold(to, a, b, n, [](float x, float y) { return x + y; });
}
void largest(void* to, const void* a, const void* b, std::size_t n) {
  fold(to, a, b, n, [](double x, double y) { return std::max(x, y); });
}
}  // namespace

int main(int argc, char** argv) {
  int rank = std::atoi(std::getenv("BORA_RANK")), size = std::atoi(std::getenv("BORA_SIZE"));
  gloo::transport::tcp::attr where;
  where.iface = std::getenv("IFACE");
  gloo::rendezvous::FileStore store(std::getenv("STORE"));
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  auto device = gloo::transport::tcp::CreateDevice(where);
  context->connectFullMesh(store, device);
  auto barrier = [&] {
    gloo::BarrierOptions o(context);
    o.setTag(1);
    gloo::barrier(o);
  };
  auto most = [&](double mine) {
    double all = 0;
    gloo::AllreduceOptions o(context);
    o.setInput(&mine, 1), o.setOutput(&all, 1), o.setReduceFunction(largest), o.setTag(2);
    gloo::allreduce(o);
    return all;
  };
  Asked asked(argc, argv);
  for (auto& op : asked.ops)
    for (long bytes : asked.sizes) {
      auto n = static_cast<std::size_t>(bytes / 4), part = n / static_cast<std::size_t>(size);
      std::vector<float> in(n), out(n);
      std::vector<float*> pointers{out.data()};
      std::vector<std::function<void()>> ways;
      using All = gloo::AllreduceOptions::Algorithm;
      auto modern = [&](All algorithm) {
        return [&, algorithm] {
          gloo::AllreduceOptions o(context);
          o.setAlgorithm(algorithm), o.setInput(in.data(), n), o.setOutput(out.data(), n), o.setReduceFunction(add),
              o.setTag(3);
          gloo::allreduce(o);
        };
      };
      auto classic = [](auto algorithm) { return [algorithm] { algorithm->run(); }; };
      int count = static_cast<int>(n);
      if (op == "all_reduce")
        ways = {modern(All::RING), modern(All::BCUBE),
                classic(std::make_shared<gloo::AllreduceRingChunked<float>>(context, pointers, count)),
                classic(std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, pointers, count)),
                classic(std::make_shared<gloo::AllreduceBcube<float>>(context, pointers, count))};
      if (op == "reduce_scatter")
        ways = {classic(std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
            context, pointers, count, std::vector<int>(static_cast<std::size_t>(size), static_cast<int>(part))))};
      if (op == "all_gather")
        ways = {[&] {
          gloo::AllgatherOptions o(context);
          o.setInput(in.data(), part), o.setOutput(out.data(), part * static_cast<std::size_t>(size)), o.setTag(4);
          gloo::allgather(o);
        }};
      if (op == "broadcast")
        ways = {[&] {
          gloo::BroadcastOptions o(context);
          o.setOutput(out.data(), n), o.setRoot(0), o.setTag(5);
          gloo::broadcast(o);
        }};
      std::vector<double> tried;  // the same numbers on every rank
      for (auto& once : ways) tried.push_back(seconds(1, once, barrier, most));
      auto best = static_cast<std::size_t>(std::min_element(tried.begin(), tried.end()) - tried.begin());
      double s = seconds(asked.repetitions, ways[best], barrier, most);
      if (rank == 0) std::printf("%s %ld %.9f\n", op.c_str(), bytes, s);
    }
  barrier();
  std::fflush(stdout);
  _exit(0);  // its connections complain about each other's ends
}
