// Seconds for the texts of a file, without tokens: data_read FIELD ROUNDS FILE...
// Reads each file's records and the text of a field, one file after another, ROUNDS times, with one thread. Prints for
// each the bytes of text, the best round's seconds and MB of text a second.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include "bora/base/error.h"
#include "data/api/records.h"

using namespace bora;
using namespace bora::data;
int main(int argc, char** argv) try {
  check<Error>(argc >= 4, "data_read FIELD ROUNDS FILE...");
  std::vector<double> best(static_cast<std::size_t>(argc), 1e9);
  for (int round = 0; round < std::atoi(argv[2]); ++round)
    for (int i = 3; i < argc; ++i) {
      auto begin = std::chrono::steady_clock::now();
      RecordReader reader(file_at(argv[i]), format_of(argv[i]).value_or(Format::text), {}, {}, {.columns = {argv[1]}});
      double bytes = 0;
      for (Raw raw; reader.next(raw);)
        bytes += static_cast<double>(Record(*reader.layout(), raw).text(argv[1]).size());
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      auto& least = best[static_cast<std::size_t>(i)];
      least = std::min(least, seconds.count());
      if (round + 1 == std::atoi(argv[2]))
        std::printf("%12.0f bytes %8.3f s %8.1f MB/s  %s\n", bytes, least, 1e-6 * bytes / least, argv[i]);
    }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
