#include "device/complex.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/TypeProperties.h>

#include <functional>
#include <unordered_map>

#include "device/shapes.h"

namespace cresset::device {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;
using Function = std::function<at::Tensor(Arguments)>;  // of the functional form; an undefined tensor where the CPU has to do it

struct Parts {
  at::Tensor re, im;
};

bool is_pair(at::ScalarType t) { return t == at::kComplexFloat || t == at::kComplexDouble; }
at::TensorOptions real_options(at::ScalarType real) { return at::TensorOptions(c10::Device(c10::DeviceType::PrivateUse1, 0)).dtype(real); }

// A number becomes a tensor that counts as a number when dtypes are promoted.
at::Tensor operand(const c10::IValue& v) { return v.isTensor() ? v.toTensor() : at::native::wrapped_scalar_tensor(v.toScalar()); }

Parts parts(const at::Tensor& t, at::ScalarType real) {
  if (t.dim() == 0 && t.device().is_cpu()) {
    auto z = t.item().toComplexDouble();
    return {at::full({}, z.real(), real_options(real)), at::full({}, z.imag(), real_options(real))};
  }
  if (!t.is_complex()) return {t.to(real), at::full({}, 0, real_options(real))};
  at::Tensor pairs = at::view_as_real(t.is_conj() ? t.conj() : t).to(real);
  return {pairs.select(-1, 0), t.is_conj() ? pairs.select(-1, 1).neg() : pairs.select(-1, 1)};
}
Parts parts(const at::Tensor& t) { return parts(t, c10::toRealValueType(t.scalar_type())); }

at::Tensor joined(const Parts& z) { return at::view_as_complex(at::stack(at::broadcast_tensors({z.re, z.im}), -1)); }

// With the strides that eager's result has.
at::Tensor laid_out(const at::Tensor& result, std::initializer_list<at::Tensor> operands) {
  auto layout = shapes::elementwise(result.scalar_type(), operands).front();
  if (result.strides() == at::IntArrayRef(layout.strides)) return result;
  at::Tensor same = at::empty_strided(result.sizes(), layout.strides, result.options());
  at::view_as_real(same).copy_(at::view_as_real(result));
  return same;
}

Parts times(const Parts& x, const Parts& y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }

// Divided by the larger part first, so that squares don't overflow, as c10::complex does it (R. Smith, Algorithm 116, CACM 1962).
Parts quotient(const Parts& x, const Parts& y) {
  at::Tensor by_real = y.re.abs().ge(y.im.abs());
  at::Tensor larger = at::where(by_real, y.re, y.im), smaller = at::where(by_real, y.im, y.re), ratio = smaller / larger, scale = (larger + smaller * ratio).reciprocal();
  at::Tensor re = at::where(by_real, x.re + x.im * ratio, x.re * ratio + x.im) * scale, im = at::where(by_real, x.im - x.re * ratio, x.im * ratio - x.re) * scale;
  at::Tensor by_zero = larger.eq(0), zero = larger.abs();
  return {at::where(by_zero, x.re / zero, re), at::where(by_zero, x.im / zero, im)};
}
Parts product(const Parts& x, const Parts& y, at::Tensor (*multiply)(const at::Tensor&, const at::Tensor&)) {
  return {multiply(x.re, y.re) - multiply(x.im, y.im), multiply(x.re, y.im) + multiply(x.im, y.re)};
}

template <class F>
Function unary(F f) {
  return [f](Arguments a) { return laid_out(joined(f(parts(a[0].toTensor()))), {a[0].toTensor()}); };
}
template <class F>
Function to_real(F f) {
  return [f](Arguments a) { return f(parts(a[0].toTensor())); };
}
template <class F>
at::Tensor of_two(const c10::IValue& a, const c10::IValue& b, F f) {
  at::Tensor x = operand(a), y = operand(b);
  auto real = c10::toRealValueType(at::result_type(x, y));
  return f(x, y, parts(x, real), parts(y, real));
}
template <class F>
Function binary(F f) {
  return [f](Arguments a) { return of_two(a[0], a[1], [&](auto& x, auto& y, const Parts& p, const Parts& q) { return laid_out(joined(f(p, q, a)), {x, y}); }); };
}
template <class F>
Function comparison(F f) {
  return [f](Arguments a) { return of_two(a[0], a[1], [&](auto&, auto&, const Parts& p, const Parts& q) { return f(p, q); }); };
}
// What moves or adds up numbers does so with each part.
template <class F>
Function each(F f) {
  return [f](Arguments a) {
    Parts z = parts(a[0].toTensor());
    return joined({f(z.re, a), f(z.im, a)});
  };
}

at::DimVector integers(const c10::IValue& v) {
  if (v.isIntList()) return at::DimVector(v.toIntVector());
  at::DimVector list;
  for (const c10::SymInt& i : v.toSymIntVector()) list.push_back(i.expect_int());
  return list;
}
c10::OptionalIntArrayRef dims_of(const c10::IValue& v, at::DimVector& storage) {
  if (v.isNone()) return std::nullopt;
  storage = v.isInt() ? at::DimVector{v.toInt()} : integers(v);
  return at::IntArrayRef(storage);
}

Parts scaled(const Parts& x, Arguments a, size_t at) { return a.size() > at ? times(x, parts(operand(a[at]), x.re.scalar_type())) : x; }
Parts plus(const Parts& x, const Parts& y) { return {x.re + y.re, x.im + y.im}; }
Parts minus(const Parts& x, const Parts& y) { return {x.re - y.re, x.im - y.im}; }

at::Tensor sum(Arguments a, at::Tensor (*all)(const at::Tensor&, std::optional<at::ScalarType>),
               at::Tensor (*some)(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>)) {
  at::Tensor self = a[0].toTensor();
  at::ScalarType dtype = a.back().isNone() ? self.scalar_type() : at::ScalarType(a.back().toInt());
  if (!is_pair(dtype)) return {};
  Parts z = parts(self, c10::toRealValueType(dtype));
  if (a.size() == 2) return joined({all(z.re, std::nullopt), all(z.im, std::nullopt)});
  at::DimVector storage;
  auto dims = dims_of(a[1], storage);
  return joined({some(z.re, dims, a[2].toBool(), std::nullopt), some(z.im, dims, a[2].toBool(), std::nullopt)});
}

at::Tensor cat(Arguments a) {
  auto tensors = a[0].toTensorVector();
  auto real = c10::toRealValueType(at::native::result_type(at::ITensorListRef(tensors)));
  std::vector<at::Tensor> re, im;
  for (const at::Tensor& t : tensors) {
    Parts z = parts(t, real);
    re.push_back(z.re), im.push_back(z.im.expand_as(z.re));
  }
  return joined({at::cat(re, a[1].toInt()), at::cat(im, a[1].toInt())});
}

at::Tensor pow(Arguments a) {
  if (!a[0].isTensor() || !a[1].isScalar() || a[1].isComplexDouble()) return {};
  Parts z = parts(a[0].toTensor());
  double exponent = a[1].toScalar().toDouble();
  if (exponent == 1) return laid_out(joined(z), {a[0].toTensor()});
  if (exponent == 2) return laid_out(joined(times(z, z)), {a[0].toTensor()});
  if (exponent == 3) return laid_out(joined(times(times(z, z), z)), {a[0].toTensor()});
  return {};
}

// Of the two roots the one on the right; the larger part first, which loses no digits.
Parts root(const Parts& z) {
  at::Tensor larger = ((z.re.abs() + at::hypot(z.re, z.im)) / 2).sqrt(), smaller = (z.im.abs() / (larger * 2)).masked_fill(larger.eq(0), 0), right = z.re.ge(0);
  return {at::where(right, larger, smaller), at::copysign(at::where(right, smaller, larger), z.im)};
}

at::Tensor vector_norm(Arguments a) {
  if (!a[4].isNone()) return {};
  Parts z = parts(a[0].toTensor());
  at::DimVector storage;
  return at::linalg_vector_norm(at::hypot(z.re, z.im), a[1].toScalar(), dims_of(a[2], storage), a[3].toBool());
}

at::Tensor slice_backward(Arguments a) {
  at::Tensor result = at::zeros(integers(a[1]), a[0].toTensor().options());
  result.slice(a[2].toInt(), a[3].toInt(), a[4].toInt(), a[5].toInt()).copy_(a[0].toTensor());
  return result;
}
at::Tensor select_backward(Arguments a) {
  at::Tensor result = at::zeros(integers(a[1]), a[0].toTensor().options());
  result.select(a[2].toInt(), a[3].toInt()).copy_(a[0].toTensor());
  return result;
}

at::Tensor linear(Arguments a) {
  at::Tensor product = at::matmul(a[0].toTensor(), a[1].toTensor().t());
  return a[2].isNone() ? product : product + a[2].toTensor();
}

// x Wᵀ + b, of which a gradient is the conjugate's.
std::vector<at::Tensor> linear_backward(Arguments a) {
  at::Tensor x = a[0].toTensor(), g = a[1].toTensor(), weight = a[2].toTensor();
  auto mask = a[3].toBoolList();
  at::Tensor rows = g.reshape({-1, g.size(-1)});
  std::vector<at::Tensor> found(3);
  if (mask[0]) found[0] = at::matmul(g, weight.conj());
  if (mask[1]) found[1] = at::mm(rows.t(), x.reshape({-1, x.size(-1)}).conj());
  if (mask[2]) found[2] = rows.sum(0);
  return found;
}

at::Tensor clone(Arguments a) {
  at::Tensor self = a[0].toTensor();
  auto format = a[1].isNone() ? at::MemoryFormat::Preserve : at::MemoryFormat(a[1].toInt());
  if (format != at::MemoryFormat::Preserve && format != at::MemoryFormat::Contiguous) return {};
  at::Tensor copy = joined(parts(self));
  return format == at::MemoryFormat::Preserve ? laid_out(copy, {self}) : copy;
}

at::Tensor addmm(Arguments a) {
  at::ScalarType real = c10::toRealValueType(a[1].toTensor().scalar_type());
  auto part = [&](size_t i) { return parts(operand(a[i]), real); };
  return joined(plus(times(part(0), part(3)), times(product(part(1), part(2), at::mm), part(4))));
}

const std::unordered_map<std::string_view, Function>& functions() {
  static const auto* table = new std::unordered_map<std::string_view, Function>{
      {"add", binary([](const Parts& x, const Parts& y, Arguments a) { return plus(x, scaled(y, a, 2)); })},
      {"sub", binary([](const Parts& x, const Parts& y, Arguments a) { return minus(x, scaled(y, a, 2)); })},
      {"rsub", binary([](const Parts& x, const Parts& y, Arguments a) { return minus(y, scaled(x, a, 2)); })},
      {"mul", binary([](const Parts& x, const Parts& y, Arguments) { return times(x, y); })},
      {"div", [](Arguments a) { return a.size() > 2 ? at::Tensor() : binary([](const Parts& x, const Parts& y, Arguments) { return quotient(x, y); })(a); }},
      {"neg", unary([](const Parts& z) { return Parts{z.re.neg(), z.im.neg()}; })},
      {"conj_physical", unary([](const Parts& z) { return Parts{z.re, z.im.neg()}; })},
      {"_conj_physical", unary([](const Parts& z) { return Parts{z.re, z.im.neg()}; })},
      {"reciprocal", unary([](const Parts& z) { return quotient({at::ones_like(z.re), at::zeros_like(z.im)}, z); })},
      {"exp", unary([](const Parts& z) {  // of real numbers they are real, infinite or not
         return Parts{z.re.exp() * z.im.cos(), at::where(z.im.eq(0), z.im, z.re.exp() * z.im.sin())};
       })},
      {"log", unary([](const Parts& z) { return Parts{at::hypot(z.re, z.im).log(), at::atan2(z.im, z.re)}; })},
      {"sqrt", unary(root)},
      {"sgn", unary([](const Parts& z) {
         at::Tensor length = at::hypot(z.re, z.im), zero = length.eq(0);
         return Parts{(z.re / length).masked_fill(zero, 0), (z.im / length).masked_fill(zero, 0)};
       })},
      {"pow", pow},
      {"abs", to_real([](const Parts& z) { return at::hypot(z.re, z.im); })},
      {"angle", to_real([](const Parts& z) { return at::atan2(z.im, z.re); })},
      {"eq", comparison([](const Parts& x, const Parts& y) { return x.re.eq(y.re).logical_and(x.im.eq(y.im)); })},
      {"ne", comparison([](const Parts& x, const Parts& y) { return x.re.ne(y.re).logical_or(x.im.ne(y.im)); })},
      {"polar", [](Arguments a) { return laid_out(joined({a[0].toTensor() * a[1].toTensor().cos(), a[0].toTensor() * a[1].toTensor().sin()}), {a[0].toTensor(), a[1].toTensor()}); }},
      {"complex", [](Arguments a) { return laid_out(joined({a[0].toTensor(), a[1].toTensor()}), {a[0].toTensor(), a[1].toTensor()}); }},
      {"where", [](Arguments a) {
         return of_two(a[1], a[2], [&](auto& x, auto& y, const Parts& p, const Parts& q) {
           at::Tensor condition = a[0].toTensor();
           return laid_out(joined({at::where(condition, p.re, q.re), at::where(condition, p.im, q.im)}), {condition, x, y});
         });
       }},
      {"masked_fill", [](Arguments a) {
         if (!a[0].toTensor().is_complex()) return at::Tensor();  // where PyTorch says what a real tensor takes
         Parts z = parts(a[0].toTensor()), value = parts(operand(a[2]), z.re.scalar_type());
         return joined({at::where(a[1].toTensor(), value.re, z.re), at::where(a[1].toTensor(), value.im, z.im)});
       }},
      {"sum", [](Arguments a) { return sum(a, [](auto& t, auto dtype) { return at::sum(t, dtype); }, [](auto& t, auto dims, bool keep, auto dtype) { return at::sum(t, dims, keep, dtype); }); }},
      {"mean", [](Arguments a) { return sum(a, [](auto& t, auto dtype) { return at::mean(t, dtype); }, [](auto& t, auto dims, bool keep, auto dtype) { return at::mean(t, dims, keep, dtype); }); }},
      {"cumsum", [](Arguments a) { return a[2].isNone() ? each([](const at::Tensor& t, Arguments a) { return at::cumsum(t, a[1].toInt()); })(a) : at::Tensor(); }},
      {"mm", [](Arguments a) { return joined(product(parts(a[0].toTensor()), parts(a[1].toTensor()), at::mm)); }},
      {"bmm", [](Arguments a) { return joined(product(parts(a[0].toTensor()), parts(a[1].toTensor()), at::bmm)); }},
      {"addmm", addmm},
      {"cat", cat},
      {"stack", [](Arguments a) {
         auto tensors = a[0].toTensorVector();
         for (at::Tensor& t : tensors) t = t.unsqueeze(a[1].toInt());
         return at::cat(tensors, a[1].toInt());
       }},
      {"clone", clone},
      {"linalg_vector_norm", vector_norm},
      {"slice_backward", slice_backward},
      {"select_backward", select_backward},
      {"linear", linear},
      {"flip", each([](const at::Tensor& t, Arguments a) { return at::flip(t, integers(a[1])); })},
      {"roll", each([](const at::Tensor& t, Arguments a) { return at::roll(t, integers(a[1]), integers(a[2])); })},
      {"repeat", each([](const at::Tensor& t, Arguments a) { return t.repeat(integers(a[1])); })},
      {"tril", each([](const at::Tensor& t, Arguments a) { return at::tril(t, a[1].toInt()); })},
      {"triu", each([](const at::Tensor& t, Arguments a) { return at::triu(t, a[1].toInt()); })},
      {"gather", each([](const at::Tensor& t, Arguments a) { return at::gather(t, a[1].toInt(), a[2].toTensor()); })},
      {"index_select", each([](const at::Tensor& t, Arguments a) { return at::index_select(t, a[1].toInt(), a[2].toTensor()); })},
      {"index", each([](const at::Tensor& t, Arguments a) { return at::index(t, a[1].toOptionalTensorList()); })},
      {"constant_pad_nd", [](Arguments a) {
         Parts z = parts(a[0].toTensor());
         auto value = a[2].toScalar().toComplexDouble();
         return joined({at::constant_pad_nd(z.re, integers(a[1]), value.real()), at::constant_pad_nd(z.im, integers(a[1]), value.imag())});
       }},
  };
  return *table;
}

// What writes into its first argument without being the in-place form of one of the above.
const std::unordered_map<std::string_view, std::function<void(const at::Tensor&, Arguments)>>& writers() {
  static const auto* table = new std::unordered_map<std::string_view, std::function<void(const at::Tensor&, Arguments)>>{
      {"zero_", [](const at::Tensor& self, Arguments) { at::view_as_real(self).zero_(); }},
      {"fill_", [](const at::Tensor& self, Arguments a) {
         Parts value = parts(operand(a[1]), c10::toRealValueType(self.scalar_type()));
         at::view_as_real(self).copy_(at::stack({value.re, value.im}, -1));
       }},
      // Of the variance each part has half.
      {"normal_", [](const at::Tensor& self, Arguments a) { at::view_as_real(self).normal_(a[1].toDouble(), a[2].toDouble() / std::sqrt(2.0), a[3].toOptional<at::Generator>()); }},
      {"_index_put_impl_", [](const at::Tensor& self, Arguments a) {
         Parts values = parts(a[2].toTensor(), c10::toRealValueType(self.scalar_type()));
         Parts own = parts(self);
         at::_index_put_impl_(own.re, a[1].toOptionalTensorList(), values.re, a[3].toBool(), a[4].toBool());
         at::_index_put_impl_(own.im, a[1].toOptionalTensorList(), values.im, a[3].toBool(), a[4].toBool());
       }},
      {"scatter_add_", [](const at::Tensor& self, Arguments a) {
         Parts own = parts(self), source = parts(a[3].toTensor());
         own.re.scatter_add_(a[1].toInt(), a[2].toTensor(), source.re), own.im.scatter_add_(a[1].toInt(), a[2].toTensor(), source.im);
       }},
      {"index_add_", [](const at::Tensor& self, Arguments a) {
         Parts own = parts(self), source = scaled(parts(a[3].toTensor()), a, 4);
         own.re.index_add_(a[1].toInt(), a[2].toTensor(), source.re), own.im.index_add_(a[1].toInt(), a[2].toTensor(), source.im);
       }},
  };
  return *table;
}

// Whether a call has to do with complex numbers, and with none of a dtype that there are no programs for.
bool is_complex(std::string_view name, Arguments arguments) {
  bool some = name == "polar" || name == "complex";
  for (const c10::IValue& v : arguments) {
    if (v.isComplexDouble()) some = true;
    auto look = [&](const at::Tensor& t) {
      if (t.defined() && t.is_complex()) some = true;
      return !t.defined() || (!t.is_neg() && (t.is_complex() ? is_pair(t.scalar_type()) : c10::isFloatingType(t.scalar_type()) ? c10::elementSize(t.scalar_type()) > 1 : true));
    };
    if (v.isTensor() && !look(v.toTensor())) return false;
    if (v.isTensorList())
      for (const at::Tensor& t : v.toTensorVector())
        if (!look(t)) return false;
  }
  return some;
}

void store(const at::Tensor& target, const at::Tensor& result) {
  TORCH_CHECK(at::canCast(result.scalar_type(), target.scalar_type()), "result type ", result.scalar_type(), " can't be cast to the desired output type ", target.scalar_type());
  target.copy_(result);
}

}  // namespace

bool record_complex(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  std::string_view name(schema.name());
  Arguments all = torch::jit::last(*stack, schema.arguments().size()), arguments = all;
  name.remove_prefix(name.starts_with("aten::") ? 6 : 0);
  auto finish = [&](std::vector<at::Tensor> results) {
    torch::jit::drop(*stack, schema.arguments().size());
    for (at::Tensor& t : results) torch::jit::push(*stack, std::move(t));
    return true;
  };
  // The imaginary part of a conjugate is a real tensor that is only marked as negative.
  if (name == "clone" && all[0].toTensor().is_neg() && !all[0].toTensor().is_complex()) return finish({at::neg(at::_neg_view(all[0].toTensor()))});
  if (all.empty() || !is_complex(name, all)) return false;
  at::AutoDispatchBelowADInplaceOrView below;
  if (name == "linear_backward") return finish(linear_backward(all));
  if (schema.returns().size() != 1) return false;
  auto writes = [&](size_t i) { return schema.arguments()[i].alias_info() && schema.arguments()[i].alias_info()->isWrite(); };
  at::Tensor target, result;
  if (writes(0)) target = all.front().toTensor();
  else if (writes(all.size() - 1)) target = all.back().toTensor(), arguments = all.slice(0, all.size() - 1);
  if (target.defined() && (target.is_conj() || !target.is_privateuseone())) return false;
  if (auto writer = writers().find(name); writer != writers().end() && target.is_complex()) {
    writer->second(target, arguments);
    result = target;
  } else {
    if (writes(0)) name.remove_suffix(1);
    auto found = functions().find(name);
    if (found == functions().end()) return false;
    result = found->second(arguments);
    if (!result.defined()) return false;
    if (target.defined()) {
      TORCH_CHECK(!writes(0) || target.sizes() == result.sizes(), "output with shape ", target.sizes(), " doesn't match the broadcast shape ", result.sizes());
      if (target.sizes() != result.sizes()) target.resize_(result.sizes());
      store(target, result);
      result = target;
    }
  }
  return finish({result});
}

bool copy_complex(const at::Tensor& self, const at::Tensor& src) {
  auto plain = [](const at::Tensor& t) { return !t.is_neg() && (!t.is_complex() || is_pair(t.scalar_type())); };
  if (!(self.is_complex() || src.is_complex()) || !plain(self) || !plain(src) || self.is_conj()) return false;
  at::AutoDispatchBelowADInplaceOrView below;
  if (src.device().is_cpu()) {
    at::Tensor same = src.resolve_conj().to(self.scalar_type());
    (self.is_complex() ? at::view_as_real(self) : self).copy_(self.is_complex() ? at::view_as_real(same) : same);
  } else if (self.is_complex()) {
    Parts z = parts(src, c10::toRealValueType(self.scalar_type()));
    at::view_as_real(self).copy_(at::stack(at::broadcast_tensors({z.re, z.im}), -1));
  } else {
    TORCH_WARN_ONCE("Casting complex values to real discards the imaginary part");
    self.copy_(parts(src).re);
  }
  return true;
}

}  // namespace cresset::device
