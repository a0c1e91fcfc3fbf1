// The gradient of 3 x 3 kernels after Winograd: a tile of the outputs' gradient is a window on the input, of which the kernel's nine places see as many parts. F(3 x 3, 2 x 2) takes 16 multiplications
// for each instead of 36, F(3 x 3, 4 x 4) 36 instead of 144; the transformed tiles of all images are summed at each place before what they make is transformed back (winograd_transforms.h).
// At each place that is a product of features by channels over all tiles, which passes a task's sums block by block. Lanes are channels: their images are transposed first, of which there is least.
// Of a third dimension the places of the window are results of their own, for each of which the gradient's planes meet other ones of the input.
#include <limits>

#include "cpu/convolution/winograd.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

// A task has some features and channels, whose sums stay in its scratch memory; tiles come by blocks of some planes with all of their rows of tiles, or one with some.
struct Shares {
  int64_t size;
  int64_t features = 0, channels = 0, planes = 0, rows = 0;
  double multiply_adds = std::numeric_limits<double>::infinity();  // of the slowest thread, or what takes as long
};

int64_t rows_of_tiles(const Geometry& g, int64_t size) { return ceil_div(g.rows().window, size); }
int64_t columns_of_tiles(const Geometry& g, int64_t size) { return ceil_div(g.columns().window, size); }
int64_t planes_of_gradient(const Geometry& g) { return g.in_features * g.planes().window; }

MatmulSpec product_of(const Geometry& g, const Shares& s) {
  MatmulSpec spec;
  spec.m = s.features, spec.n = s.channels, spec.k = planes_of_gradient(g) * rows_of_tiles(g, s.size) * columns_of_tiles(g, s.size);
  spec.a_type = spec.b_type = spec.type = Float32Type::get(g.in_type.getContext());
  return spec;
}

// What it takes to transform a number, or to read and write one of the sums, in multiply-adds.
double time_of(const Geometry& g, KernelEmitter& k, const Shares& s) {
  constexpr double kTransform = 6, kSum = 2, kResult = 8;
  constexpr int64_t kInL2 = 600'000, kLargestScratch = 2 << 20;
  const int64_t places = winograd_places(s.size), lanes = k.target.lanes, block = s.planes * s.rows * columns_of_tiles(g, s.size);
  MatmulSpec spec = product_of(g, s);
  Panels panels(k, spec, 0, true);
  const int64_t features = round_up(s.features, panels.mr), channels = round_up(s.channels, lanes), bytes = 4 * places * (features * channels + block * (features + channels));
  if (bytes > kLargestScratch) return std::numeric_limits<double>::infinity();
  const double tiles = double(spec.k), blocks = double(ceil_div(planes_of_gradient(g), s.planes) * ceil_div(rows_of_tiles(g, s.size), s.rows));
  const double product = tiles * double(features * panels.computed(s.channels)), transformed = kTransform * tiles * double(features + channels), sums = (kSum * blocks + kResult) * double(features * channels);
  const int64_t tasks = g.batch_groups * g.planes().out * ceil_div(g.features, s.features) * ceil_div(g.images, s.channels);
  return double(places * ceil_div(tasks, num_threads())) * (bytes <= kInL2 ? 1 : 1.1) * (product + transformed + sums);
}

Shares best_shares(const Geometry& g, KernelEmitter& k, int64_t size) {
  constexpr int64_t kMostParts = 16;
  const int64_t down = rows_of_tiles(g, size);
  Shares best{size};
  auto consider = [&](Shares s) {
    s.multiply_adds = time_of(g, k, s);
    if (s.multiply_adds < best.multiply_adds) best = s;
  };
  for (int64_t by_features = 1; by_features <= std::min(kMostParts, g.features); ++by_features)
    for (int64_t by_channels = 1; by_channels <= std::min(kMostParts, g.images); ++by_channels) {
      const int64_t features = ceil_div(g.features, by_features), channels = ceil_div(g.images, by_channels);
      for (int64_t planes = 1; planes <= planes_of_gradient(g); planes *= 2) consider({size, features, channels, planes, down});
      for (int64_t rows = 1; rows < down; rows *= 2) consider({size, features, channels, 1, rows});
    }
  return best;
}
// Sums of larger tiles lose some bits, of which halves have fewer.
Shares best_shares(const Geometry& g, KernelEmitter& k) {
  Shares small = best_shares(g, k, 2);
  if (g.in_type.isF32()) return small;
  Shares large = best_shares(g, k, 4);
  return large.multiply_adds < small.multiply_adds ? large : small;
}

class WinogradGradient : WinogradTransforms {
 public:
  WinogradGradient(KernelContext& c, const Geometry& g, IR input, IR gradient, const Shares& shares)
      : WinogradTransforms(c, shares.size), g_(g), depth_(g.planes()), y_(g.rows()), x_(g.columns()), shares_(shares), spec_(product_of(g, shares)), p_(c.k, spec_, 0, true), last_(p_.end()), lanes_(c.k.target.lanes), down_(rows_of_tiles(g, size_)), across_(columns_of_tiles(g, size_)) {
    input_ = {input, g.in_type, g.images, g.in_image, g.in_feature, depth_.in, depth_.in_stride, depth_.dilation, y_.in, x_.in, y_.in_stride, y_.low, x_.low, side_, &WinogradGradient::input_line};
    gradient_ = {gradient, g.kernel_type, g.features, g.kernel_out, g.kernel_in, depth_.window, depth_.window_stride, 1, y_.window, x_.window, y_.window_stride, 0, 0, size_, &WinogradGradient::gradient_line, g.kernel_first};
  }

  void run() {
    make_room(input_, round_up(shares_.channels, lanes_));
    make_room(gradient_, round_up(round_up(shares_.features, p_.mr), lanes_));
    sums_pitch_ = round_up(shares_.channels, lanes_), sums_place_ = round_up(shares_.features, p_.mr) * sums_pitch_ + kLine;
    sums_ = reserve(places_ * sums_place_);
    results_ = reserve(kWindow * round_up(shares_.channels, lanes_) + lanes_);
    const int64_t by_features = ceil_div(g_.features, shares_.features), by_channels = ceil_div(g_.images, shares_.channels);
    c_.kernel.tasks = g_.batch_groups * depth_.out * by_features * by_channels;
    c_.kernel.cost = 0.25 * double(g_.batch_groups * depth_.out * g_.features * g_.images) * double(places_ * spec_.k);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = place_of_task(k_, {g_.batch_groups, depth_.out, by_features, by_channels}, task);
      IR group = at[0].base, result = at[1].base, feature = k_.mul(at[2].base, shares_.features), channel = k_.mul(at[3].base, shares_.channels);
      IR above = b_.CreateSub(k_.mul(result, depth_.step), k_.i64(depth_.low));
      clear(sums_, places_ * sums_place_);
      each_block([&](const Block& block) {
        transform(input_, group, channel, block, above);
        transform(gradient_, group, feature, block, k_.i64(0));
        multiply(k_.mul(b_.CreateMul(block.planes, block.rows), across_));
      });
      finish(k_.add(k_.mul(group, g_.features), feature), k_.part(g_.features, shares_.features, feature), channel, k_.part(g_.images, shares_.channels, channel), result);
    });
  }

 private:
  static constexpr int64_t kWindow = 9;
  // The input, or the gradient: `channels` of a group, elements from one to the next and from image to image; planes in memory, elements and steps between those that are met; rows and columns, zeros before
  // them; and tiles of side x side.
  struct Operand {
    IR base;
    Type type;
    int64_t channels, channel, image, planes, plane, step, height, width, row, above, before, side;
    Line line;
    int64_t first = 0;                       // element
    int64_t pixels = 0, pixels_of_line = 0;  // [line][pixel][lane], in scratch
    int64_t tiles = 0, pitch = 0, place = 0, channels_of_task = 0;  // [place][tile][channel]
  };

  void make_room(Operand& o, int64_t channels) {
    const int64_t overlap = o.side - size_;
    o.channels_of_task = channels, o.pitch = pitch(channels);
    o.place = shares_.planes * shares_.rows * across_ * o.pitch + kLine;
    o.tiles = reserve(places_ * o.place);
    o.pixels_of_line = std::max(o.before + round_up(o.width, lanes_), across_ * size_ + overlap);
    const int64_t floats = (shares_.rows * size_ + overlap) * o.pixels_of_line * lanes_;
    o.pixels = reserve(floats);
    clear(o.pixels, floats);  // what is beside the image
  }

  struct Block {
    IR plane, planes, row, rows;  // of the gradient, of all images; of tiles
  };
  void each_block(const std::function<void(const Block&)>& body) {
    const int64_t all = planes_of_gradient(g_);
    k_.loop(k_.i64(0), k_.i64(all), shares_.planes, [&](IR plane) {
      k_.loop(k_.i64(0), k_.i64(down_), shares_.rows, [&](IR row) { body({plane, k_.part(all, shares_.planes, plane), row, k_.part(down_, shares_.rows, row)}); });
    });
  }

  //===-- Tiles ---------------------------------------------------------------------------------------------------===//

  // Of the planes that lie, or would lie, `above` the gradient's.
  void transform(const Operand& o, IR group, IR first, const Block& block, IR above) {
    k_.loop(k_.i64(0), k_.i64(o.channels_of_task), lanes_, [&](IR channel) {
      // Channels beyond the last one repeat it: what they make is not stored.
      IRs offsets;
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        IR at = k_.min(k_.add(first, k_.add(channel, k_.i64(lane))), k_.i64(o.channels - 1));
        offsets.push_back(k_.add(k_.i64(o.first), k_.mul(k_.add(k_.mul(group, o.channels), at), o.channel)));
      }
      k_.loop(k_.i64(0), block.planes, [&](IR i) {
        auto at = place_of_task(k_, {g_.in_features, depth_.window}, k_.add(block.plane, i));
        IR plane = k_.add(k_.mul(at[1].base, o.step), above), exists = b_.CreateICmpULT(plane, k_.i64(o.planes));
        IR base = b_.CreateGEP(k_.memory_type(o.type), o.base, k_.add(k_.mul(at[0].base, o.image), k_.mul(plane, o.plane))), top = b_.CreateSub(k_.mul(block.row, size_), k_.i64(o.above));
        k_.loop(k_.i64(0), k_.add(k_.mul(block.rows, size_), k_.i64(o.side - size_)), [&](IR line) { transpose_line(o, base, exists, offsets, k_.add(top, line), line); });
        k_.loop(k_.i64(0), block.rows, [&](IR r) {
          IR tile = k_.mul(k_.add(b_.CreateMul(i, block.rows), r), across_);
          k_.loop(k_.i64(0), k_.i64(across_), [&](IR column) { transform_tile(o, k_.mul(r, size_), k_.mul(column, size_), k_.add(k_.mul(k_.add(tile, column), o.pitch), channel)); });
        });
      });
    });
  }
  IR pixel(const Operand& o, IR line, IR column) { return scratch(o.pixels, k_.mul(k_.add(k_.mul(line, o.pixels_of_line), column), lanes_)); }
  void transpose_line(const Operand& o, IR plane, IR exists, ArrayRef<IR> offsets, IR row, IR line) {
    auto transposed = [&](IR x, IR mask) {
      IRs pixels;
      for (IR offset : offsets) {
        IR at = k_.add(offset, k_.add(k_.mul(row, o.row), x));
        pixels.push_back(mask ? k_.load_masked(o.type, plane, at, mask) : k_.load(o.type, plane, at, lanes_));
      }
      k_.transpose(pixels);
      for (auto [i, p] : llvm::enumerate(pixels)) write(p, pixel(o, line, k_.add(x, k_.i64(o.before + int64_t(i)))));
    };
    auto whole = [&] {
      const int64_t rest = o.width % lanes_;
      k_.loop(k_.i64(0), k_.i64(o.width - rest), lanes_, [&](IR x) { transposed(x, nullptr); });
      if (rest) transposed(k_.i64(o.width - rest), mask_within_line(k_, k_.i64(0), rest, lanes_, o.type));
    };
    k_.either(b_.CreateAnd(exists, b_.CreateICmpULT(row, k_.i64(o.height))), whole, [&] { b_.CreateMemSet(pixel(o, line, k_.i64(o.before)), b_.getInt8(0), o.width * lanes_ * 4, llvm::Align(4)); });
  }
  void transform_tile(const Operand& o, IR line, IR column, IR to) {
    std::vector<IRs> square(o.side);
    for (int64_t i = 0; i < o.side * o.side; ++i) square[i / o.side].push_back(read(pixel(o, k_.add(line, k_.i64(i / o.side)), k_.add(column, k_.i64(i % o.side))), lanes_));
    square = both_ways(square, o.line);
    for (int64_t place = 0; place < places_; ++place) write(square[place / side_][place % side_], scratch(o.tiles, k_.add(to, k_.i64(place * o.place))));
  }

  //===-- Products, and what becomes of them ----------------------------------------------------------------------===//

  IR sums(IR place, IR feature, IR channel) { return scratch(sums_, k_.add(k_.mul(place, sums_place_), k_.add(k_.mul(feature, sums_pitch_), channel))); }
  void multiply(IR tiles) {
    k_.loop(k_.i64(0), k_.i64(places_), [&](IR place) {
      p_.each(last_, k_.i64(shares_.channels), [&](Panels& p, IR channel) {
        IR panel = scratch(input_.tiles, k_.add(k_.mul(place, input_.place), channel));
        k_.loop(k_.i64(0), k_.i64(shares_.features), p.mr, [&](IR feature) {
          auto at = [&](int64_t i, int64_t v) { return p.vector_at(sums(place, feature, channel), k_.i64(i * sums_pitch_), v); };
          auto gradient = [&](int64_t i, IR tile) { return scratch(gradient_.tiles, k_.add(k_.mul(place, gradient_.place), k_.add(k_.mul(tile, gradient_.pitch), k_.add(feature, k_.i64(i))))); };
          // Each block has sums of its own, which round less than long ones.
          for (auto [i, sum] : llvm::enumerate(p.multiply(gradient, panel, tiles, p.zeros(), input_.pitch))) {
            IR to = at(int64_t(i) / p.vectors, int64_t(i) % p.vectors);
            write(plus(read(to, p.lanes), sum), to);
          }
        });
      });
    });
  }
  void finish(IR first_feature, IR features, IR first_channel, IR channels, IR result) {
    k_.loop(k_.i64(0), features, [&](IR feature) {
      k_.loop(k_.i64(0), channels, lanes_, [&](IR channel) {
        std::vector<IRs> square(side_);
        for (int64_t place = 0; place < places_; ++place) square[place / side_].push_back(read(sums(k_.i64(place), feature, channel), lanes_));
        IRs windows;
        for (const IRs& row : both_ways(square, &WinogradGradient::window_line)) windows.append(row);
        write_windows(windows, channel);
      });
      auto store = [&](IR count, IR column, IR from) {
        k_.along(count, lanes_, [&](IR at, int lanes) { emit_epilogue(c_, k_.add(first_feature, feature), k_.add(column, at), read(scratch(results_, k_.add(from, at)), lanes), lanes); });
      };
      if (depth_.out == 1) return store(k_.mul(channels, kWindow), k_.mul(first_channel, kWindow), k_.i64(0));
      k_.loop(k_.i64(0), channels, [&](IR channel) { store(k_.i64(kWindow), k_.mul(k_.add(k_.mul(k_.add(first_channel, channel), depth_.out), result), kWindow), k_.mul(channel, kWindow)); });
    });
  }
  // Vectors along channels as windows one after the other. Of more lanes than a window has places the next one overwrites what is left, of fewer the last place is written by itself.
  void write_windows(IRs windows, IR channel) {
    IR last = windows[kWindow - 1];
    windows.resize(lanes_, llvm::PoisonValue::get(last->getType()));
    k_.transpose(windows);
    for (int64_t i = 0; i < lanes_; ++i) {
      IR at = k_.mul(k_.add(channel, k_.i64(i)), kWindow);
      write(windows[i], scratch(results_, at));
      if (lanes_ < kWindow) write(b_.CreateExtractElement(last, uint64_t(i)), scratch(results_, k_.add(at, k_.i64(kWindow - 1))));
    }
  }

  const Geometry& g_;
  const Axis depth_, y_, x_;
  const Shares shares_;
  MatmulSpec spec_;
  Panels p_;
  std::optional<Panels> last_;  // of channels
  int lanes_;
  int64_t down_, across_;  // tiles of an image
  Operand input_, gradient_;
  int64_t sums_ = 0, sums_pitch_ = 0, sums_place_ = 0, results_ = 0;  // [place][feature][channel], and [channel][window] of a feature, in scratch
};

}  // namespace

bool is_winograd_gradient(const Geometry& g, KernelEmitter& k) {
  const size_t rank = g.axes.size();
  if (k.target.lanes < 8 || (rank != 2 && rank != 3) || g.groups != 1 || !has_types_for_winograd(g, k.target) || !k.can_mask(g.in_type)) return false;
  for (const Axis& a : g.axes)
    if (a.base_dilation != 1 || a.out_step != 1 || a.reversed) return false;
  for (const Axis& a : {g.rows(), g.columns()})
    if (a.out != 3 || a.step != 1 || a.dilation != 1 || a.low < 0) return false;
  if (g.columns().in_stride != 1 || g.columns().window_stride != 1) return false;
  return best_shares(g, k).multiply_adds < 0.9 * direct_time(g, k);
}

void emit_winograd_gradient(KernelContext& c, const Geometry& g, IR input, IR gradient) { WinogradGradient(c, g, input, gradient, best_shares(g, c.k)).run(); }

}  // namespace cresset::cpu
