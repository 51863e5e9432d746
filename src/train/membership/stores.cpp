// Which ranks see the same folder.
#include "train/api/stores.h"
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include "base/api/bytes.h"
#include "base/api/file.h"
#include "base/api/paths.h"
#include "bora/shard/mesh.h"
#include "io/api/stores.h"
#include "shard/api/agree.h"
#include "train/api/memory_checkpoint.h"

namespace bora::training {
std::string host_name() {
  if (auto id = std::getenv("BORA_HOST_ID"); id && *id) return id;
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}
namespace {
/// The same for ranks of one host that see one folder.
std::string key_of(const std::string& folder) {
  struct ::stat s {};
  auto key = ByteWriter().text(host_name());
  if (::stat(folder.c_str(), &s) == 0) key.num(s.st_dev).num(s.st_ino);
  return key.take();
}
/// Stores of ranks with these leaders; one that all share if there is one leader.
io::Stores stores_of(const std::vector<int>& leader, const std::vector<std::string>& hosts) {
  if (std::all_of(leader.begin(), leader.end(), [](int l) { return l == 0; })) return {};
  io::Stores stores{.leader = leader, .hosts = hosts};
  std::vector<std::string> folder_of_rank;
  for (auto l : leader) folder_of_rank.push_back(std::to_string(l));
  stores.copier = holders_of_copies(folder_of_rank);
  return stores;
}
/// The lowest rank with the same key, of each rank; and the ranks' hosts.
struct Keys {
  std::vector<int> first = {};
  std::vector<std::string> hosts = {};
};
Keys exchange_keys(const Mesh& mesh, const std::string& folder) {
  Keys r;
  std::map<std::string, int> known;
  for (auto& key : mesh.exchange(key_of(folder), "checkpoints: their folders")) {
    r.first.push_back(known.try_emplace(key, static_cast<int>(r.first.size())).first->second);
    r.hosts.push_back(ByteReader(key).text());
  }
  return r;
}
/// Whether other hosts may see a new file in this folder only a moment later.
bool may_lag(const std::string& folder) {
  constexpr std::uint32_t of_this_host[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010, 0x2fc12fc1,
                                            0x794c7630};
  struct ::statfs s {};
  if (::statfs(folder.c_str(), &s) != 0) return true;
  return std::find(std::begin(of_this_host), std::end(of_this_host), static_cast<std::uint32_t>(s.f_type)) ==
         std::end(of_this_host);
}
constexpr std::string_view kSign = ".seen-";
struct Sign {
  std::string path = {};
  ~Sign() {
    if (!path.empty()) ::unlink(path.c_str());
  }
};
}  // namespace

void remove_old_signs(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(kSign)) found.push_back(it->path());
  for (auto& sign : found) std::filesystem::remove(sign, error);
}
io::Stores stores_by_system(const Mesh& mesh, const std::string& folder) {
  auto keys = exchange_keys(mesh, folder);
  return stores_of(keys.first, keys.hosts);
}
io::Stores find_stores(const Mesh& mesh, const std::string& folder) {
  agree<IoError>(mesh, "checkpoints: make their folder", [&] { make_folders(folder); });
  auto keys = exchange_keys(mesh, folder);
  auto leads = [&](int rank) { return keys.first[static_cast<std::size_t>(rank)] == rank; };
  if (stores_of(keys.first, keys.hosts).shared()) return {};
  // Hosts may share it still, by the network. Each that leads in it leaves a sign.
  auto id = mesh.exchange(std::to_string(::getpid()) + "-" +
                              std::to_string(std::chrono::system_clock::now().time_since_epoch().count()),
                          "checkpoints: signs in their folders")[0];
  auto sign_of = [&](int rank) { return folder + "/" + std::string(kSign) + id + "-" + std::to_string(rank); };
  Sign sign;
  agree<IoError>(mesh, "checkpoints: leave signs", [&] {
    if (!leads(mesh.rank())) return;
    remove_old_signs(folder);
  });
  agree<IoError>(mesh, "checkpoints: leave signs", [&] {
    if (!leads(mesh.rank())) return;
    sign.path = sign_of(mesh.rank());
    File::create(sign.path).close();
  });
  auto seen = [&] {
    std::vector<int> ranks;
    std::error_code error;  // opened, so that a client of NFS asks for what is new there
    for (auto& at : {std::filesystem::path(folder).parent_path(), std::filesystem::path(folder)})
      (void)std::filesystem::directory_iterator(at, error);
    for (int r = 0; r < mesh.size(); ++r)
      if (leads(r) && is_there(sign_of(r))) ranks.push_back(r);
    return ranks;
  };
  auto all = std::count_if(keys.first.begin(), keys.first.end(), [r = 0](int l) mutable { return l == r++; });
  auto first = agree<IoError>(mesh, "checkpoints: whose signs are here", [&] {
    if (!leads(mesh.rank())) return std::string();
    auto found = seen();
    for (int i = 0; i < 100 && std::ssize(found) < all && may_lag(folder); ++i, found = seen())
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return std::to_string(found.empty() ? mesh.rank() : found[0]);
  });
  std::vector<int> leader;
  for (auto of_key : keys.first) leader.push_back(std::stoi(first[static_cast<std::size_t>(of_key)]));
  for (auto l : leader)
    check<IoError>(leader[static_cast<std::size_t>(l)] == l, "checkpoints: hosts do not agree whether they share ",
                   folder, ": ", keys.hosts[static_cast<std::size_t>(l)],
                   " does not see what it wrote there itself; mount it in the same way on all hosts");
  mesh.exchange({}, "checkpoints: all have seen the signs");
  return stores_of(leader, keys.hosts);
}
}  // namespace bora::training
