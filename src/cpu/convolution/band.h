// The rows of an image, channels last and padded, that the windows of some neighbouring positions see: copied once, where windows that are copied one by one are as many times the image as they have
// places.
#pragma once

#include "cpu/convolution/convolution.h"
#include "cpu/matmul/panels.h"

namespace cresset::cpu {

/// As many channels as a step of tiles takes are a band by themselves, in which pixels follow each other by lines of memory. A tile of A has neighbouring positions of one row of the result, whose windows
/// begin a step of the window apart: all places of the window are read from the same lines, one after the other, before the next channels are. Positions are numbered with those that a row's last tile has
/// beyond it.
class Band {
 public:
  /// `input` has elements of type g.in_type, or what is converted to it; its features are whole steps of tiles.
  Band(KernelEmitter& k, const Geometry& g, IR input, int64_t element_bytes);

  /// Whether rows are long enough for tiles, and short enough for a band to stay in L2.
  bool is_possible() const;
  /// Of all images, with those that are none of the result.
  int64_t positions() const { return rows_of_all() * of_row(); }
  /// One of the result's as the convolution numbers it.
  IR position(IR m);
  /// The element of a window, of those in order of places and channels, that is the k-th one here.
  IR element(IR k);
  /// Calls this band, which is to outlive it.
  MatmulSpec::TilesInPlace tiles();

 private:
  int64_t of_row() const { return tiles_of_row_ * rows_of_tile_; }
  int64_t rows_of_all() const { return g_.images * rows_.out; }
  int64_t height() const { return rows_.extent(rows_.out); }  // of a padded image
  int64_t channels() const { return kLine / bytes_; }  // that are together
  int64_t bands() const { return g_.in_features / channels(); }
  int64_t width() const { return columns_.extent(of_row()); }
  int64_t row_bytes() const { return width() * kLine; }
  int64_t most_rows(int64_t positions) const;
  IR row_of_padded(IR m);
  void copy(IR m, IR count, IR memory);
  void copy_row(IR image, IR y, IR target);
  llvm::Constant* distances() const;
  IR bytes_from(IR base, IR bytes) { return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, bytes); }
  static constexpr int64_t kLine = TileRegisters::kBytes;

  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  IR input_;
  int64_t bytes_;  // of an element
  Axis rows_, columns_;
  int64_t tiles_of_row_, rows_of_tile_;
  int64_t band_bytes_ = 0;
  IR distances_ = nullptr;  // distances(), for bands of so many bytes
  IR memory_ = nullptr, first_ = nullptr;  // of the band that was copied last: where it lies, and its first row of all padded images'
};

}  // namespace cresset::cpu
