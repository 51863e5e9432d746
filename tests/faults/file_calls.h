// file_calls.h -- the calls of this program that look at or change files below a folder: recorded, failed at the n-th,
// or the process's end. The functions stand in file_calls.cpp, in front of those of the C library.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bora::faults {
enum class What : std::uint8_t { open, write, resize, sync, close, rename, exchange, remove, make_folder, link, other,
                                 mark };
/// A call that succeeded. Paths are absolute.
struct FileCall {
  What what = What::other;
  std::string path = {}, to = {};
  std::int64_t offset = 0;            // of a write; the size of resize, which never shrinks if `grows`
  std::string bytes = {};
  bool makes = false, cuts = false, grows = false;
  int value = 0;                      // of a mark
};
struct Watch {
  std::string below;                  // this folder, and what is in it
  int fails = 0, error = 0;           // the n-th call from now on fails
  int ends = 0;                       // in front of the n-th call the process gets SIGKILL
  bool no_exchange = false;           // the file system has no RENAME_EXCHANGE
  bool loses_answers = false;         // renames are carried out, and fail with ENOENT
  bool records = false;
};
/// From now on, in this process.
void watch(const Watch&);
void watch_nothing();
/// Calls since watch().
int watched();
std::vector<FileCall> recorded();
/// A moment of the record.
void mark(int value);
}  // namespace bora::faults
