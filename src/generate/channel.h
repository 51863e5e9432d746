// channel.h -- rank 0 tells the other ranks of a mesh the work of each step. They decide nothing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "bora/models/stepper.h"

namespace bora {
class Mesh;
}  // namespace bora
namespace bora::generate::engine {
struct Message {
  enum class Kind : std::int32_t { step, read, forget, idle, exchange, end };
  Kind kind = Kind::idle;
  models::Step step = {};
  std::vector<std::int32_t> inputs = {};  // of read; of forget: the number; of exchange: bytes
};
/// The numbers of a message. Rows are written as differences from those of `before`, the last step that was sent, so
/// that the many pages of a long text are sent once.
std::vector<std::int32_t> encode(const Message&, const models::Step& before);
/// Throws ValueError for numbers that encode() does not write.
Message decode(const std::vector<std::int32_t>&, const models::Step& before);

/// Messages of rank 0 to all others, on the thread that issues the mesh's collectives. One message is one broadcast;
/// what does not fit into its first kBytes goes in a second one.
class Channel {
 public:
  static constexpr std::int64_t kNumbers = 1024;
  explicit Channel(const Mesh& mesh) : mesh_(mesh) {}
  void send(const Message&);
  Message receive();

 private:
  void broadcast(std::vector<std::int32_t>&);
  const Mesh& mesh_;
  models::Step last_ = {};
};
}  // namespace bora::generate::engine
