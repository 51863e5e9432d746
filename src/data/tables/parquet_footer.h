// parquet_footer.h -- what a Parquet file says of itself behind its rows: columns, and where their pieces are.
#pragma once
#include "base/api/file.h"
#include "data/api/records.h"
#include "data/tables/column.h"

namespace bora::data::tables {
enum class Physical : std::uint8_t { boolean, int32, int64, int96, float32, float64, bytes, fixed };
enum class Codec : std::uint8_t { none, snappy, gzip, lzo, brotli, lz4, zstd, lz4_raw };
/// A column as it is stored: values without structure. Levels say where in lists and records each belongs (Melnik et
/// al. 2010, Dremel, section 4.1): repetition, which list goes on; definition, how much of the path is there.
struct Leaf {
  std::string path = {};  // "messages.list.element.role"
  Physical physical = Physical::int32;
  bool natural = false;       // the integers have no sign
  int most_def = 0, most_rep = 0;
};
/// How the values of a Type come from levels.
struct Levels {
  int def = 0;   // from which on a value is not null
  int rep = 0;   // of the lists around it
  int slot = 0;  // the definition level from which on there is a value, if only null: of the lists around it
  int element_def = 0;  // of a list: the level from which on it has an element
  std::size_t leaf = 0;  // of a value without parts: its number
  std::vector<Levels> children = {};
};
/// A leaf's values in a row group.
struct Piece {
  Codec codec = Codec::none;
  std::int64_t start = 0, bytes = 0, values = 0, unpacked = 0;
};
struct RowGroup {
  std::int64_t first = 0, rows = 0;  // first: of the file's rows
  std::vector<Piece> pieces = {};    // by leaf
};
struct Footer {
  std::vector<Type> columns = {};
  std::vector<Levels> levels = {};  // of the columns
  std::vector<Leaf> leaves = {};
  std::vector<RowGroup> groups = {};  // with rows
  std::int64_t rows = 0;
};
/// Throws IoError "PATH: ..", ConfigError for a file that is encrypted or refers to others.
Footer read_footer(const SourceFile&, const File&);
/// The name of a codec, an encoding or a physical type by its number, for messages.
std::string codec_name(std::int64_t);
std::string encoding_name(std::int64_t);
}  // namespace bora::data::tables
