#include "bora/compile/program_file.h"
#include <algorithm>
#include <cstring>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "bora/array/communicator.h"
#include "compile/api/program.h"
#include "compile/program/idx.h"
#include "bora/array/params.h"

namespace bora {
namespace {
constexpr char kMagic[8] = {'b', 'o', 'r', 'a', 'p', 'r', 'o', 'g'};
constexpr std::uint32_t kVersion = 1;
struct Header {
  char magic[8];
  std::uint32_t version, crc;
  std::uint64_t bytes;
};
struct Stored {  // of an instruction, beside its parameters
  std::string name;
  std::vector<int> in, out;
};

void write(param_rules::Writer& w, const ProgramPtr& p) {
  check<ValueError>(!p->local, "a Program of one rank cannot be written to a file: write the global one");
  param_rules::write(w, p->vars);
  param_rules::write(w, p->in);
  param_rules::write(w, p->out);
  param_rules::write(w, p->labels);
  w.number<std::uint64_t>(p->code.size());
  for (auto& i : p->code) {
    param_rules::write(w, Stored{std::string(i.primitive->name()), i.in, i.out});
    try {
      i.primitive->save(w);
    } catch (const ValueError& e) {
      fail<ValueError>(i.primitive->name(), " cannot be written to a file: ", e.text());
    }
  }
}
const RegistryEntry& find(const std::string& name) {
  for (auto& e : registry())
    if (e.name == name) return e;
  fail<IoError>("it has the operation '", name, "', which this library lacks");
}
ProgramPtr read(param_rules::Reader& r) {
  auto p = std::make_shared<Program>();
  param_rules::read(r, p->vars);
  param_rules::read(r, p->in);
  param_rules::read(r, p->out);
  param_rules::read(r, p->labels);
  std::vector<bool> known(p->vars.size());
  auto variable = [&](int v) { check<IoError>(v >= 0 && idx(v) < known.size(), "it has no variable ", v); };
  auto define = [&](int v) {
    variable(v);
    check<IoError>(!known[idx(v)], "variable ", v, " is made twice");
    known[idx(v)] = true;
  };
  auto use = [&](int v) {
    variable(v);
    check<IoError>(known[idx(v)], "variable ", v, " is read before it is made");
  };
  for (int v : p->in) define(v);
  for (auto n = r.length(); n > 0; --n) {
    Stored s;
    param_rules::read(r, s);
    Instruction i{find(s.name).load(r), std::move(s.in), std::move(s.out)};
    Types in, out;
    for (int v : i.in) {
      use(v);
      in.push_back(p->vars[idx(v)]);
    }
    for (int v : i.out) {
      define(v);
      out.push_back(p->vars[idx(v)]);
    }
    check<IoError>(i.primitive->infer(in) == out, "the results of '", s.name, "' have other types than it gives");
    p->code.push_back(std::move(i));
  }
  for (int v : p->out) use(v);
  check<IoError>(p->labels.size() <= p->in.size(), "it has more labels than inputs");
  return p;
}
std::string body_of(const Staged& s) {
  param_rules::Writer w;
  w.program = write;
  write(w, s.program);
  w.number<std::uint64_t>(s.captures.size());
  for (auto& a : s.captures) {
    check<DtypeError>(a.dtype() != Dtype::key, "a random key that a function closes over cannot be written to a file: "
                                               "pass it as an argument");
    auto c = a.concrete();
    param_rules::write(w, c.type());
    w.text({static_cast<const char*>(c.bytes()), c.nbytes()});
  }
  return std::move(w.bytes);
}
Staged parse(std::string_view body) {
  param_rules::Reader r(body);
  r.program = read;
  Staged s{read(r), {}};
  auto inputs = s.program->in_types();
  auto n = r.length();
  check<IoError>(n <= inputs.size(), "it has ", n, " values for ", inputs.size(), " inputs");
  for (auto k = inputs.size() - n; k < inputs.size(); ++k) {
    Type t;
    param_rules::read(r, t);
    auto bytes = r.text();
    check<IoError>(t == inputs[k] && bytes.size() == t.nbytes(), "the value of input ", k, " is not ", inputs[k]);
    s.captures.push_back(from_bytes(t, bytes.data()));
  }
  check<IoError>(r.left() == 0, r.left(), " bytes are left over at its end");
  return s;
}
}  // namespace

void write_program(const std::string& path, const Staged& s) {
  auto is_split = [](const Array& a) { return !is_buffer(a) && !a.spec().trivial(); };
  bool split = here().mesh && std::any_of(s.captures.begin(), s.captures.end(), is_split);
  auto body = body_of(s);
  auto write = [&] {
    Header h{{}, kVersion, crc32c(body.data(), body.size()), body.size()};
    std::memcpy(h.magic, kMagic, sizeof kMagic);
    write_file(path, std::string(reinterpret_cast<const char*>(&h), sizeof h) + body);
  };
  if (!split) return write();
  std::string problem;
  if (here().rank == 0) {
    try {
      write();
    } catch (const Error& e) { problem = e.text(); } catch (const std::exception& e) {
      problem = path + ": " + e.what();
    }
  }
  for (auto& text : here().communicator->exchange(problem, "write_program")) check<IoError>(text.empty(), text);
}
Staged read_program(const std::string& path) {
  auto bytes = read_file(path);
  Header h{};
  if (bytes.size() >= sizeof h) std::memcpy(&h, bytes.data(), sizeof h);
  check<IoError>(std::memcmp(h.magic, kMagic, sizeof kMagic) == 0, path, " is no Program of Bora");
  check<IoError>(h.version <= kVersion, path, " is a Program of version ", h.version, "; this library reads ", kVersion,
                 ": use a newer one");
  auto body = std::string_view(bytes).substr(sizeof h);
  check<IoError>(body.size() == h.bytes && crc32c(body.data(), body.size()) == h.crc, path,
                 " is damaged: its checksum does not fit, or it is cut off (", body.size(), " of ", h.bytes, " bytes)");
  try {
    return parse(body);
  } catch (const Error& e) {
    fail<IoError>(path, " is no valid Program: ", e.text());
  } catch (const std::exception& e) { fail<IoError>(path, " is no valid Program: ", e.what()); }
}
}  // namespace bora
