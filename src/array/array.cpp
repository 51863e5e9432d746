// Buffers, the ground interpreter.
#include "bora/array/array.h"
#include <atomic>
#include <cstring>
#include "array/api/call_stored.h"
#include "base/api/complex.h"
#include "array/api/nans.h"
#include "bora/array/primitive_base.h"
#include "array/api/source.h"
#include "bora/base/denormals.h"
#include "kernels/api/memory.h"

namespace bora {
std::string to_string(const Type& t) { return std::string(dtype_name(t.dtype)) + to_string(t.shape); }
Types types_of(const Arrays& as) {
  Types t;
  t.reserve(as.size());
  for (auto& a : as) t.push_back(a.type());
  return t;
}

const Type& Array::type() const {
  check<TraceError>(defined(),
                    "an empty Array was used: it has no shape and no numbers; assign a value to it first "
                    "(an argument that was moved into a jit call is left empty)");
  return value_->type;
}
std::int64_t Array::shape(std::int64_t axis) const {
  return type().shape[static_cast<std::size_t>(normalize_axis("shape", axis, ndim()))];
}
Array ArrayValue::concrete() const {
  fail<TraceError>("this value of type ", type,
                   " is being traced and has no numbers here; return it from the function and read it "
                   "outside of the transform (branch with cond() or where())");
}
Array Array::concrete() const { return is_buffer(*this) ? *this : (type(), value_->concrete()); }
const void* Array::bytes() const {
  check<TraceError>(is_buffer(*this), "no memory here: ", type(), " is traced or sharded; use concrete()");
  return static_cast<const ArrayBuffer*>(get())->data;
}
const void* Array::data(Dtype d) const {
  check<DtypeError>(dtype() == d, "data: the array holds ", dtype(), ", not ", d, "; use astype()");
  return bytes();
}
void Array::read(Dtype as, void* out) const {
  auto c = concrete();
  auto n = static_cast<std::size_t>(c.size());
  check<DtypeError>(!is_complex(c.dtype()) || is_complex(as), "reading values: ", c.type(), " as ", as,
                    " would lose the imaginary parts; read std::complex numbers, or real(x) or abs(x)");
  dispatch_all(c.dtype(), "reading values", [&](auto from) {
    using S = decltype(from);
    auto* x = static_cast<const S*>(c.bytes());
    dispatch_all(as, "reading values", [&](auto to) {
      using T = decltype(to);
      auto* y = static_cast<T*>(out);
      if constexpr (ComplexNumber<S> && ComplexNumber<T>)
        for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i]);
      else if constexpr (ComplexNumber<T>)
        for (std::size_t i = 0; i < n; ++i) y[i] = T(converted<typename T::value_type>(x[i]));
      else if constexpr (!ComplexNumber<S>)
        for (std::size_t i = 0; i < n; ++i) y[i] = converted<T>(x[i]);
    });
  });
}

std::shared_ptr<void> memory_of(const Array& buffer) {
  auto* b = static_cast<const ArrayBuffer*>(buffer.get());
  return b->memory ? b->memory : std::shared_ptr<void>(buffer.value(), b->data);
}
namespace {
template <std::size_t N> struct SmallBuffer final : ArrayBuffer {
  explicit SmallBuffer(const Type& t) : ArrayBuffer(t, room) {}
  alignas(64) std::byte room[N];
};
/// Builds the handle in place: moving a shared_ptr right after it was written stalls on the two pointers' stores.
template <class B> void* handed(std::shared_ptr<B> b, Array& to) {
  auto* data = b->data;
  to = Array(std::move(b));
  return data;
}
template <std::size_t N> void* small_buffer(const Type& t, Array& to) {
  using B = SmallBuffer<N>;
  return handed(std::allocate_shared<B>(kernels::SmallAllocator<B>(), t), to);
}
}  // namespace
void* new_buffer(const Type& t, Array& to) {
  auto bytes = t.nbytes();
  if (bytes <= 64) return small_buffer<64>(t, to);
  if (bytes <= 512) return small_buffer<512>(t, to);
  return handed(std::make_shared<ArrayBuffer>(t, kernels::allocate(bytes)), to);
}
Array adopt(const Type& t, std::shared_ptr<void> memory) {
  return Array(std::make_shared<ArrayBuffer>(t, std::move(memory)));
}
Array from_bytes(const Type& t, const void* data) {
  auto b = new_buffer(t);
  if (t.nbytes()) std::memcpy(b.data, data, t.nbytes());
  return b.done();
}

namespace {
std::uint64_t next_id() {
  static std::atomic<std::uint64_t> n{1};
  return n++;
}
struct Eval final : Interpreter {
  Eval() : Interpreter(nullptr) {}
  Arrays process(const PrimitivePtr& p, const Arrays& in) override {
    for (auto& a : in)
      check<TraceError>(is_buffer(a), p->name(), ": ", a.type(),
                        " is a traced or sharded value that was used after the transform or mesh that made it had "
                        "ended; return it from the function that is transformed instead of storing it outside");
    auto out = p->run(in, p->infer(types_of(in)));
    if (stops_at_nan()) check_no_nan(p->name(), in, out);
    return out;
  }
};
thread_local Interpreter* current_interpreter = nullptr;
thread_local Dtype float_in_force = f32;
}  // namespace
Dtype default_float() { return float_in_force; }
UseDtype::UseDtype(Dtype dtype) : saved_(float_in_force) {
  check<DtypeError>(dtype == f32 || dtype == f64, "UseDtype: fractions are f32 or f64 by default, not ", dtype,
                    "; give another dtype where an array is made");
  float_in_force = dtype;
}
UseDtype::~UseDtype() { float_in_force = saved_; }
Interpreter::Interpreter(Interpreter* p) : parent(p), id(p ? next_id() : 0) {}
Interpreter* eval_interpreter() {
  static Eval e;
  return &e;
}
Interpreter* current() { return current_interpreter ? current_interpreter : eval_interpreter(); }
bool evaluates() { return !current_interpreter || current_interpreter == eval_interpreter(); }
Within::Within(Interpreter* i) : saved_(current_interpreter) { current_interpreter = i; }
Within::~Within() { current_interpreter = saved_; }

Arrays call(const PrimitivePtr& p, const Arrays& in) {
  try {
    if (computes_stored(*p, in)) return call_stored(p, in);
    return current()->process(p, in);
  } catch (Error& e) {
    e.add_place(describe(*current_source()));
    throw;
  }
}
}  // namespace bora
