// What Winograd's convolutions are made of: lines and squares of vectors, transformed (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015; matrices for the points 0, 1, -1, infinity
// and, of larger tiles, 2, -2), and where a task keeps them.
#pragma once

#include "cpu/emit/kernels.h"

namespace cresset::cpu {

/// Places of a tile of size x size outputs: its inputs, and the products that it takes.
constexpr int64_t winograd_places(int64_t size) { return (size + 2) * (size + 2); }

/// Of 3 x 3 windows and tiles of size x size outputs.
class WinogradTransforms {
 protected:
  static constexpr int64_t kLine = 16;  // floats
  WinogradTransforms(KernelContext& c, int64_t size) : c_(c), k_(c.k), b_(c.k.b), size_(size) {}

  /// Rows of a panel spread over all sets of the L1 cache, and so do the places, which are written together.
  static int64_t pitch(int64_t floats) { return kLine * (ceil_div(floats, kLine) | 1); }
  int64_t reserve(int64_t floats) { return c_.kernel.reserve(floats * 4); }
  IR scratch(int64_t at, IR index) { return k_.in_scratch(b_.getFloatTy(), at, index); }
  IR read(IR address, int64_t lanes) { return b_.CreateAlignedLoad(k_.vector(b_.getFloatTy(), int(lanes)), address, llvm::Align(4)); }
  void write(IR v, IR address) { b_.CreateAlignedStore(v, address, llvm::Align(4)); }
  void clear(int64_t at, int64_t floats) { b_.CreateMemSet(scratch(at, k_.i64(0)), b_.getInt8(0), floats * 4, llvm::Align(64)); }
  IR plus(IR x, IR y) { return b_.CreateFAdd(x, y); }
  IR minus(IR x, IR y) { return b_.CreateFSub(x, y); }

  /// A square of vectors, of which `line` transforms the columns, then the rows.
  using Line = IRs (WinogradTransforms::*)(llvm::ArrayRef<IR>);
  std::vector<IRs> both_ways(const std::vector<IRs>& square, Line line);
  /// A line of inputs, and of a window, for the products at each place; of these for outputs: the matrices B^T, G and A^T.
  IRs input_line(llvm::ArrayRef<IR> d);
  IRs kernel_line(llvm::ArrayRef<IR> g);
  IRs output_line(llvm::ArrayRef<IR> m);
  /// The same for the gradient of the window, for which tiles of the outputs' gradient are windows on the input: of such a line, and of products for places of the window.
  IRs gradient_line(llvm::ArrayRef<IR> g);
  IRs window_line(llvm::ArrayRef<IR> m);

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const int64_t size_, side_ = size_ + 2, places_ = winograd_places(size_);  // of outputs in a row of a tile, of inputs, and of all these

 private:
  IR times(double c, IR x) { return b_.CreateFMul(x, llvm::ConstantFP::get(x->getType(), c)); }
  IR plus(IR sum, double c, IR x);  ///< sum + c x
};

}  // namespace cresset::cpu
