// tensorboard.cpp -- OUT/tensorboard/: event files that TensorBoard shows. A file is a sequence of TFRecords (length,
// its checksum, bytes, their checksum); a record is an Event of TensorFlow's event.proto, encoded here by hand.
#include <unistd.h>
#include <chrono>
#include <filesystem>
#include "base/api/crc32c.h"
#include "bora/track/tracker.h"
#include "log.h"

namespace bora::track {
namespace {
namespace fs = std::filesystem;
/// A message of protocol buffers; the fields have the numbers of event.proto and summary.proto.
class Message {
 public:
  Message& integer(unsigned field, std::int64_t x) {  // 0 is left out
    return x == 0 ? *this : tag(field, 0).varint(static_cast<std::uint64_t>(x));
  }
  Message& number(unsigned field, double x) { return tag(field, 1).bytes(&x, sizeof x); }
  Message& number(unsigned field, float x) { return tag(field, 5).bytes(&x, sizeof x); }
  Message& text(unsigned field, std::string_view x) { return tag(field, 2).varint(x.size()).bytes(x.data(), x.size()); }
  Message& message(unsigned field, const Message& x) { return text(field, x.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  Message& tag(unsigned field, unsigned kind) { return varint(field << 3 | kind); }
  Message& varint(std::uint64_t x) {
    for (; x >= 128; x >>= 7) bytes_ += static_cast<char>(x | 128);
    bytes_ += static_cast<char>(x);
    return *this;
  }
  Message& bytes(const void* p, std::size_t n) {
    bytes_.append(static_cast<const char*>(p), n);
    return *this;
  }
  std::string bytes_ = {};
};
Message event(std::int64_t step) {
  std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return Message().number(1, now.count()).integer(2, step);
}
std::string record(const Message& m) {
  std::string r;
  auto add = [&](const void* p, std::size_t n) {
    auto crc = crc32c(p, n);
    auto masked = (crc >> 15 | crc << 17) + 0xa282ead8U;
    r.append(static_cast<const char*>(p), n).append(reinterpret_cast<const char*>(&masked), sizeof masked);
  };
  auto size = static_cast<std::uint64_t>(m.bytes().size());
  add(&size, sizeof size);
  add(m.bytes().data(), m.bytes().size());
  return r;
}

constexpr std::string_view kPrefix = "events.out.tfevents.";
/// The path of a new file. TensorBoard reads a folder's files in the order of their names, which begin with a time: the
/// new file comes last, whatever the clock says.
std::string next_file(const std::string& folder) {
  auto time = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  long long seconds = time.count();
  std::error_code error;
  for (auto& file : fs::directory_iterator(folder, error))
    if (auto name = file.path().filename().string(); name.starts_with(kPrefix))
      seconds = std::max(seconds, std::atoll(name.c_str() + kPrefix.size()) + 1);
  char text[32];
  std::snprintf(text, sizeof text, "%010lld.bora", seconds);
  return folder + "/" + std::string(kPrefix) + text;
}

class Events final : public Tracker {
 public:
  /// Each run of the program begins a file. Its START drops all events from that step on from earlier files, where the
  /// bytes stay.
  Events(const std::string& folder, std::int64_t step)
      : folder_(folder),
        log_(next_file(made(folder)),
             record(event(0).text(3, "brain.Event:2")) + record(event(step + 1).message(7, Message().integer(1, 1)))) {}
  bool follow() override {
    ::mkdir(folder_.c_str(), 0777);  // if it was removed meanwhile
    return log_.follow();
  }
  void write(std::int64_t step, const Values& values) override {
    Message summary;
    for (auto& [name, value] : values) summary.message(1, Message().text(1, name).number(2, static_cast<float>(value)));
    log_.write(record(event(step).message(5, summary)));
  }

 private:
  static const std::string& made(const std::string& folder) {
    std::error_code error;
    fs::create_directory(folder, error);
    check<IoError>(!error, "cannot make the folder ", folder, ": ", error.message());
    return folder;
  }
  std::string folder_;
  Log log_;
};
struct TensorBoard {
  static constexpr std::string_view type = "tensorboard", file = "tensorboard";
  std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const {
    return std::make_unique<Events>(folder + "/" + std::string(file), step);
  }
};
}  // namespace
}  // namespace bora::track
template const bool bora::config::added<bora::track::TrackerOf<bora::track::TensorBoard>>;
