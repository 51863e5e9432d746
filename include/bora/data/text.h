// text.h -- text files as two streams of bytes: training and held out. Only an index is kept; bytes are read on demand.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bora::data {
/// Throws as open_text would, without reading the text.
void check_text(const std::string& path, double hold_out, std::int64_t window);

/// Documents of some files, one after another, as one ring of bytes. Cheap to copy; reading is safe from any thread.
class Stream {
 public:
  /// Bytes that follow each other in a file. What comes behind them in the stream follows elsewhere.
  struct Piece {
    std::int64_t start;         // in the stream
    std::int64_t file, offset;  // in the files
    std::int64_t bytes = 0;
    bool line = false;  // they end with a line feed
  };
  Stream() = default;
  Stream(std::shared_ptr<const std::vector<std::string>> files, std::vector<Piece> pieces, std::int64_t bytes)
      : files_(std::move(files)),
        pieces_(std::make_shared<const std::vector<Piece>>(std::move(pieces))),
        bytes_(bytes) {}
  std::int64_t size() const { return bytes_; }
  /// n bytes from `begin` (any number >= 0); after its end the stream starts again. Throws IoError, also if a file has
  /// become shorter since it was indexed.
  void read(std::int64_t begin, std::int64_t n, std::uint8_t* out) const;
  std::span<const Piece> pieces() const {
    return pieces_ ? std::span<const Piece>(*pieces_) : std::span<const Piece>();
  }
  /// The name of a piece's file.
  const std::string& path(const Piece& p) const { return (*files_)[static_cast<std::size_t>(p.file)]; }

 private:
  std::shared_ptr<const std::vector<std::string>> files_;
  std::shared_ptr<const std::vector<Piece>> pieces_;
  std::int64_t bytes_ = 0;
};

struct Text {  // of open_text: for training, and for evaluation
  Stream train, held_out;
  std::int64_t documents = 0, held_out_documents = 0;
  bool recut = false;  // a line is so long that earlier versions may have cut it elsewhere
};
/// The text below `path`: a file, or a folder with its subfolders, files ordered by name; hidden files and the index
/// files of fortune (.dat, .u8) are left out. In a file with lines of '%' a document is an entry between such lines
/// (the line ends its document); any other file is a document, cut at paragraphs if it is long. Every 1/hold_out-th
/// document is held out, so evaluation sees all parts of the text and no sentence of training. If that misses hold_out
/// by more than a third, because documents are few or uneven, the text is cut further: at paragraphs, at lines, at
/// blanks; where none is near (1 KiB), at last between characters of UTF-8. Each byte is in one of the streams, which
/// have at least `window` bytes each if a cut between characters allows it; with hold_out = 0 that for evaluation is
/// empty. The same files always give the same streams. Throws ConfigError if there is no such path, it cannot be read,
/// or it holds less than two windows (one, with hold_out = 0).
Text open_text(const std::string& path, double hold_out, std::int64_t window = 0);
}  // namespace bora::data
