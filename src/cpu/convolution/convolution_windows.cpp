#include "cpu/convolution/convolution_windows.h"

namespace cresset::cpu {

using namespace mlir;

Windows::Windows(KernelEmitter& k, const Geometry& g, IR input, bool pairs)
    : k_(k), b_(k.b), g_(g), input_(input), read_(pairs ? IntegerType::get(g.in_type.getContext(), 16) : g.in_type), packed_(pairs ? b_.getInt16Ty() : k.compute_type(g.out_type)),
      window_(g.sizes(&Axis::window)), positions_(g.sizes(&Axis::out)), image_size_(g.image_size()), window_size_(g.window_size()) {}

bool Windows::is_pointwise() const {
  return window_size_ == 1 && llvm::all_of(g_.axes, [](const Axis& a) { return a.low == 0 && a.base_dilation == 1 && (a.out - 1) * a.step < a.in; });
}

Windows::Lanes Windows::lanes_at(IR group, IR n, int lanes) const {
  auto splat = [&](int64_t v) { return k_.splat(k_.i64(v), lanes); };
  // 32 bits are divided by a fraction of the instructions that 64 are.
  auto* narrow = k_.vector(g_.images * image_size_ < INT32_MAX / 2 ? b_.getInt32Ty() : b_.getInt64Ty(), lanes);
  auto divide = [&](IR x, int64_t by) {
    auto* size = llvm::ConstantInt::get(narrow, by);
    return std::pair(b_.CreateUDiv(x, size), b_.CreateURem(x, size));
  };
  auto wide = [&](IR x) { return b_.CreateZExt(x, k_.vector(b_.getInt64Ty(), lanes)); };
  IR all = k_.sequence(n, lanes);
  // Lanes beyond the last position are where that is: at an address that nothing is mapped to, a load takes a fault's time though none of its lanes is read.
  auto [image, position] = divide(b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, all, splat(g_.images * image_size_ - 1)), narrow), image_size_);
  Lanes result{n, b_.CreateICmpULT(all, splat(g_.images * image_size_)), wide(image), {}};
  if (g_.batch_groups > 1) result.image = b_.CreateAdd(result.image, k_.splat(k_.mul(group, g_.images), lanes));
  result.image = b_.CreateMul(result.image, splat(g_.in_image));
  result.origin.resize(g_.axes.size());
  for (size_t d = g_.axes.size(); d-- > 0;) {
    const Axis& a = g_.axes[d];
    IR i = position;
    if (d) std::tie(position, i) = divide(position, a.out);
    result.origin[d] = b_.CreateSub(b_.CreateMul(wide(i), splat(a.step)), splat(a.low));
  }
  IR inside = result.exists, offset = result.image;
  for (auto [a, x] : llvm::zip(g_.axes, result.origin)) {
    int64_t last = a.reach() - (a.window - 1) * a.dilation;  // from where on a window ends outside
    inside = b_.CreateAnd(inside, last > 0 && a.base_dilation == 1 ? b_.CreateICmpULT(x, splat(last)) : llvm::Constant::getNullValue(inside->getType()));
    offset = b_.CreateAdd(offset, b_.CreateMul(x, splat(a.in_stride)));
  }
  result.inside = b_.CreateAndReduce(inside);
  result.offset = offset, result.first = b_.CreateExtractElement(offset, uint64_t(0));
  result.run = b_.getFalse();
  if (g_.axes.empty()) return result;
  IR steps = k_.sequence(k_.i64(0), lanes);
  int64_t apart = g_.axes.back().step * g_.axes.back().in_stride;
  IR follows = b_.CreateICmpEQ(offset, b_.CreateAdd(k_.splat(result.first, lanes), b_.CreateMul(steps, splat(apart))));
  result.run = b_.CreateAndReduce(b_.CreateOr(follows, b_.CreateNot(result.exists)));
  return result;
}

IR Windows::pixel(IR group, IR channel, IR n) const {
  IR image = b_.CreateUDiv(n, k_.i64(image_size_)), position = b_.CreateURem(n, k_.i64(image_size_));
  if (g_.groups > 1) channel = k_.add(channel, k_.mul(group, g_.in_features));
  if (g_.batch_groups > 1) image = k_.add(image, k_.mul(group, g_.images));
  IR offset = k_.add(k_.mul(image, g_.in_image), k_.mul(channel, g_.in_feature));
  for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, positions_, position))) offset = k_.add(offset, k_.mul(i.base, a.step * a.in_stride));
  return offset;
}

IR Windows::element_of_window(IR group, IR k, IR n) const {
  IR place = k_.i64(0);  // from where the window begins without padding
  for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, window_, b_.CreateURem(k, k_.i64(window_size_)))))
    place = k_.add(place, k_.mul(k_.add(k_.mul(i.base, a.dilation), k_.i64(-a.low)), a.in_stride));
  return k_.add(pixel(group, b_.CreateUDiv(k, k_.i64(window_size_)), n), place);
}

IR Windows::channel_base(IR group, IR channel) const {
  if (g_.groups > 1) channel = k_.add(channel, k_.mul(group, g_.in_features));
  return b_.CreateGEP(k_.memory_type(g_.in_type), input_, k_.mul(channel, g_.in_feature));
}

IR Windows::within_image(IR n, int64_t lanes) const {
  if (g_.images == 1 || k_.divides(lanes, image_size_)) return b_.getTrue();
  if (image_size_ < lanes) return b_.getFalse();
  return b_.CreateICmpULE(b_.CreateURem(n, k_.i64(image_size_)), k_.i64(image_size_ - lanes));
}

IR Windows::all_within_image(IR n, int64_t count, int64_t width) const {
  IR exist = k_.divides(width, g_.images * image_size_) ? b_.getTrue() : b_.CreateICmpSLE(n, k_.i64(g_.images * image_size_ - count));
  return b_.CreateAnd(within_image(n, count), exist);
}

bool Windows::is_flat(int64_t Axis::*row, int64_t Axis::*step) const {
  for (auto [i, a] : llvm::enumerate(g_.axes))
    if (a.*step != 1 || a.base_dilation != 1 || (i > 0 && a.in != a.*row)) return false;
  int64_t expected = 1;  // of a single row, too: windows begin in the padding around it
  for (const Axis& a : llvm::reverse(g_.axes)) {
    if (a.in_stride != expected) return false;
    expected *= a.in;
  }
  return true;
}

bool Windows::can_be_inside() const {
  if (g_.axes.empty() || g_.axes.back().in_stride != 1 || g_.axes.back().step > kMostStep) return false;
  return llvm::all_of(g_.axes, [](const Axis& a) { return a.base_dilation == 1 && (a.window - 1) * a.dilation < a.in; });
}

bool Windows::reads_lanes(int64_t Axis::*step) const {
  if (g_.axes.empty() || !k_.can_mask(g_.in_type)) return false;
  const Axis& a = g_.axes.back();
  return a.*step > 1 && a.*step <= kMostStep && a.in_stride == 1 && a.base_dilation == 1;
}

IRs Windows::spread_masks(IR valid, int64_t step) const {
  IRs parts;
  for (int64_t part = 0; part < step; ++part) parts.push_back(k_.mask(k_.spread(valid, step, part), g_.in_type));
  return parts;
}

bool Windows::reads_two_rows(int64_t Axis::*row, int64_t Axis::*step, int lanes) const {
  if (g_.axes.empty() || !k_.can_mask(g_.in_type)) return false;
  const Axis& a = g_.axes.back();
  return a.*step <= kMostStep && a.in_stride == 1 && a.base_dilation == 1 && a.*row + 1 >= lanes;
}

IRs Windows::masks_of_rows(IR valid, IR offset, int lanes, int64_t step) const {
  IR first = b_.CreateICmpEQ(offset, k_.sequence(b_.CreateExtractElement(offset, uint64_t(0)), lanes, step));
  IRs masks = spread_masks(b_.CreateAnd(valid, first), step);
  masks.append(spread_masks(b_.CreateAnd(valid, b_.CreateNot(first)), step));
  return masks;
}

IR Windows::load_two_rows(IR base, IR first, IR last, ArrayRef<IR> masks, int lanes, int64_t step) const {
  IR x = k_.load_strided(read_, base, first, lanes, step, masks.take_front(step));
  IR y = k_.load_strided(read_, base, b_.CreateSub(last, k_.i64((lanes - 1) * step)), lanes, step, masks.drop_front(step));
  auto* bits = k_.vector(b_.getIntNTy(x->getType()->getScalarSizeInBits()), lanes);
  return b_.CreateBitCast(b_.CreateOr(b_.CreateBitCast(x, bits), b_.CreateBitCast(y, bits)), x->getType());
}

IR Windows::where(IR valid, IR v) const { return b_.CreateSelect(valid, v, llvm::Constant::getNullValue(v->getType())); }

}  // namespace cresset::cpu
