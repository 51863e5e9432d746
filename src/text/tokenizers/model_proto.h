// model_proto.h -- the parts of SentencePiece's .model, a protocol buffer, that say whether and how it can be used.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
struct ModelProto {
  enum Type { normal = 1, unknown, control, user_defined, unused, byte };
  struct Piece {
    std::string text;
    int type = normal;
  };
  std::vector<Piece> pieces;
  std::string unknown_surface = " \u2047 ";  // the text of the unknown piece
  bool strips_first = true;                  // whether the first space of a text is none of the text
  bool strips_all = true;                    // whether all first ones are none
};
/// Throws IoError "FILE: ..." for broken files, for what is not supported, and for what libsentencepiece would believe
/// without a look: its searches leave a broken table.
ModelProto parse_model(std::string_view bytes, const std::string& file);
}  // namespace bora::text
