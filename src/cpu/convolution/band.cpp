#include "cpu/convolution/band.h"

namespace cresset::cpu {

using namespace mlir;

Band::Band(KernelEmitter& k, const Geometry& g, IR input, int64_t element_bytes)
    : k_(k), b_(k.b), g_(g), input_(input), bytes_(element_bytes), rows_(g.axes.size() > 1 ? g.rows() : Axis()), columns_(g.columns()), tiles_of_row_(ceil_div(columns_.out, TileRegisters::kRows)),
      rows_of_tile_(ceil_div(columns_.out, tiles_of_row_)) {}

bool Band::is_possible() const {
  constexpr int64_t kFewestRows = 10, kMostBytes = 384 * 1024;  // of a tile, as fewer wait for those of B; of what one row of the result sees
  return g_.axes.size() <= 2 && g_.groups == 1 && g_.window_size() > 1 && rows_of_tile_ >= kFewestRows && rows_.extent(1) * row_bytes() * bands() <= kMostBytes;
}

// Rows of padded images that so many neighbouring positions see, which may begin and end within a row.
int64_t Band::most_rows(int64_t positions) const {
  int64_t rows = std::min(ceil_div(positions, of_row()) + 1, rows_of_all()), further_images = std::min(ceil_div(rows - 1, rows_.out), g_.images - 1);
  return (rows - 1) * rows_.step + rows_.extent(1) + further_images * std::max<int64_t>(height() - rows_.out * rows_.step, 0);
}

IR Band::row_of_padded(IR m) {
  IR row = b_.CreateUDiv(m, k_.i64(of_row())), image = b_.CreateUDiv(row, k_.i64(rows_.out));
  return k_.add(k_.mul(image, height()), k_.mul(b_.CreateURem(row, k_.i64(rows_.out)), rows_.step));
}

IR Band::position(IR m) { return of_row() == columns_.out ? m : k_.add(k_.mul(b_.CreateUDiv(m, k_.i64(of_row())), columns_.out), b_.CreateURem(m, k_.i64(of_row()))); }

IR Band::element(IR k) {
  IR line = b_.CreateUDiv(k, k_.i64(channels())), places = k_.i64(g_.window_size()), channel = k_.add(k_.mul(b_.CreateUDiv(line, places), channels()), b_.CreateURem(k, k_.i64(channels())));
  return k_.add(k_.mul(b_.CreateURem(line, places), g_.in_features), channel);
}
// Bytes from the first element of a window to each step's first one.
llvm::Constant* Band::distances() const {
  SmallVector<int64_t> result;
  for (int64_t band = 0; band < bands(); ++band)
    for (int64_t row = 0; row < rows_.window; ++row)
      for (int64_t column = 0; column < columns_.window; ++column) result.push_back(band * band_bytes_ + row * rows_.dilation * row_bytes() + column * columns_.dilation * kLine);
  return llvm::ConstantDataArray::get(b_.getContext(), result);
}

void Band::copy(IR m, IR count, IR memory) {
  memory_ = memory, first_ = row_of_padded(m);
  IR last = row_of_padded(k_.add(b_.CreateAdd(m, count), k_.i64(-1)));
  k_.loop(first_, k_.add(last, k_.i64(rows_.extent(1))), [&](IR row) {
    IR y = k_.add(b_.CreateURem(row, k_.i64(height())), k_.i64(-rows_.low)), image = b_.CreateUDiv(row, k_.i64(height()));
    copy_row(image, y, bytes_from(memory, k_.mul(b_.CreateSub(row, first_), row_bytes())));
  });
}

// Row y of an image, in all bands; zeros outside.
void Band::copy_row(IR image, IR y, IR target) {
  const int64_t left = std::clamp<int64_t>(columns_.low, 0, width()), from = std::max<int64_t>(-columns_.low, 0), count = std::clamp<int64_t>(columns_.in - from, 0, width() - left);
  auto* line = k_.vector(b_.getInt8Ty(), kLine);
  IR first = k_.add(k_.add(k_.mul(image, g_.in_image), k_.mul(y, rows_.in_stride)), k_.i64(from * columns_.in_stride)), source = b_.CreateGEP(b_.getInt8Ty(), input_, k_.mul(first, bytes_));
  IR inside = b_.CreateICmpULT(y, k_.i64(rows_.in));
  auto pixel_of = [&](IR band, IR x) { return bytes_from(target, k_.add(k_.mul(band, band_bytes_), k_.mul(x, kLine))); };
  auto zero = [&](int64_t begin, int64_t end) {
    if (begin < end) k_.loop(k_.i64(0), k_.i64(bands()), [&](IR band) { b_.CreateMemSet(pixel_of(band, k_.i64(begin)), b_.getInt8(0), (end - begin) * kLine, llvm::Align(kLine)); });
  };
  // Pixel by pixel, as they lie: band by band each would be fetched line by line, in an order that the hardware does not foresee.
  auto copy = [&] {
    zero(0, left);
    k_.loop(k_.i64(0), k_.i64(count), [&](IR x) {
      IR pixel = bytes_from(source, k_.mul(x, columns_.in_stride * bytes_));
      k_.loop(k_.i64(0), k_.i64(bands()), [&](IR band) {
        IR channels = b_.CreateAlignedLoad(line, bytes_from(pixel, k_.mul(band, kLine)), llvm::Align(bytes_));
        b_.CreateAlignedStore(channels, pixel_of(band, k_.add(x, k_.i64(left))), llvm::Align(kLine));
      });
    });
    zero(left + count, width());
  };
  k_.either(inside, copy, [&] { zero(0, width()); });
}

MatmulSpec::TilesInPlace Band::tiles() {
  MatmulSpec::TilesInPlace t;
  t.rows = rows_of_tile_, t.pitch = columns_.step * kLine;
  t.most = [this](int64_t bytes) { return std::max<int64_t>((bytes / bands() / row_bytes() - rows_.extent(1)) / rows_.step + 1, 1) * of_row(); };
  t.scratch = [this](int64_t positions) {
    band_bytes_ = most_rows(positions) * row_bytes();
    llvm::Constant* known = distances();
    distances_ = new llvm::GlobalVariable(k_.module, known->getType(), true, llvm::GlobalValue::PrivateLinkage, known, "distances");
    return band_bytes_ * bands();
  };
  t.make = [this](IR m, IR count, IR memory) { copy(m, count, memory); };
  t.first = [this](IR m) {
    IR row = b_.CreateSub(row_of_padded(m), first_), column = b_.CreateURem(m, k_.i64(of_row()));
    return bytes_from(memory_, k_.add(k_.mul(row, row_bytes()), k_.mul(column, columns_.step * kLine)));
  };
  t.along = [this](IR k) { return b_.CreateLoad(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt64Ty(), distances_, b_.CreateUDiv(k, k_.i64(channels())))); };
  if (of_row() != columns_.out) t.exists = [this](IR m) { return b_.CreateICmpULT(b_.CreateURem(m, k_.i64(of_row())), k_.i64(columns_.out)); };
  return t;
}

}  // namespace cresset::cpu
