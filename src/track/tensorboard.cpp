// tensorboard.cpp -- OUT/tensorboard/: event files that TensorBoard shows. A file is a sequence of TFRecords (length,
// its checksum, bytes, their checksum); a record is an Event of TensorFlow's event.proto, encoded here by hand.
#include <unistd.h>
#include <chrono>
#include <filesystem>
#include <set>
#include "base/api/crc32c.h"
#include "bora/base/text.h"
#include "bora/config/document.h"
#include "bora/track/tracker.h"
#include "log.h"

namespace bora::track {
namespace {
namespace fs = std::filesystem;
/// A message of protocol buffers; the fields have the numbers of event.proto and summary.proto.
class Message {
 public:
  enum class Zero { left_out, kept };
  Message& integer(unsigned field, std::int64_t x, Zero zero = Zero::left_out) {
    return x == 0 && zero == Zero::left_out ? *this : tag(field, 0).varint(static_cast<std::uint64_t>(x));
  }
  Message& number(unsigned field, double x) { return tag(field, 1).bytes(&x, sizeof x); }
  Message& number(unsigned field, float x) { return tag(field, 5).bytes(&x, sizeof x); }
  Message& numbers(unsigned field, const std::vector<double>& x) {
    return tag(field, 2).varint(x.size() * sizeof(double)).bytes(x.data(), x.size() * sizeof(double));
  }
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
double seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
Message event_of(std::int64_t step) { return Message().number(1, seconds()).integer(2, step); }
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

/// A summary's value for a plugin, which the first one of a tag in a file names.
Message plugin_value(const std::string& tag, const Message& tensor, const Message& plugin) {
  return Message().text(1, tag).message(8, tensor).message(9, plugin);
}
/// One text, in Markdown.
Message text_tensor(const std::string& words) {
  auto shape = Message().message(2, Message().integer(1, 1));
  return Message().integer(1, 7).message(2, shape).text(8, words);  // 7: strings
}
/// What the hyperparameters' plugin reads: content without a number.
Message hparams_value(const std::string& tag, const Message& content) {
  auto none = Message().integer(1, 1).message(2, Message().message(2, Message()));  // f32 of shape [0]
  auto plugin = Message().text(1, "hparams").message(2, content);
  return plugin_value("_hparams_/" + tag, none, Message().message(1, plugin));
}
/// The scalars of a document by their keys, as entries of a map from texts to google.protobuf.Value.
void add_settings(Message& to, const std::string& key, const config::Document& d) {
  using Form = config::Document::Form;
  auto below = key.empty() ? key : key + ".";
  for (auto& [name, member] : d.members) add_settings(to, below + name, member);
  for (std::size_t i = 0; i < d.items.size(); ++i) add_settings(to, below + std::to_string(i), d.items[i]);
  if (d.form != Form::scalar) return;
  Message value;
  auto number = d.quoted ? std::nullopt : parse_as<double>(d.text);
  bool flag = !d.quoted && (d.text == "true" || d.text == "false");
  if (flag) value.integer(4, d.text == "true", Message::Zero::kept);
  else if (number) value.number(2, *number);
  else value.text(3, d.text);
  to.message(1, Message().text(1, key).message(2, value));
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
        first_(step + 1),
        log_(next_file(made(folder)), record(event_of(0).text(3, "brain.Event:2")) +
                                          record(event_of(first_).message(7, Message().integer(1, 1)))) {}
  bool follow() override {
    ::mkdir(folder_.c_str(), 0777);  // if it was removed meanwhile
    return log_.follow();
  }
  std::size_t waiting() const override { return log_.waiting(); }
  void flush() override { log_.flush(); }
  void event(std::int64_t step, double time, const std::string& kind, const std::string& words) override {
    write(Message().number(1, time).integer(2, step), text("event/" + kind, words));
  }
  void settings(const std::string& yaml) override {
    Message start;
    add_settings(start, "", config::parse_yaml(yaml, "the settings"));
    auto now = event_of(first_);
    start.number(5, seconds());
    write(now, hparams_value("session_start_info", Message().message(3, start)));
    write(now, text("settings", "```yaml\n" + yaml + "```\n"));
  }
  void finish() override {
    auto end = Message().integer(1, 1).number(2, seconds());  // 1: all went well
    write(event_of(0), hparams_value("session_end_info", Message().message(4, end)));
  }
  void histogram(std::int64_t step, const std::string& name, const Histogram& h) override {
    Message m;
    m.number(1, h.least).number(2, h.most).number(3, h.count).number(4, h.sum).number(5, h.squares);
    m.numbers(6, h.limits).numbers(7, h.counts);
    write(event_of(step), Message().text(1, name).message(5, m));
  }
  void write(std::int64_t step, const Values& values) override {
    Message summary;
    for (auto& [name, value] : values) summary.message(1, Message().text(1, name).number(2, static_cast<float>(value)));
    log_.write(record(event_of(step).message(5, summary)));
  }

 private:
  void write(Message event, const Message& value) {
    log_.write(record(event.message(5, Message().message(1, value))));
  }
  Message text(const std::string& tag, const std::string& words) {
    bool first = texts_.insert(tag).second;
    auto name = tag + "/text_summary";
    auto tensor = text_tensor(words);
    if (!first) return Message().text(1, name).message(8, tensor);
    auto plugin = Message().message(1, Message().text(1, "text")).integer(4, 2);  // 2: a tensor
    return plugin_value(name, tensor, plugin);
  }
  static const std::string& made(const std::string& folder) {
    std::error_code error;
    fs::create_directory(folder, error);
    check<IoError>(!error, "cannot make the folder ", folder, ": ", error.message());
    return folder;
  }
  std::string folder_;
  std::int64_t first_;  // step
  Log log_;
  std::set<std::string> texts_ = {};  // whose plugin the file has named
};
struct TensorBoard {
  static constexpr std::string_view type = "tensorboard", file = "tensorboard";
  static constexpr bool histograms = true;
  std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const {
    return std::make_unique<Events>(folder + "/" + std::string(file), step);
  }
};
}  // namespace
}  // namespace bora::track
template const bool bora::config::added<bora::track::TrackerOf<bora::track::TensorBoard>>;
