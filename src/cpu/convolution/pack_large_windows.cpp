// Panels of large windows, as the gradient of a kernel has them. Vectors lie along the window, which is longer than the row of columns it is moved along; squares are
// transposed in registers.
#include "cpu/convolution/convolution_windows.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kLargeWindow = 16;  // as many places as the widest vector has lanes

// Noted first: for each column its offset and its position. Then for each vector of places in the window: where they lie in
// the input, and which of them do, for each position.
class LargeWindowPacker : Windows {
 public:
  explicit LargeWindowPacker(const Windows& windows) : Windows(windows) {}

  void set_up(MatmulSpec& spec) const {
    spec.k_run = window_size_, spec.k_unit = kLargeWindow;
    spec.pack_b = [*this](const MatmulSpec::Block& p) { pack(p); };
    spec.pack_scratch = masks_size(), spec.column_scratch = 2 * 8;
  }

 private:
  void pack(const MatmulSpec::Block& p) const {
    note_columns(p);
    IR channel = b_.CreateUDiv(p.k0, k_.i64(window_size_)), first = b_.CreateSub(p.k0, k_.mul(channel, window_size_));
    IR base = channel_base(p.batch, channel);
    k_.loop(k_.i64(0), p.k, p.lanes, [&](IR u) {
      Places at = places_at(k_.add(first, u), k_.add(first, p.k), p.lanes);
      note_masks(p, at);
      at.first = b_.CreateExtractElement(at.offset, uint64_t(0)), at.last = b_.CreateExtractElement(at.offset, uint64_t(p.lanes - 1));
      k_.loop(k_.i64(0), p.n, p.width, [&](IR n) {
        for (int64_t column = 0; column < p.width; column += p.lanes) {
          IRs square;
          for (int64_t j = 0; j < p.lanes; ++j) square.push_back(convert(load(p, base, at, k_.add(n, k_.i64(column + j)))));
          k_.transpose(square);
          for (int64_t i = 0; i < p.lanes; ++i) put(square[i], p.panel(n), k_.add(k_.mul(k_.add(u, k_.i64(i)), p.width), k_.i64(column)));
        }
      });
    });
  }

  // How far the window is moved along each axis.
  IRs shifts(IR position) const {
    IRs result;
    for (auto [axis, i] : llvm::zip(g_.axes, delinearise(k_, positions_, position))) result.push_back(k_.mul(i.base, axis.step));
    return result;
  }

  enum { kOffset, kPosition };
  IR noted_column(const MatmulSpec::Block& p, IR n, int64_t what) const {
    IR columns = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), p.scratch, masks_size());
    return b_.CreateInBoundsGEP(b_.getInt64Ty(), columns, k_.add(k_.mul(n, 2), k_.i64(what)));
  }
  void note_columns(const MatmulSpec::Block& p) const {
    k_.loop(k_.i64(0), k_.mul(b_.CreateUDiv(b_.CreateAdd(p.n, k_.i64(p.width - 1)), k_.i64(p.width)), p.width), [&](IR j) {
      IR n = k_.min(k_.add(p.n0, j), k_.i64(g_.images * image_size_ - 1)), position = b_.CreateURem(n, k_.i64(image_size_));
      IR image = b_.CreateUDiv(n, k_.i64(image_size_));
      if (g_.batch_groups > 1) image = b_.CreateAdd(image, k_.mul(p.batch, g_.images));
      IR offset = k_.mul(image, g_.in_image);
      for (auto [axis, shift] : llvm::zip(g_.axes, shifts(position))) offset = k_.add(offset, k_.mul(shift, axis.in_stride));
      b_.CreateStore(offset, noted_column(p, j, kOffset));
      b_.CreateStore(position, noted_column(p, j, kPosition));
    });
  }

  // A vector of places of the window: where they lie in the input at position 0.
  struct Places {
    IR exists;  // a window that ends within the vector ends the block
    IRs origin;
    IR offset, first = nullptr, last = nullptr;  // of each lane, of the first and of the last one
  };
  Places places_at(IR w, IR end, int lanes) const {
    auto splat = [&](int64_t v) { return k_.splat(k_.i64(v), lanes); };
    auto places = k_.sequence(w, lanes);
    IR exists = b_.CreateICmpULT(places, k_.splat(end, lanes)), offset = llvm::Constant::getNullValue(places->getType());
    IRs origin(g_.axes.size());
    for (size_t d = g_.axes.size(); d-- > 0;) {
      const Axis& a = g_.axes[d];
      IR i = d ? b_.CreateURem(places, splat(a.window)) : places;
      if (d) places = b_.CreateUDiv(places, splat(a.window));
      origin[d] = b_.CreateSub(b_.CreateMul(i, splat(a.dilation)), splat(a.low));
      offset = b_.CreateAdd(offset, b_.CreateMul(origin[d], splat(a.in_stride)));
    }
    return {exists, origin, offset};
  }

  // How a vector of places is read at one position, and how many masks that takes.
  enum class Read { EverySecond, Run, TwoRows, Singly };
  Read way(int lanes) const {
    int64_t dilation = g_.axes.empty() ? 1 : g_.axes.back().dilation;
    if (dilation == 2 && reads_lanes(&Axis::dilation) && g_.axes.back().window % lanes == 0) return Read::EverySecond;
    if (is_flat(&Axis::window, &Axis::dilation) && k_.can_mask(g_.in_type)) return Read::Run;
    return dilation == 1 && reads_two_rows(&Axis::window, &Axis::dilation, lanes) ? Read::TwoRows : Read::Singly;
  }

  int64_t masks_size() const { return 2 * image_size_ * kLargeWindow * element_bytes(g_.in_type); }
  llvm::Type* mask_type(int lanes) const { return k_.vector(b_.getIntNTy(element_bytes(g_.in_type) * 8), lanes); }
  IR noted_mask(const MatmulSpec::Block& p, IR position, int64_t which) const { return b_.CreateInBoundsGEP(mask_type(p.lanes), p.scratch, k_.add(k_.mul(position, 2), k_.i64(which))); }
  void note_masks(const MatmulSpec::Block& p, const Places& at) const {
    k_.loop(k_.i64(0), k_.i64(image_size_), [&](IR position) {
      IR valid = at.exists;
      for (auto [a, from, shift] : llvm::zip(g_.axes, at.origin, shifts(position)))
        valid = b_.CreateAnd(valid, b_.CreateICmpULT(b_.CreateAdd(from, k_.splat(shift, p.lanes)), k_.splat(k_.i64(a.reach()), p.lanes)));
      Read read = way(p.lanes);
      auto masks = read == Read::EverySecond ? spread_masks(valid, 2) : read == Read::TwoRows ? masks_of_rows(valid, at.offset, p.lanes, 1) : IRs{valid};
      for (auto [which, mask] : llvm::enumerate(masks)) b_.CreateAlignedStore(b_.CreateSExtOrTrunc(mask, mask_type(p.lanes)), noted_mask(p, position, which), llvm::Align(8));
    });
  }

  // The places in column j.
  IR load(const MatmulSpec::Block& p, IR base, const Places& at, IR j) const {
    IR shift = b_.CreateLoad(b_.getInt64Ty(), noted_column(p, j, kOffset)), position = b_.CreateLoad(b_.getInt64Ty(), noted_column(p, j, kPosition));
    auto mask = [&](int which) -> IR { return b_.CreateAlignedLoad(mask_type(p.lanes), noted_mask(p, position, which), llvm::Align(8)); };
    switch (way(p.lanes)) {
      case Read::EverySecond: return k_.load_strided(read_, base, k_.add(at.first, shift), p.lanes, 2, {mask(0), mask(1)});
      case Read::Run: return k_.load_masked(read_, base, k_.add(at.first, shift), mask(0));
      case Read::TwoRows: return load_two_rows(base, k_.add(at.first, shift), k_.add(at.last, shift), {mask(0), mask(1)}, p.lanes, 1);
      case Read::Singly: break;
    }
    IR valid = b_.CreateICmpSLT(mask(0), llvm::Constant::getNullValue(mask_type(p.lanes)));
    return where(valid, k_.gather(read_, base, where(valid, b_.CreateAdd(at.offset, k_.splat(shift, p.lanes))), p.lanes));
  }
};

}  // namespace

bool is_large_window(const Geometry& g) {
  return g.window_size() >= kLargeWindow && g.window_size() > g.image_size() && g.image_size() <= 1024 && g.is_undilated();
}

void pack_large_windows(const Windows& windows, MatmulSpec& spec) { LargeWindowPacker(windows).set_up(spec); }

}  // namespace cresset::cpu
