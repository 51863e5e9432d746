// npy.h -- NumPy's files: .npy (one array) and .npz (several named arrays).
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>
#include "bora/array/array.h"

namespace bora {
/// Writes x as a .npy file (format 1.0, row-major). bf16 is written as its bits, '<u2' ('uint16'), since NumPy has no
/// name for it, and f8_e4m3fn as '|u1'. Throws IoError; DtypeError for keys; TraceError inside transforms. A sharded
/// array is gathered: every rank must call it, rank 0 writes the file, which is whole when they return, and an error
/// of it is one of all ranks. Other arrays are written by the rank that calls it.
void save_npy(const std::filesystem::path& file, const Array& x);
// The array in a .npy file: bool, integers, f16, f32, f64, complex numbers; '<u2' and '|u1' as bits if `dtype` has
// these; big-endian numbers too. Fortran order is converted.
// Throws IoError for a damaged file and DtypeError for elements without a dtype here.
struct LoadNpyOptions {
  std::optional<Dtype> dtype = none;  // convert to this; bf16 reads '<u2' as bits, f8_e4m3fn '|u1'
};
Array load_npy(const std::filesystem::path& file, const LoadNpyOptions& options = {});
struct LoadNpzOptions {                // of load_npz
  std::optional<Dtype> dtype = none;   // as in LoadNpy
  std::vector<std::string> only = {};  // names; empty: all readable arrays
};
/// The arrays of a .npz file by name, as numpy.savez and numpy.savez_compressed write it. Entries without a dtype here
/// (strings, records, complex numbers) are left out; DtypeError if `only` names one, or if there is no other entry.
/// Throws IoError for damage and for a missing name.
std::map<std::string, Array> load_npz(const std::filesystem::path& file, const LoadNpzOptions& options = {});
/// As save_npy; if one array is sharded, every rank must call it with the same names.
void save_npz(const std::filesystem::path& file, const std::map<std::string, Array>& arrays);
}  // namespace bora
