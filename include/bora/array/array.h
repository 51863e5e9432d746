// array.h -- the value that all interpreters share, and call(), the only entry point of operations.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>
#include "bora/array/spellings.h"
#include "bora/base/dtype.h"
#include "bora/base/error.h"
#include "bora/base/shape.h"

namespace bora {
/// The properties known without computing: the GLOBAL shape and the dtype.
struct Type {
  Shape shape;
  Dtype dtype = Dtype::f32;
  bool operator==(const Type&) const = default;
  std::int64_t ndim() const { return static_cast<std::int64_t>(shape.size()); }
  std::int64_t size() const { return volume(shape); }
  std::size_t nbytes() const { return static_cast<std::size_t>(size()) * dtype_size(dtype); }
};
using Types = std::vector<Type>;     // shapes and dtypes of operands or results, in order
std::string to_string(const Type&);  // "f32[2, 3]"
inline std::ostream& operator<<(std::ostream& o, const Type& t) { return o << to_string(t); }

class Array;
class Spec;
/// `owner`: id of the interpreter that may look inside; 0 is Eval (a buffer). Ids are never reused, so a leaked value
/// can be recognised but never mistaken for a live one.
struct ArrayValue {
  Type type;
  std::uint64_t owner = 0;
  ArrayValue(const Type& t, std::uint64_t o) : type(t), owner(o) {}
  virtual ~ArrayValue() = default;
  /// The numbers as a buffer, if this value has any. A sharded value is gathered: every rank must call this. Throws
  /// TraceError.
  virtual Array concrete() const;
  /// Is the caller's handle the only one, all the way down to the memory? Then the memory may be reused (donation).
  virtual bool sole() const { return false; }
  /// The primal value that this one stands for while a derivative is taken; null for any other value.
  virtual const Array* primal_value() const { return nullptr; }
  /// Printed when the numbers are not available: "traced f32[2, 3]".
  virtual std::string describe() const { return "traced " + to_string(type); }
};

/// The dtype of fractions where nothing else decides: f32, or that of this thread's innermost UseDtype.
Dtype default_float();
/// While it stands, fractions of this thread are f64 where nothing else decides: number literals, arrays made without a
/// dtype, and draws; complex literals are complex128, integers stay i32. A number that meets an array of fractions
/// keeps the array's dtype, and functions of arrays of integers (mean, sin, a quotient) still give f32. Part of jit's
/// key, so that a function is staged once for each dtype. Throws DtypeError for other dtypes than f32 and f64.
///     UseDtype scope(f64);
/// Source: jax.enable_x64.
class [[nodiscard]] UseDtype {
 public:
  [[nodiscard]] explicit UseDtype(Dtype dtype);
  ~UseDtype();
  UseDtype(const UseDtype&) = delete;
  UseDtype& operator=(const UseDtype&) = delete;
 private:
  Dtype saved_;
};

/// A weak number: it never changes the dtype of an Array it meets, except that a fraction makes an integer Array f32
/// (UseDtype's), and a complex number makes an Array that is not complex complex64 (complex128 if it is f64).
struct Scalar {
  double value = 0, imaginary = 0;
  std::int64_t integer = 0;
  enum class Kind : std::uint8_t { boolean, integer, floating, complex } kind = Kind::floating;
  Scalar() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T v)
      : value(static_cast<double>(v)),
        integer(std::is_integral_v<T> ? static_cast<std::int64_t>(v) : 0),
        kind(std::is_same_v<T, bool> ? Kind::boolean
             : std::is_integral_v<T> ? Kind::integer
                                     : Kind::floating) {}
  template <class T>
  requires is_float_class<T>
  Scalar(T v) : Scalar(static_cast<float>(v)) {}
  template <ComplexNumber T> constexpr Scalar(const T& v) : value(v.real()), imaginary(v.imag()), kind(Kind::complex) {}
  bool integral() const { return kind == Kind::boolean || kind == Kind::integer; }
  /// Its dtype where nothing else decides: boolean, i32, f32 or complex64 (f64 or complex128 by UseDtype).
  Dtype dtype() const {
    return kind == Kind::boolean   ? Dtype::boolean
           : kind == Kind::integer ? Dtype::i32
           : kind == Kind::floating ? default_float()
           : default_float() == Dtype::f64 ? Dtype::complex128
                                           : Dtype::complex64;
  }
};
/// A number that becomes a Scalar: of an arithmetic type, bfloat16 and its like, std::complex.
template <class T> concept Number = std::is_arithmetic_v<T> || is_float_class<T> || ComplexNumber<T>;
namespace detail {
template <class...> inline constexpr bool never = false;
/// Whether an Array is made of a value of this type wherever one is taken: <bora/xtensor.h> says it of xtensor's
/// containers and expressions, and ArrayFrom<T>::make makes it. Never of a number or a bool.
template <class T> inline constexpr bool becomes_array = false;
template <class T> struct ArrayFrom;
}

/// An immutable array of numbers: a handle to a value of any interpreter. Copying shares; safe to share between
/// threads. A default-constructed Array is empty: any use of it throws TraceError. Inside rules an empty Array is a
/// zero cotangent.
class [[nodiscard]] Array : public detail::Spellings {
 public:
  Array() = default;
  explicit Array(std::shared_ptr<const ArrayValue> v) : value_(std::move(v)) {}
  template <class T>
  requires detail::becomes_array<std::remove_cvref_t<T>> Array(T&& x)
      : Array(detail::ArrayFrom<std::remove_cvref_t<T>>::make(std::forward<T>(x))) {}

  Shape shape() const { return type().shape; }  // by value: `for (auto n : (a + b).shape())` is safe
  std::int64_t shape(std::int64_t axis) const;  // one size; negative axes count from the end
  Dtype dtype() const { return type().dtype; }
  std::int64_t ndim() const { return type().ndim(); }
  std::int64_t size() const { return type().size(); }
  std::size_t nbytes() const { return type().nbytes(); }
  const Type& type() const;
  bool defined() const { return value_ != nullptr; }

  Array astype(Dtype) const;  // the same numbers as another dtype (ops)
  template <class T> __attribute__((unavailable("write x.astype(f32)"))) Array astype() const;
  /// The only element as T. Throws ShapeError unless there is one, TraceError inside transforms. A sharded Array is
  /// gathered: every rank must call this.
  template <Number T> T item() const { return read_one<T>(); }
  __attribute__((unavailable("write x.item<float>()"))) double item() const;
  /// All elements in row-major order, converted to T. As item().
  template <Number T> std::vector<T> to_vector() const {
    static_assert(dtype_or_none<T>().has_value(),
                  "to_vector<T>: T is bool, an integer of 8 to 64 bits, bfloat16, float16, float, double or "
                  "std::complex of the latter two");
    std::vector<T> r(static_cast<std::size_t>(size()));
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::uint8_t> bytes(r.size());
      read(Dtype::boolean, bytes.data());
      for (std::size_t i = 0; i < r.size(); ++i) r[i] = bytes[i] != 0;
    } else {
      read(dtype_of<T>, r.data());
    }
    return r;
  }
  __attribute__((unavailable("write x.to_vector<float>()"))) std::vector<double> to_vector() const;
  Array concrete() const;  // the same numbers as a buffer of this process
  Spec spec() const;       // its Spec on the mesh in force (shard)
  /// This process's memory of a concrete array, row-major. Throws TraceError if traced, DtypeError if T is not its
  /// type.
  template <class T> const T* data() const { return static_cast<const T*>(data(dtype_of<T>)); }
  const void* bytes() const;

  template <std::same_as<bool> B> explicit operator B() const {
    static_assert(
        detail::never<B>,
        "an Array is not a condition: use where(c, a, b) or cond(c, f, g, x); outside of transforms, c.item<bool>()");
    return false;
  }
  Array& operator+=(const Array&);
  Array& operator-=(const Array&);
  Array& operator*=(const Array&);
  Array& operator/=(const Array&);
  Array& operator+=(Scalar);
  Array& operator-=(Scalar);
  Array& operator*=(Scalar);
  Array& operator/=(Scalar);

  // ---- for interpreters and rules ----
  std::uint64_t owner() const { return value_->owner; }
  const ArrayValue* get() const { return value_.get(); }
  const std::shared_ptr<const ArrayValue>& value() const { return value_; }
  bool sole() const { return value_ && value_.use_count() == 1 && value_->sole(); }

 private:
  template <class T> T read_one() const {
    check<ShapeError>(size() == 1, "item: needs exactly one element, the array is ", type(),
                      "; to_vector() reads all of them, view(x, i).item() one");
    if constexpr (std::is_same_v<T, bool>) {
      bool v;
      read(Dtype::boolean, &v);
      return v;
    } else if constexpr (dtype_or_none<T>().has_value()) {
      T v;
      read(dtype_of<T>, &v);
      return v;
    } else {
      std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t> v;
      read(dtype_of<decltype(v)>, &v);
      return static_cast<T>(v);
    }
  }
  void read(Dtype as, void* out) const;  // converted copy of all elements
  const void* data(Dtype) const;
  std::shared_ptr<const ArrayValue> value_;
};
/// An Array, or what becomes one.
template <class T> concept ArrayLike = std::is_same_v<T, Array> || detail::becomes_array<T>;
using Arrays = std::vector<Array>;                    // operands or results, in order
using FlatFn = std::function<Arrays(const Arrays&)>;  // leaves in, leaves out: a user's function as transforms call it
using Mask = std::vector<bool>;                       // one flag for each Array
Types types_of(const Arrays&);                        // the shape and dtype of each

/// Eval's value: contiguous, row-major memory of this process. Small results hold it inline.
struct ArrayBuffer : ArrayValue {
  ArrayBuffer(const Type& t, std::shared_ptr<void> m) : ArrayValue(t, 0), data(m.get()), memory(std::move(m)) {}
  ArrayBuffer(const Type& t, void* within) : ArrayValue(t, 0), data(within) {}
  void* const data;
  const std::shared_ptr<void> memory;  // null: `data` lies in the object itself
  bool sole() const override { return memory.use_count() <= 1; }
};
/// Is it a value of Eval, whose numbers are in this process's memory?
inline bool is_buffer(const Array& a) { return a.defined() && a.owner() == 0; }
/// Shared ownership of a buffer's memory.
std::shared_ptr<void> memory_of(const Array& buffer);
/// Puts an uninitialized buffer into `to` and returns its memory.
void* new_buffer(const Type&, Array& to);
/// An uninitialized buffer: the caller fills `data`, then done() gives the Array.
struct NewBuffer {
  Array array;
  void* data;
  Array done() { return std::move(array); }
};
inline NewBuffer new_buffer(const Type& t) {
  NewBuffer b;
  b.data = new_buffer(t, b.array);
  return b;
}
/// A buffer over memory of another owner (adopted containers, blocks of a slab).
Array adopt(const Type&, std::shared_ptr<void> memory);
/// A copy of `type.nbytes()` bytes.
Array from_bytes(const Type&, const void*);

class Primitive;
using PrimitivePtr = std::shared_ptr<const Primitive>;  // an operation with its parameters, shared as it never changes

/// An interpretation of operations. Interpreters form a chain from the innermost (current) to Eval; each handles the
/// values it owns and passes all others one level out. A rule runs with current() == parent, so the public operations
/// it calls go one level out: nesting needs nothing more.
class Interpreter {
 public:
  explicit Interpreter(Interpreter* parent);
  virtual ~Interpreter() = default;
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  virtual Arrays process(const PrimitivePtr&, const Arrays&) = 0;
  bool owns(const Array& a) const { return a.defined() && a.owner() == id; }
  bool owns_any(const Arrays& as) const {
    for (auto& a : as)
      if (owns(a)) return true;
    return false;
  }
  Interpreter* const parent;
  const std::uint64_t id;
};
Interpreter* current();           // the innermost interpreter of this thread
Interpreter* eval_interpreter();  // the outermost one, which computes
/// Is Eval the current one? Then operations on buffers are computed at once.
bool evaluates();
/// The nearest interpreter of type I from the current one outwards; null if there is none.
template <class I> I* nearest() {
  for (auto* i = current(); i; i = i->parent)
    if (auto* found = dynamic_cast<I*>(i)) return found;
  return nullptr;
}
/// Makes `i` current on this thread for a scope.
class Within {
 public:
  explicit Within(Interpreter* i);
  ~Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
 private:
  Interpreter* saved_;
};
/// The only entry point: every operation on Arrays goes through it. Adds the user's source line to errors.
Arrays call(const PrimitivePtr&, const Arrays&);
}  // namespace bora
