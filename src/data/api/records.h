// records.h -- the files of a corpus and the records in them: text, JSON lines, CSV, each as it is, .gz or .zst;
// tables; ids. Reading is sequential and of bounded memory; a reader can begin at the position where another one
// stopped.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bora::data {
struct SourceFile {
  std::string path;
  std::int64_t bytes = 0, modified = 0;  // as stored; nanoseconds
};
/// The files of a pattern, sorted by name: a file; a folder with its subfolders (hidden files and the index files of
/// fortune, .dat and .u8, are left out); or a glob of * ? [..] ** {a,b}, each alternative of which has a file. Throws
/// ConfigError "data: ..".
std::vector<SourceFile> find_files(const std::string& pattern);
/// One file as it is now. Throws ConfigError "data: ..".
SourceFile file_at(const std::string& path);
/// find_files; a file of a kind that no reader here knows (archives, other compressions) is an error as well.
std::vector<SourceFile> list_files(const std::string& pattern);
/// A hash of the file's size and of samples: its first and last 64 KiB, and 16 pieces of 4 KiB between. Throws IoError.
std::uint64_t sample_hash(const SourceFile& file);
/// CRC-32C of all stored bytes. Throws IoError.
std::uint32_t whole_crc(const SourceFile& file);

/// The bytes of a file, decompressed if its name ends with .gz or .zst. What a file gained since it was listed is not
/// read. Throws IoError "PATH: .." if it lost bytes, or if its compressed data is corrupt or ends too early.
class ByteReader {
 public:
  explicit ByteReader(const SourceFile& file);
  ~ByteReader();
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;
  /// The next n bytes; fewer only at the end.
  std::size_t read(char* out, std::size_t n);
  /// Leaves out n bytes, which must be there.
  void skip(std::int64_t n);
  /// CRC-32C of all stored bytes, once all of them were read.
  std::optional<std::uint32_t> stored_crc() const;
  struct Bytes;

 private:
  std::unique_ptr<Bytes> bytes_;
};

/// ids: numbers of tokens, .bin or .npy.
enum class Format { text, jsonl, csv, parquet, arrow, ids };
/// That of a file's name: .jsonl, .csv (perhaps with .gz or .zst behind), .parquet, .pq, .arrow, .feather, .bin or
/// .npy.
std::optional<Format> format_of(std::string_view path);
/// One record as it is in the file: a line of JSON, a row of CSV (without the end of its line), a document. Of a table,
/// the values of the row; of ids, those of a document.
struct Raw {
  std::string bytes = {};
  std::int64_t line = 0;  // at which it begins
};
/// A place between records: bytes of the decompressed file before it, and the number of the line that begins or goes on
/// there. Of a table, the number of the row, and its share of the file's bytes.
struct Position {
  std::int64_t offset = 0, line = 1;
  friend bool operator==(const Position&, const Position&) = default;
};
/// Bytes: the most of a record (of more, it is malformed); the most of a document of text (of more, it is cut at the
/// last paragraph, else line, else blank of its second half, else at a character); of one reading.
struct Limits {
  std::int64_t record = 64 << 20, document = 1 << 20, block = 256 << 10;
};
/// What is read of a file that has more. Files of lines are read whole.
struct Selection {
  std::vector<std::string> columns = {};  // of a table; empty: all
  std::optional<std::int32_t> end = {};   // of ids: the one that ends a document
  bool wide = false;                      // of .bin without a header: ids have four bytes, not two
};
/// Path, format and header, common to all records of a file. Threads may share it.
struct Layout {
  std::string path = {};
  Format format = Format::text;
  std::vector<std::string> header = {};  // of CSV and tables
  std::vector<std::pair<std::string, std::string>> others = {};  // columns that are not read, and perhaps why
};

/// The records of a file, in order.
///   text: a document is the file, or what lies between its lines of '%' if it has some, without the end of the line
///     before such a line; empty documents are left out.
///   jsonl: each line that is not blank.
///   csv: each row behind the header (RFC 4180; a quote inside an unquoted field is itself); empty lines are left out.
///   parquet, arrow: each row. What cannot be read of them is an IoError that names the column.
///   ids: a document is what lies up to an id that ends it, or a row of a .npy of two dimensions.
/// A byte-order mark at the file's begin is no part of it; lines end with LF or CRLF.
class RecordReader {
 public:
  /// Throws ConfigError for a malformed header, or what is not read of a table.
  RecordReader(const SourceFile& file, Format format, Position from = {}, Limits limits = {},
               const Selection& selection = {});
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  /// False at the end. Throws ConfigError "FILE:LINE: .." for a record that is too long, or a row whose quotes do not
  /// fit; it ends with the line in which that shows, and the next call gives the record behind. IoError is final.
  bool next(Raw& raw);
  /// Behind the last record, also if that was malformed.
  Position position() const;
  std::shared_ptr<const Layout> layout() const;
  /// CRC-32C of the file's stored bytes, once this reader has read all of them.
  std::optional<std::uint32_t> stored_crc() const;
  struct State;

 private:
  std::unique_ptr<State> state_;
};

/// Role and content.
using Turn = std::pair<std::string, std::string>;
/// A piece of another text.
struct Answer {
  std::string text = {};
  std::int64_t start = 0;  // characters of that text before it
};
/// What becomes of text that is not UTF-8, and of an escaped half of a surrogate pair, which no UTF-8 stands for.
/// Without a rule it is an error.
struct TextRule {
  bool replace = false;  // U+FFFD takes its place: one for each maximal part, as Unicode recommends
  bool bytes = false;    // bytes of a document or of CSV stay as they are; JSON is UTF-8 by its standard
  const char* advice = "";  // the end of the error
};
/// The fields of one record; it refers to its layout and raw bytes, which must outlive it. Every error is a ConfigError
/// "FILE:LINE: ..".
class Record {
 public:
  /// Throws if it is no JSON object, or a row with another number of fields than the header.
  Record(const Layout& layout, const Raw& raw, TextRule rule = {});
  /// Whether there is such a field, and it is not null.
  bool has(std::string_view field) const;
  /// A string of JSON, or a field of CSV. The one field of a document is "text". Throws if it is not UTF-8, unless the
  /// rule allows it.
  std::string text(std::string_view field) const;
  double number(std::string_view field) const;
  /// A text, or a number or truth value as it is written.
  std::string word(std::string_view field) const;
  /// Those of a list. A field of CSV holds the list as text.
  std::vector<std::string> words(std::string_view field) const;
  /// The numbers of a list of JSON, where true is 1; or ids.
  std::vector<double> numbers(std::string_view field) const;
  /// A JSON list of objects of role and content, or of from and value (where human is user, and gpt is assistant). A
  /// field of CSV holds the list as text.
  std::vector<Turn> turns(std::string_view field) const;
  /// The answers to a question as SQuAD has them, perhaps none: an object with a list of texts, `text`, and one of
  /// their places, `answer_start`; or a list of objects with one of each. A field of CSV holds either as text.
  std::vector<Answer> answers(std::string_view field) const;
  /// Throws ConfigError "FILE:LINE: PROBLEM".
  [[noreturn]] void failed(const std::string& problem) const;

 private:
  enum class Form : std::uint8_t { plain, csv, json, ids };
  struct Member {
    std::string_view name, value;  // as in the file
    Form form = Form::plain;
  };
  [[noreturn]] void broken(std::string_view problem, std::size_t at) const;
  std::string text_of(const Member& member) const;
  /// A value of JSON: a text, else a number or truth value as it is written. `what`: its name in errors.
  template <class What> std::string word_of(std::string_view value, const What& what) const;
  /// A text of a table, in which no number or list is looked for: it is as a string of JSON.
  bool is_text(const Member& member) const;
  /// The text, by the rule; half: it had an escaped half of a surrogate pair. `what`: its name in errors.
  template <class What> std::string by_rule(std::string text, bool half, const What& what) const;
  /// What a string of JSON stands for.
  template <class What> std::string inner(std::string_view string, const What& what) const;
  const Member* find(std::string_view field) const;
  const Member& at(std::string_view field) const;
  const Layout* layout_;
  const Raw* raw_;
  TextRule rule_;
  std::vector<Member> members_;
};
}  // namespace bora::data
