#include "power_loss.h"
#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include "support/files.h"

namespace bora::faults {
namespace fs = std::filesystem;
Disk::Disk(const std::string& folder) : top_(folder) { fill(folder); }
int Disk::fill(const std::string& path) {
  auto node = static_cast<int>(nodes_.size());
  nodes_.push_back({.folder = fs::is_directory(path)});
  if (!nodes_.back().folder) {
    nodes_.back().bytes = test::slurp(path);
    return node;
  }
  for (auto& entry : fs::directory_iterator(path)) {
    auto below = fill(entry.path().string());
    auto& names = nodes_[static_cast<std::size_t>(node)].names;
    names[entry.path().filename().string()] = below;
    nodes_[static_cast<std::size_t>(node)].durable = names;
  }
  return node;
}
int Disk::find(const std::string& path) const {
  int node = 0;
  auto below = path.substr(std::min(path.size(), top_.size() + 1));
  for (std::size_t at = 0; at < below.size() && node >= 0;) {
    auto end = std::min(below.find('/', at), below.size());
    auto name = below.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    auto& names = nodes_[static_cast<std::size_t>(node)].names;
    auto found = names.find(name);
    node = found == names.end() ? -1 : found->second;
  }
  return node;
}
std::pair<int, std::string> Disk::place(const std::string& path) const {
  auto slash = path.find_last_of('/');
  auto folder = find(path.substr(0, slash));
  if (folder < 0) throw std::logic_error("power loss: no folder of " + path);
  return {folder, path.substr(slash + 1)};
}
void Disk::change(const std::vector<Edit>& edits) {
  Change c{edits, {}};
  for (auto& e : edits) {
    auto& names = nodes_[static_cast<std::size_t>(e.folder)].names;
    if (e.node < 0) names.erase(e.name);
    else names[e.name] = e.node;
    if (std::find(c.unsynced.begin(), c.unsynced.end(), e.folder) == c.unsynced.end()) c.unsynced.push_back(e.folder);
  }
  names_.push_back(c);
}
void Disk::write(std::string& bytes, const Write& w) {
  auto end = static_cast<std::size_t>(w.offset) + w.bytes.size();
  if (w.resizes) {
    if (!w.grows || bytes.size() < end) bytes.resize(end, '\0');
    return;
  }
  if (bytes.size() < end) bytes.resize(end, '\0');
  bytes.replace(static_cast<std::size_t>(w.offset), w.bytes.size(), w.bytes);
}
void Disk::apply(const FileCall& c) {
  if (c.what == What::mark || c.what == What::other || c.what == What::close) return;
  auto node = find(c.path);
  auto known = [&]() -> Node& {
    if (node < 0) throw std::logic_error("power loss: nothing is known of " + c.path);
    return nodes_[static_cast<std::size_t>(node)];
  };
  auto fresh = [&](bool folder) {
    auto [in, name] = place(c.path);
    nodes_.push_back({.folder = folder});
    change({{in, name, static_cast<int>(nodes_.size()) - 1}});
  };
  switch (c.what) {
    case What::open:
      if (node < 0 && c.makes) fresh(false);
      else if (c.cuts) known().writes.push_back({.offset = 0, .bytes = {}, .resizes = true});
      break;
    case What::make_folder: fresh(true); break;
    case What::write: known().writes.push_back({.offset = c.offset, .bytes = c.bytes}); break;
    case What::resize:
      known().writes.push_back({.offset = c.offset, .bytes = {}, .resizes = true, .grows = c.grows});
      break;
    case What::remove: {
      auto [in, name] = place(c.path);
      change({{in, name, -1}});
      break;
    }
    case What::rename:
    case What::exchange: {
      auto [from, name] = place(c.path);
      auto [into, other] = place(c.to);
      known();
      change({{from, name, c.what == What::exchange ? find(c.to) : -1}, {into, other, node}});
      break;
    }
    case What::link: {
      auto [into, other] = place(c.to);
      known();
      change({{into, other, node}});
      break;
    }
    case What::sync: {
      auto& n = known();
      for (auto& w : n.writes) write(n.bytes, w);
      n.writes.clear();
      std::vector<Change> left;
      for (auto& change : names_) {
        std::erase(change.unsynced, node);
        if (!change.unsynced.empty()) {
          left.push_back(change);
          continue;
        }
        for (auto& e : change.edits) {
          auto& durable = nodes_[static_cast<std::size_t>(e.folder)].durable;
          if (e.node < 0) durable.erase(e.name);
          else durable[e.name] = e.node;
        }
      }
      names_ = left;
      break;
    }
    default: break;
  }
}
std::map<std::string, std::string> Disk::state(const std::vector<bool>& chosen, Bytes kept) const {
  std::vector<std::map<std::string, int>> names;
  for (auto& n : nodes_) names.push_back(n.durable);
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (chosen[i])
      for (auto& e : names_[i].edits) {
        auto& of = names[static_cast<std::size_t>(e.folder)];
        if (e.node < 0) of.erase(e.name);
        else of[e.name] = e.node;
      }
  auto bytes_of = [&](const Node& n) {
    auto bytes = n.bytes;
    for (std::size_t i = 0; i < n.writes.size() && kept != Bytes::none; ++i) {
      if (kept == Bytes::half && 2 * i >= n.writes.size()) break;
      auto w = n.writes[i];
      if (kept == Bytes::zeros) w.bytes.assign(w.bytes.size(), '\0');
      if (kept == Bytes::half && 2 * i + 2 >= n.writes.size()) w.bytes.resize(w.bytes.size() / 2);
      write(bytes, w);
    }
    return bytes;
  };
  std::map<std::string, std::string> files;
  std::function<void(int, const std::string&)> walk = [&](int node, const std::string& path) {
    auto& n = nodes_[static_cast<std::size_t>(node)];
    if (!n.folder) {
      files[path] = bytes_of(n);
      return;
    }
    if (!path.empty()) files[path + "/"] = "";
    for (auto& [name, below] : names[static_cast<std::size_t>(node)])
      walk(below, path.empty() ? name : path + "/" + name);
  };
  walk(0, "");
  return files;
}
std::vector<std::vector<bool>> subsets(std::size_t n, std::size_t most, std::mt19937& random) {
  std::vector<std::vector<bool>> all;
  if (n <= most) {
    for (std::size_t bits = 0; bits < std::size_t{1} << n; ++bits) {
      auto& one = all.emplace_back(n);
      for (std::size_t i = 0; i < n; ++i) one[i] = (bits >> i & 1) != 0;
    }
    return all;
  }
  for (std::size_t i = 0; i <= n; ++i) {
    auto& first = all.emplace_back(n);
    for (std::size_t k = 0; k < i; ++k) first[k] = true;
    if (i == n) break;
    all.emplace_back(n, true)[i] = false;
    all.emplace_back(n, false)[i] = true;
  }
  for (std::size_t i = 0; i < std::size_t{1} << most; ++i) {
    auto& one = all.emplace_back(n);
    for (std::size_t k = 0; k < n; ++k) one[k] = random() % 2 == 0;
  }
  return all;
}
}  // namespace bora::faults
