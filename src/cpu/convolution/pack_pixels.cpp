// Panels of pixels, each column one place in each channel: where columns lie is the same in all channels. They are neighbours, in most panels, or vectors of neighbours,
// or anywhere.
#include "cpu/convolution/convolution_windows.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

class PixelPacker : Windows {
 public:
  explicit PixelPacker(const Windows& windows) : Windows(windows) {}

  void set_up(MatmulSpec& spec) const {
    spec.panel_by_panel = true;
    spec.pack_b = [*this](const MatmulSpec::Block& p) { pack(p); };
    spec.b_offset = [*this](IR group, IR k, IR n) { return pixel(group, k, n); };
    if (is_flat() && g_.images == 1 && k_.memory_type(read_) == packed_) spec.b_pitch = g_.in_feature;
  }

 private:
  void pack(const MatmulSpec::Block& p) const {
    IR panel = p.panel(k_.i64(0));
    auto vectors = [&] {
      for (int64_t column = 0; column < p.width; column += p.lanes) pack_vector(p, panel, column);
    };
    if (!is_flat()) return vectors();
    k_.either(all_within_image(p.n0, p.width, p.width), [&] { pack_neighbours(p, panel, 0, p.width); }, vectors);
  }

  void each_channel(const MatmulSpec::Block& p, const std::function<void(IR plane, IR row)>& body) const {
    k_.loop(k_.i64(0), p.k, [&](IR row) { body(k_.mul(k_.add(p.k0, row), g_.in_feature), k_.mul(row, p.width)); });
  }

  void pack_neighbours(const MatmulSpec::Block& p, IR panel, int64_t column, int64_t columns) const {
    IR from = pixel(p.batch, k_.i64(0), k_.add(p.n0, k_.i64(column)));
    each_channel(p, [&](IR plane, IR row) {
      for (int64_t c = 0; c < columns; c += p.lanes) put(k_.load(read_, input_, k_.add(k_.add(from, k_.i64(c)), plane), p.lanes), panel, k_.add(row, k_.i64(column + c)));
    });
  }

  void pack_vector(const MatmulSpec::Block& p, IR panel, int64_t column) const {
    int64_t all = g_.images * image_size_, rest = all % p.lanes;
    auto singly = [&] {
      IR offsets = llvm::PoisonValue::get(k_.vector(b_.getInt64Ty(), p.lanes)), last = k_.i64(all - 1);
      for (int lane = 0; lane < p.lanes; ++lane) offsets = b_.CreateInsertElement(offsets, pixel(p.batch, k_.i64(0), k_.min(k_.add(p.n0, k_.i64(column + lane)), last)), lane);
      each_channel(p, [&](IR plane, IR row) { put(k_.gather(read_, b_.CreateGEP(k_.memory_type(g_.in_type), input_, plane), offsets, p.lanes), panel, k_.add(row, k_.i64(column))); });
    };
    if (!is_flat()) return singly();
    auto at_end = [&] {  // the last positions are the end of a vector before them
      IR from = pixel(p.batch, k_.i64(0), k_.i64(all - p.lanes));
      SmallVector<int> order;
      for (int64_t lane = 0; lane < p.lanes; ++lane) order.push_back(int(std::min<int64_t>(lane + p.lanes - rest, p.lanes - 1)));
      auto moved = [&](IR v) { return k_.any_size ? k_.moved(v, k_.i64(rest - p.lanes)) : b_.CreateShuffleVector(v, order); };
      each_channel(p, [&](IR plane, IR row) { put(moved(k_.load(read_, input_, k_.add(from, plane), p.lanes)), panel, k_.add(row, k_.i64(column))); });
    };
    IR n = k_.add(p.n0, k_.i64(column)), is_end = (rest || k_.any_size) && image_size_ >= p.lanes ? b_.CreateICmpEQ(n, k_.i64(all - rest)) : b_.getFalse();
    k_.either(all_within_image(n, p.lanes, p.width), [&] { pack_neighbours(p, panel, column, p.lanes); }, [&] { k_.either(is_end, at_end, singly); });
  }
};

}  // namespace

void pack_pixels(const Windows& windows, MatmulSpec& spec) { PixelPacker(windows).set_up(spec); }

}  // namespace cresset::cpu
