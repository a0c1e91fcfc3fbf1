// 3 x 3 windows that move by one, after Winograd: F(2 x 2, 3 x 3) computes a tile of 2 x 2 outputs from 4 x 4 inputs with 16 multiplications instead of 36, F(4 x 4, 3 x 3) one of 4 x 4 from 6 x 6
// with 36 instead of 144 (winograd_transforms.h). Input tiles and kernels are transformed; at each of the 16 or 36 places the product
// over the channels is a matrix product of kernels by tiles; its results are transformed back. All of it stays in a task's scratch memory, as f32s.
// Of f32s tiles have 2 x 2 outputs, since sums of larger ones lose some of their bits; of bf16 and f16, which have fewer, 4 x 4.
// A third dimension is summed directly: its places of the window are to the products what channels are, and a plane's tiles are transformed once for all of them.
#pragma once

#include "cpu/convolution/convolution.h"
#include "cpu/convolution/winograd_transforms.h"
#include "cpu/matmul/panels.h"

namespace cresset::cpu {

/// What a task has to do.
struct WinogradTask {
  int64_t planes, tiles, features;  ///< tiles of each plane
};
/// How long that takes, in units of a multiply-add for each place of a tile, in vectors. Infinite if it is too much, but for the least of tasks.
using WinogradCost = std::function<double(const WinogradTask&)>;

/// How the work is shared out: a task takes some features and some tiles. Where the window has one plane these are some rows of tiles of all planes of all images, one
/// after the other; otherwise the same rows of neighbouring planes of an image, whose windows share planes of the input.
struct WinogradShares {
  /// Tiles have size x size outputs; `together`: so many features are multiplied together.
  WinogradShares(const Geometry& g, int64_t size, int64_t together, const WinogradCost& cost);

  int64_t size;
  int64_t tile_rows, tile_columns;     // of a plane
  int64_t planes = 1, rows, features;  // of a task
  int64_t blocks;                      // of tiles
  double cycles = 0;                   // of the slowest thread, in units of the cost

  double multiply_adds() const { return cycles * double(winograd_places(size)); }

 private:
  void consider(const Geometry& g, int64_t together, const WinogradCost& cost, int64_t p, int64_t r, int64_t count);
};
/// Of a feature's kernels, from what transforming one costs, and what more if it comes from memory, as large weights do, of which a model has many.
double winograd_kernel_cost(const Geometry& g, double transformed, double from_memory);

/// The products at each place, of which A are the kernels and B the tiles, of size x size outputs.
MatmulSpec winograd_product(const Geometry& g, int64_t size, bool any_size);

/// What is around the products. Who derives computes them.
class WinogradEmitter : protected WinogradTransforms {
 public:
  struct Arguments {
    KernelContext& c;
    const Geometry& g;
    IR input, kernel;
    const StorePositions& store;
  };
  virtual ~WinogradEmitter() = default;
  void run();

 protected:
  /// `lanes`: of vectors along a row of tiles; `features`: of a block.
  WinogradEmitter(const Arguments& a, const WinogradShares& shares, int lanes, int64_t features)
      : WinogradTransforms(a.c, shares.size), g_(a.g), depth_(a.g.planes()), y_(a.g.rows()), x_(a.g.columns()), input_(a.input), kernel_(a.kernel), store_(a.store), shares_(shares), lanes_(lanes), features_(features) {}

  /// Before all tasks, and after them.
  virtual void begin() {}
  virtual void end() {}
  /// A task's tiles are chosen, and to be transformed.
  virtual void take_tiles(IR group) = 0;
  /// The kernels of a block, from feature `first` of the group on, `count` of them.
  virtual void take_kernels(IR group, IR first, IR count) = 0;
  virtual void multiply(IR count) = 0;
  /// What the products become of feature `i` of the block: a row of the outputs of the tiles from `tile` on, from left to right.
  virtual IRs outputs(IR i, int64_t row, IR tile) = 0;
  /// From the tiles of a plane to those of the next one.
  virtual IR plane_pitch() { return plane_tiles_; }

  bool shares_planes() const { return depth_.window > 1; }
  /// With what vectors have beyond the last row of tiles.
  int64_t with_last_row(int64_t tiles) const { return tiles + round_up(shares_.tile_columns, lanes_) - shares_.tile_columns; }
  IR task_tiles() { return b_.CreateMul(planes_, plane_pitch()); }

  /// Writes all tiles of a channel, those of neighbours in a row as vectors, to where `target` says, by planes. What lies beyond a row's end is overwritten by the next row.
  void transform_channel(IR group, IR channel, const std::function<IR(IR place, IR tile)>& target);
  /// The tile of the input that a plane of the window meets.
  IR seen_from(IR tile, IR plane) { return k_.add(tile, b_.CreateMul(k_.mul(plane, depth_.dilation), plane_pitch())); }
  /// Where the windows of a feature begin; those beyond the last one repeat it. How much further that of a channel is, in a plane of the kernel.
  IR kernel_row(IR group, IR feature);
  IR window(IR channel, IR plane) { return k_.add(k_.mul(channel, g_.kernel_in), k_.mul(depth_.reversed ? b_.CreateSub(k_.i64(depth_.window - 1), plane) : plane, depth_.window_stride)); }
  IRs places_of(llvm::ArrayRef<IR> windows);
  /// Windows at some offsets, a lane for each, transformed.
  IRs transformed_kernels(llvm::ArrayRef<IR> windows);

  const Geometry& g_;
  const Axis depth_, y_, x_;
  IR input_, kernel_;
  const StorePositions& store_;
  WinogradShares shares_;
  int lanes_;
  int64_t features_;
  IR first_row_ = nullptr, rows_ = nullptr, plane_tiles_ = nullptr;  // of the task's tiles: rows of all planes, or of each one;
  IR image_ = nullptr, first_plane_ = nullptr, planes_ = nullptr;    // planes, of the output

 private:
  static constexpr int64_t kWindow = 9;
  int64_t height() const { return y_.out; }
  int64_t width() const { return x_.out; }
  int64_t down() const { return shares_.tile_rows; }
  struct Row {
    IR image, plane, row;  // the padded input's plane, the row of tiles in it
  };
  void choose_tiles(IR block);
  void transform_row(Row at, IR feature, const std::function<IR(IR place, IR column)>& target);
  /// Where lanes of 16 bits can't be masked, lines are widened before they are read.
  bool widens() const { return !k_.can_mask(g_.in_type); }
  int64_t widened_pitch() const { return round_up(shares_.tile_columns, lanes_) * size_ + kLine; }
  IR widened(IR line, int64_t i);
  IRs masks_of_line(IR left);
  IRs inputs_of_line(IR line, IR left, llvm::ArrayRef<IR> masks);
  IRs interleaved(llvm::ArrayRef<IR> vectors);
  void finish(IR feature, IR i);
  void store_rows(IR image, IR plane, IR feature, IR from, IR to, IR skipped);

  int64_t results_ = 0, zeros_ = 0, widened_ = 0;  // places in scratch
};

/// How long the direct product takes, in multiply-adds, and whether Winograd's may be made of operands and results of these types: for whoever chooses.
double direct_time(const Geometry& g, KernelEmitter& k);
bool has_types_for_winograd(const Geometry& g, const Target& target);

/// By multiply-adds of vectors (winograd_vectors.cpp), or by AMX's tiles, of f32s that are sums of bf16s (winograd_tiles.cpp): how long it takes, in multiply-adds of vectors, infinite if it can't be done so;
/// and its kernel.
double winograd_time_by_vectors(const Geometry& g, KernelEmitter& k);
double winograd_time_by_tiles(const Geometry& g, KernelEmitter& k);
void emit_winograd_by_vectors(const WinogradEmitter::Arguments& a);
void emit_winograd_by_tiles(const WinogradEmitter::Arguments& a);

}  // namespace cresset::cpu
