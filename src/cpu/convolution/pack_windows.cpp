// Panels of windows, by vectors of positions at one place of the window. A vector whose windows all lie inside the image takes no masks.
#include "cpu/convolution/convolution_windows.h"

namespace cresset::cpu {
namespace {

class WindowPacker : Windows {
 public:
  explicit WindowPacker(const Windows& windows) : Windows(windows) {}

  void set_up(MatmulSpec& spec) const {
    if (packs_whole_windows()) spec.k_unit = window_size_;
    spec.panel_by_panel = true;
    spec.pack_b = [*this](const MatmulSpec::Block& p) { pack(p); };
  }

 private:
  // If they are small: then their masks serve all the channels of a block.
  bool packs_whole_windows() const { return window_size_ <= 512; }

  void pack(const MatmulSpec::Block& p) const {
    IR channel = b_.CreateUDiv(p.k0, k_.i64(window_size_));
    IR panel = p.panel(k_.i64(0));
    k_.loop(k_.i64(0), k_.i64(p.width), p.lanes, [&](IR column) {
      Lanes at = lanes_at(p.batch, k_.add(p.n0, column), p.lanes);
      IR address = b_.CreateInBoundsGEP(packed_, panel, column);
      if (!packs_whole_windows())
        return k_.loop(k_.i64(0), p.k, [&](IR row) {
          IR k = b_.CreateAdd(p.k0, row);
          pack_place(p, address, at, b_.CreateURem(k, k_.i64(window_size_)), row, b_.CreateUDiv(k, k_.i64(window_size_)), k_.i64(1));
        });
      IR channels = b_.CreateUDiv(p.k, k_.i64(window_size_));
      auto masked = [&] { k_.loop(k_.i64(0), k_.i64(window_size_), [&](IR w) { pack_place(p, address, at, w, w, channel, channels); }); };
      if (!can_be_inside()) return masked();
      k_.either(b_.CreateAnd(at.inside, at.run), [&] { pack_inside(p, address, at, channel, channels); }, masked);
    });
  }

  // No masks, and all places of a channel together.
  void pack_inside(const MatmulSpec::Block& p, IR address, const Lanes& at, IR channel, IR channels) const {
    k_.loop(k_.i64(0), channels, [&](IR c) {
      IR base = channel_base(p.batch, k_.add(channel, c));
      std::function<void(size_t d, IR row, IR offset)> places = [&](size_t d, IR row, IR offset) {
        if (d == g_.axes.size()) {
          ask_for_next(p, base, offset);
          return put(k_.load_strided(read_, base, offset, p.lanes, g_.axes.back().step), address, k_.mul(row, p.width));
        }
        const Axis& a = g_.axes[d];
        k_.loop(k_.i64(0), k_.i64(a.window), [&](IR i) { places(d + 1, k_.add(k_.mul(row, a.window), i), k_.add(offset, k_.mul(i, a.dilation * a.in_stride))); });
      };
      places(0, c, at.first);
    });
  }

  // One place of the window, for some channels: rows `row`, row + window size, … of the panel.
  void pack_place(const MatmulSpec::Block& p, IR address, const Lanes& at, IR w, IR row, IR channel, IR channels) const {
    auto [offset, valid] = seen_at(at, w, p.lanes);
    auto each_channel = [&](const std::function<IR(IR base)>& load) {
      k_.loop(k_.i64(0), channels, [&](IR c) {
        IR base = channel_base(p.batch, k_.add(channel, c)), v = load(base);
        ask_for_next(p, base, b_.CreateExtractElement(offset, uint64_t(0)));
        put(v, address, k_.mul(k_.add(row, k_.mul(c, window_size_)), p.width));
      });
    };
    auto singly = [&] {
      IR safe = where(valid, offset);
      each_channel([&](IR base) { return where(valid, k_.gather(read_, base, safe, p.lanes)); });
    };
    auto beyond_row = [&] {  // vectors that are not one run of the input
      if (!reads_two_rows(&Axis::out, &Axis::step, p.lanes)) return singly();
      int64_t step = g_.axes.back().step;
      IR first = b_.CreateExtractElement(offset, uint64_t(0)), last = b_.CreateExtractElement(offset, uint64_t(p.lanes - 1));
      auto masks = masks_of_rows(valid, offset, p.lanes, step);
      each_channel([&](IR base) { return load_two_rows(base, first, last, masks, p.lanes, step); });
    };
    if (reads_lanes(&Axis::step)) {
      auto in_row = [&] {
        IR first = b_.CreateExtractElement(offset, uint64_t(0));
        auto masks = spread_masks(valid, g_.axes.back().step);
        each_channel([&](IR base) { return k_.load_strided(read_, base, first, p.lanes, g_.axes.back().step, masks); });
      };
      return k_.either(g_.axes.back().out % p.lanes == 0 ? b_.getTrue() : at.run, in_row, beyond_row);
    }
    if (!is_flat()) return beyond_row();
    bool masked = k_.can_mask(g_.in_type);
    IR together = masked ? within_image(at.n, p.lanes) : b_.CreateAnd(within_image(at.n, p.lanes), b_.CreateAndReduce(valid));
    IR first = b_.CreateExtractElement(offset, uint64_t(0)), mask = k_.mask(valid, g_.in_type);
    auto one_run = [&] {
      each_channel([&](IR base) { return masked ? k_.load_masked(read_, base, first, mask) : k_.load(read_, base, first, p.lanes); });
    };
    k_.either(together, one_run, beyond_row);
  }

  // What the next panel will read is some elements behind, but at the end of a row.
  void ask_for_next(const MatmulSpec::Block& p, IR base, IR offset) const {
    if (g_.axes.empty()) return;
    const Axis& a = g_.axes.back();
    k_.prefetch(b_.CreateGEP(k_.memory_type(g_.in_type), base, k_.add(offset, k_.i64(p.width * a.step * a.in_stride))));
  }

  // Where lanes find place w of their windows, and which of them do.
  struct Seen {
    IR offset, valid;
  };
  Seen seen_at(const Lanes& at, IR w, int lanes) const {
    auto splat = [&](IR v) { return k_.splat(v, lanes); };
    IR valid = at.exists, offset = at.image;
    for (auto [axis, origin, i] : llvm::zip(g_.axes, at.origin, delinearise(k_, window_, w))) {
      IR x = b_.CreateAdd(origin, splat(k_.mul(i.base, axis.dilation)));
      valid = b_.CreateAnd(valid, b_.CreateICmpULT(x, splat(k_.i64(axis.reach()))));
      if (axis.base_dilation > 1) {
        valid = b_.CreateAnd(valid, b_.CreateICmpEQ(b_.CreateURem(x, splat(k_.i64(axis.base_dilation))), splat(k_.i64(0))));
        x = b_.CreateUDiv(x, splat(k_.i64(axis.base_dilation)));
      }
      offset = b_.CreateAdd(offset, b_.CreateMul(x, splat(k_.i64(axis.in_stride))));
    }
    return {offset, valid};
  }
};

}  // namespace

void pack_windows(const Windows& windows, MatmulSpec& spec) { WindowPacker(windows).set_up(spec); }

}  // namespace cresset::cpu
