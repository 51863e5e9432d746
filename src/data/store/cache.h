// cache.h -- the documents of a source: encoded into memory, or into a folder where later runs find them.
//   CACHE/NAME-HASH/     the hash of all that decides the documents: files, tokenizer, task
//     plan.json          what the documents are made from
//     00003-00001.docs   unit 3, chunk 1; each is written whole, so that a build that was killed goes on behind it
//     00003.sums         CRC-32C of the unit's files
//     done.json          chunks of each unit: the folder is complete
#pragma once
#include "bora/data/data.h"
#include "data/store/encode.h"

namespace bora::data {
/// Documents to be made.
struct Making {
  Recipe recipe = {};
  std::string name = {};      // of the source, in messages: its path
  std::string identity = {};  // all that decides the documents besides the files
};
/// Throws ConfigError if ranks have different files: by their names, sizes and samples. Returns these as text. All
/// ranks call it.
std::string check_same_files(const std::string& name, const std::vector<SourceFile>&, const Crew&,
                             const std::string& identity = {});
/// How many ranks of the crew are on this one's host: all of them take memory there. All ranks call it.
std::int64_t ranks_here(const Crew&);
/// Throws ConfigError that names the cache if there is too little memory on this host or in this process's cgroup for
/// `more` bytes, beside `held` bytes of tokens that have no cache.
void check_memory(const std::string& name, std::int64_t held, std::int64_t more);
/// The files and what is made of them as a line, the same on all hosts that have the same.
std::string print_line(const std::vector<SourceFile>&, const std::string& identity = {});
/// The documents, the same for any number of ranks and threads. cache: a folder, or empty: memory. All ranks call it;
/// those that see the same folder share the work. Throws as check_same_files does, the errors of records,
/// IoError.
std::shared_ptr<const Store> open_store(const Making&, const std::string& cache, const Crew&);
}  // namespace bora::data
