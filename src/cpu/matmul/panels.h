// The inside of a matrix product: panels of its operands, packed, and the tile of sums that stays in registers.
#pragma once

#include <optional>

#include "cpu/emit/kernels.h"
#include "cpu/matmul/tiles.h"

namespace cresset::cpu {

/// C[b,m,n] = sum_k A[b,m,k] B[b,k,n]. Only K may be 0: of a phase of a convolution no place of the window may meet the input.
struct MatmulSpec {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  mlir::Type a_type, b_type;
  mlir::Type converted;         ///< what elements of both are converted to where they are read, before they are multiplied; null: nothing
  bool seven_bits = false;      ///< of bytes: the unsigned ones are at most 127
  int64_t a_zero = 0;           ///< of bytes that are summed in i32: the number that is taken away from each element of A
  /// Unless null, what B's elements are instead of those in memory, `lanes` of them along the dimension of unit stride, from a multiple of `lanes` on. `b`, if it isn't null, has an element for each then.
  std::function<IR(IR batch, IR k, IR n, int lanes)> b_made;
  int64_t b_run = 0;  ///< of b_made, unless 0: so many columns are neighbours, and all of K lies between them and the next ones; whole vectors
  mlir::Type type;  ///< of C: its compute type is that of the sums
  IR a = nullptr, b = nullptr;  ///< arrays
  IR packed = nullptr;          ///< unless null, where B's panels may be kept, behind a PackedWeight's header: of tiles, which then set Kernel::packed_bytes

  /// Element offsets.
  std::function<IR(IR batch, IR m, IR k)> a_offset;
  std::function<IR(IR batch, IR k, IR n)> b_offset;
  /// Instead of b_offset: packs panels itself (of a convolution's windows), whose columns beyond N may hold any number.
  struct Block {
    IR batch, k0, n0, k, n;         ///< its first row and column, how many
    std::function<IR(IR n)> panel;  ///< address of the panel of the columns from n on; n counts from the block's first
    int64_t width;                  ///< of a panel, whose rows follow each other
    int lanes;                      ///< of a vector; divides the width
    IR scratch;                     ///< `pack_scratch` bytes, then `column_scratch` for each column
    bool asked;                     ///< whether its memory was asked for before
  };
  std::function<void(const Block&)> pack_b;
  bool packs_units = false;     ///< so that nothing is left to be paired
  bool panel_by_panel = false;  ///< packs one at a time, right before all rows of the block pass it; b_offset, if there is one, says what to prefetch for the next
  int64_t b_pitch = 0;          ///< unless 0, a whole panel could be read where it lies, at b_offset, its rows so many elements apart
  int64_t b_spread = 1;         ///< elements of memory from one column to the next, for what is prefetched
  /// Unless 0, rows of a panel overlap: those of a line of K, `window` of them, are parts of one longer row, each begins `apart` elements behind the one before. pack_b packs the long ones.
  struct Line {
    int64_t window = 0, apart = 0;
    int64_t length(int64_t width, int64_t lanes) const { return round_up(width + (window - 1) * apart, lanes); }
  } line;
  int64_t pack_scratch = 0, column_scratch = 0;  ///< for each block, and besides for each of its columns
  int64_t k_unit = 1;  ///< blocks of K are multiples of it
  /// Unless 0, A lies along K in runs of so many neighbours, and is only read in place: element k of a row is as far from its first one in all rows. k_unit divides it.
  int64_t a_run = 0;
  int64_t k_run = 0;   ///< unless 0, blocks of K don't cross its multiples, between which neighbours in K need not be neighbours in memory
  /// The batch as groups whose sizes are known only when it runs: of the rows, of which each is multiplied with the B of its group, or of K. `ends` are i32s that don't decrease.
  enum Groups { None, Rows, Depth };
  Groups groups = None;
  IR ends = nullptr;
  /// Whether the code is to serve other numbers of rows, of columns.
  bool any_m = false, any_n = false;
  /// Whether tiles of as many rows, columns, never reach beyond the last one.
  bool divides_rows(int64_t rows) const { return groups != Rows && !any_m && m % rows == 0; }
  bool divides_columns(int64_t columns) const { return !any_n && n % columns == 0; }
  /// Instead of a_offset, for tiles: packs the rows of a panel itself.
  struct RowsOfA {
    IR batch, k0, k;                         ///< its first element along K, how many
    int64_t count;                           ///< of rows
    std::function<IR(IR i)> row;             ///< of A
    std::function<IR(IR step, IR i)> place;  ///< of the elements of a step along K in the panel
  };
  std::function<void(const RowsOfA&)> pack_a;
  /// Instead of both: A's rows tile by tile, multiplied where they lie. Some of a tile's may be none of C's.
  struct TilesInPlace {
    int64_t rows = 0, pitch = 0;                        ///< of a tile; bytes from one to the next
    std::function<int64_t(int64_t bytes)> most;         ///< so many rows take about so many bytes
    std::function<int64_t(int64_t rows)> scratch;       ///< bytes that the most take that are made at once; asked once
    std::function<void(IR m, IR count, IR memory)> make;  ///< brings rows to memory
    std::function<IR(IR m)> first;                      ///< address of the tile that begins with row m, in what was made last
    std::function<IR(IR k)> along;                      ///< bytes from an element to the one that is k further along K
    std::function<IR(IR m)> exists;                     ///< whether row m of A is one of C; null: all are
  } tiles_in_place;
  /// Whether neighbours in that dimension are neighbours in memory.
  bool a_unit_k = false, a_unit_m = false, b_unit_n = false, b_unit_k = false;

  /// Takes the elements n, n + 1, … of a row of C, once each; vectors only if it says so.
  std::function<void(IR batch, IR m, IR n, IR sum, int lanes)> store;
  bool store_vectors = true;
  int64_t n_run = 0;  ///< unless 0, vectors that are stored don't cross its multiples, between which neighbours in N need not be neighbours in memory
  /// Asks for the memory that `store` will read there, or write; may be absent.
  std::function<void(IR batch, IR m, IR n, bool to_write)> prefetch;
  bool may_use_tiles = true;    ///< of AMX: only for who multiplies through Panels::multiply_tiles()
  int float_parts = 1;          ///< so many bf16s for these tiles may f32s be split into, 3 or 2: only for who asks Panels::cannot_split() before the sums are used,
  bool splits_few = false;      ///< and however few rows and terms there are
  /// Arrays of C's size that `store` reads and writes. Several are better walked along whole rows than tile by tile.
  EpilogueStreams streams{1};
  bool by_rows() const { return streams.count > 3; }
};

/// How many parts of f32s `precision_config` asks for: 2, of 16 bits together, where it is HIGH for both operands, else all 3.
int parts_of_floats(std::optional<mlir::ArrayAttr> precision);

/// Packs operands and multiplies panels. A panel of A is [k][mr], one of B [k][nr]; a tile is mr x vectors registers. Where the machine
/// multiplies pairs of bf16, a unit of a panel is such a pair, of two neighbours along K, and takes the place of one f32. Bytes whose sums are i32 are multiplied by fours where the machine
/// does (VNNI), or where sums of two products have 16 bits (pmaddubsw, which saturates); elsewhere as pairs of 16-bit integers.
/// For AMX a panel of B is the same, the rows of a panel of A are divided into tiles, [k / 32][tile][row][32], and both end with zeros. An f32 is the sum of three bf16, each of which has
/// the next eight of its bits (split_panels.cpp): of every 32 elements along K the first parts come first, the second, the third; a unit are two elements 16 apart. Two parts are rounded to 16 bits.
class Panels {
 public:
  /// `most_rows` of a tile; 0: as many as make the least of loads. With `ends`, what is left of the columns beyond whole panels gets a narrowed() one.
  Panels(KernelEmitter& k, const MatmulSpec& spec, int64_t most_rows = 0, bool ends = false);
  /// The same rows, and as few vectors as hold so many columns, or half of one.
  Panels narrowed(int64_t columns) const;
  /// Those for the last columns of all, if there are fewer than a panel has and these get one of their own.
  std::optional<Panels> end() const;
  /// Those that multiply the first columns only of panels as wide as this one's, the narrowest first.
  std::vector<Panels> parts() const;
  /// With tiles: for 16 columns.
  Panels one_tile_across() const;
  /// The panels of some columns in turn, of which `last` is the last one of all; n counts from the first column.
  void each(std::optional<Panels>& last, IR columns, const std::function<void(Panels& p, IR n)>& body);
  /// So many columns are computed in order to have n of them.
  int64_t computed(int64_t n) const;

  /// The sums of a panel of A and one of B, as AMX holds them.
  struct Grid {
    int64_t rows;          ///< of a tile of A or of sums
    int64_t down, across;  ///< tiles
  };
  std::optional<Grid> grid;  ///< of tiles, if they are used: then mr = rows x down, nr = 16 x across
  std::optional<TileRegisters> registers;

  llvm::Type* type;      ///< of the sums
  enum Kind { Numbers, PairsOfBf16, SplitFloats, PairsOfWords, FoursOfBytes } kind;
  llvm::Type* unit;      ///< of a panel; as large as `type`
  int depth;             ///< elements along K in a unit
  int parts_of_element = 1;  ///< units of each follow each other
  int bytes, lanes, vectors;
  int most_sums;         ///< vectors of sums that the registers hold beside operands
  int64_t unrolled;      ///< units along K that a turn of multiply()'s loop adds: a counter is a tenth of the instructions where there are 12 sums
  int64_t mr, nr;
  int64_t packed;        ///< columns of the panels that it reads: nr, or more
  bool ends;             ///< whether the last columns get a narrowed() one,
  bool is_end = false;   ///< and whether this is it
  int64_t columns() const { return s_.n; }
  /// `count` elements along K in a panel, with the zeros at its end.
  int64_t padded(int64_t count) const { return round_up(count, grid ? tile_depth() : depth); }
  /// Units of a row or column of a panel that has `count` elements along K.
  int64_t height(int64_t count) const { return padded(count) / depth * parts_of_element; }

  /// Whether products of unsigned and signed bytes, two of which are summed in 16 bits, are exact.
  bool pairs_of_bytes_fit() const { return s_.seven_bits && k_.target.avx2() && is_unsigned(s_.a_type) != is_unsigned(s_.b_type); }
  /// Whether A is multiplied as it lies: neither converted, nor short of what flips_b() needs.
  bool a_lies_in_units() const;
  /// vpdpbusd, not AMX, multiplies unsigned by signed bytes: of two alike, those of B are packed with their highest bit flipped, which adds 128, or takes it away. Sums begin with what makes up for it.
  bool flips_b() const;
  IR flipped(IR units);
  /// What sums of a panel's rows begin with then, a lane for each row and others of no meaning.
  IR made_up_for_flips(IR panel, IR count);
  /// Whether sums begin with something for a_zero. Where bytes are widened it is taken away from them at once.
  bool makes_up_for_zero() const { return kind == FoursOfBytes && s_.a_zero; }
  /// With what, for each vector of a panel of B: - a_zero times the sum of its column.
  IRs made_up_for_zero(IR panel, IR count);
  /// Units of ones; what its flipped bit adds to an element of B.
  IR ones() { return k_.splat(b_.getInt32(0x01010101), lanes); }
  int64_t added_by_flip() const { return flips_b() ? (is_unsigned(s_.b_type) ? -128 : 128) : 0; }

  /// Elements along the dimension of unit stride, in the type of the sums.
  IR load_a(IR batch, IR m, IR k, int lanes);
  IR load_b(IR batch, IR k, IR n, int lanes);
  /// Asks for the line of memory that holds an element.
  void prefetch_b(IR batch, IR k, IR n, int cache = 1) {
    if (s_.b) k_.prefetch(b_.CreateGEP(k_.memory_type(s_.b_type), s_.b, s_.b_offset(batch, k, n)), false, cache);
  }
  /// Units of a row of A, of a column of B, from k on, which are neighbours in memory.
  IR row_of_a(IR batch, IR m, IR k, int units);
  IR column_of_b(IR batch, IR k, IR n, int units);
  /// sum + a b, of units.
  IR product(IR a, IR b, IR sum);
  /// The panel of the mr rows from m, columns [k0, k0 + count). Rows beyond M repeat the last one.
  void pack_a(IR batch, IR m, IR k0, IR count, IR panel);
  /// The panels of the rows [m0, m0 + rows), columns [k0, k0 + count).
  void pack_a(IR batch, IR m0, IR rows, IR k0, IR count, const std::function<IR(IR m)>& panel);
  /// The panels of the columns [n0, n0 + columns), rows [k0, k0 + count). What columns beyond N hold is of no meaning, but finite
  /// where the last column is.
  void pack_b(IR batch, IR n0, IR columns, IR k0, IR count, const std::function<IR(IR n)>& panel);
  /// A row of the panel of the columns from n, none of them beyond N: of elements from k on, zeros from `end`. Neighbours in N are neighbours in memory.
  void whole_row_of_b(IR batch, IR n, IR k, IR end, IR target);
  /// Of `count` elements along K.
  IR units(IR count);
  /// sums[i][v] + sum over the `count` elements along K of a(i, k) * panel[k][v]; `a` gives the address of a unit, k counts units.
  /// Rows of the panel are `pitch` units apart, or as they are packed.
  IRs multiply(const std::function<IR(int64_t i, IR k)>& a, IR panel, IR count, IRs sums, int64_t pitch = 0);
  /// Row k of a panel of B, from the panel's beginning; k is a multiple of a line of K where there are lines.
  IR row_of_panel(IR k) { return s_.line.window ? k_.mul(b_.CreateUDiv(k, k_.i64(s_.line.window)), s_.line.length(packed, lanes)) : k_.mul(k, packed); }
  /// The sums of rows[i][k] * columns[j][k] over `count` of k, j after j for each i; addresses of what lies in memory along K, in the type of the sums.
  IRs dots(llvm::ArrayRef<IR> rows, llvm::ArrayRef<IR> columns, IR count);
  /// Where tiles of A begin, or of B, and how far their rows, parts of elements and the ones of a step along K are from there, in bytes.
  struct Tiles {
    IRs tiles;
    int64_t row, part;
    std::function<IR(IR step)> along;
  };
  /// `count` of them, so many bytes `apart`.
  Tiles tiles_of(IR first, int64_t count, int64_t apart, int64_t row, int64_t part, int64_t step) const;
  Tiles packed_tiles_of_a(IR panel) const;
  Tiles packed_tiles_of_b(IR panel) const;
  /// Rows of bf16 as they lie, zero up to a multiple of 32.
  Tiles rows_as_tiles(IR first, int64_t pitch) const { return tiles_of(first, grid->down, grid->rows * pitch, pitch, 0, TileRegisters::kBytes); }
  /// Where they lie in memory, if nothing packed them.
  Tiles tiles_in_place(IR m, IR k0) const;
  /// sums (+)= tiles of A · panel of B; rows of sums lie `pitch` bytes apart.
  void multiply_tiles(const Tiles& a, IR panel, IR count, IR sums, int64_t pitch, IR add);
  /// The same step by step: 32 elements along K. `between` is called behind each product of parts, whose number it gets.
  void begin_tiles(IR sums, int64_t pitch, IR add);
  void multiply_step(const Tiles& a, const Tiles& b, IR step, llvm::function_ref<void(int product)> between);
  void end_tiles(IR sums, int64_t pitch);
  IR steps(IR count) { return b_.CreateUDiv(b_.CreateAdd(count, k_.i64(tile_depth() - 1)), k_.i64(tile_depth())); }
  IR whole_steps(IR count) { return b_.CreateUDiv(count, k_.i64(tile_depth())); }
  int64_t tile_depth() const { return TileRegisters::kRows * depth; }  ///< elements along K of a step
  int products_of_step() const;                                                      ///< of parts
  int64_t units_of_step() const { return TileRegisters::kRows * parts_of_element; }  ///< of a row or column of a panel
  /// Where a panel of B lies, and what it is packed of: so many of its columns exist.
  struct PanelOfB {
    IR batch, n, k0, columns, panel;
  };
  /// The parts of a panel of f32s.
  void split_panel(IR floats, IR panel, IR count);
  /// What packs the `v`-th share of one step of a panel, in turn, with about as much work each: 16 columns or, of what lies along N, so that each line of memory is read once, some rows. Of the elements
  /// along K from there on `left` exist, or all if that is null.
  std::vector<std::function<void()>> pieces_of_b(const PanelOfB& p, IR step, IR v, IR left = nullptr);
  bool packs_rows() const { return kind != SplitFloats && !s_.b_unit_k; }
  /// Of SplitFloats: whether numbers that were packed since watch_numbers() are not the sums of their parts, as one is infinite, or all those of A, or of B, are tiny.
  IR cannot_split();
  void watch_numbers() { watch_a(), watch_b(); }
  /// Either operand's by itself; whether all of its numbers are tiny.
  void watch_a() { begin_watch(watch_a_); }
  void watch_b() { begin_watch(watch_b_); }
  IR a_is_tiny() { return are_tiny(watch_a_); }
  IR b_is_tiny() { return are_tiny(watch_b_); }
  /// Of 16 elements and those 16 further along K: the units of each part.
  IRs split_of_a(IR low, IR high) { return split(low, high, watch_a_); }
  IRs split_of_b(IR low, IR high) { return split(low, high, watch_b_); }
  /// Makes pairs of a panel of B whose rows are bf16, in place.
  void pair_up(IR panel, IR count);
  /// For AMX the end of a panel of B, if there are tiles.
  void zero_end(IR panel, IR count);
  IRs zeros() { return IRs(mr * vectors, llvm::Constant::getNullValue(k_.vector(type, lanes))); }
  IR vector_at(IR base, IR index, int64_t v) { return b_.CreateInBoundsGEP(unit, base, k_.add(index, k_.i64(v * lanes))); }

 private:
  std::optional<Grid> choose_grid() const;
  llvm::Intrinsic::ID product_of_tiles() const;
  bool splits_floats() const;
  bool has_whole_steps() const { return k_.divides(tile_depth(), s_.k) && (s_.k_unit == 1 || s_.k_unit % tile_depth() == 0) && s_.k_run % tile_depth() == 0 && s_.groups != MatmulSpec::Depth; }  ///< and nothing else
  IR row_of_tile(IR m, IR i) { return s_.divides_rows(mr) ? b_.CreateAdd(m, i) : k_.min(b_.CreateAdd(m, i), k_.i64(s_.m - 1)); }
  void each_sum(IR sums, int64_t pitch, llvm::function_ref<void(int tile, IR address)> body);
  IR place_in_tiles(IR panel, IR step, IR i, int64_t part = 0);
  void pack_tiles_of_a(IR batch, IR m, IR k0, IR count, IR panel);
  /// What is known of the numbers of an operand, in memory: a vector that is NaN where one is not finite, and the bits that some have.
  struct Watch {
    IR finite = nullptr, bits = nullptr;
  };
  void prepare_to_split();
  void begin_watch(const Watch& w);
  IR are_tiny(const Watch& w);
  IRs split(IR low, IR high, const Watch& watch);
  IR some_of(mlir::Type memory, IR base, IR offset, IR count, llvm::function_ref<IR(IR i, int lanes)> load);
  IR some_of_a(IR batch, IR m, IR k, IR count);
  IR some_of_b(IR batch, IR k, IR n, IR count);
  void split_a(IR batch, IR m, IR k0, IR count, IR panel);
  void split_b(const PanelOfB& p, IR count);
  void put_split_row(IR panel, IR step, IR u, IR v, IR low, IR high);
  std::vector<std::function<void()>> pieces_of_split_b(const PanelOfB& p, IR step, IR v, IR left);
  Kind choose_kind() const;
  mlir::Type multiplied_as(mlir::Type t) const { return s_.converted ? s_.converted : t; }
  IR numbers(mlir::Type from, IR base, IR offset, int lanes);
  IR halves(IR base, IR offset, int lanes);
  IR parts(mlir::Type from, IR base, IR offset, int lanes, int64_t zero = 0);
  IR parts_of_b(IR batch, IR k, IR n, int count);
  IRs parts_below(IR k, IR end, const std::function<IR(IR k)>& parts_at);
  IR joined(llvm::ArrayRef<IR> parts);
  IR unit_of_a(IR batch, IR m, IR k, IR end, int lanes);
  IR units_of_b(IR batch, IR k, IR n, IR end, int lanes);
  IRs row_of_units_of_b(IR batch, IR k, IR n, IR end);
  IRs interleaved(IR low, IR high);
  void put(IR value, IR panel, IR index);
  void one_row_of_b(IR batch, IR n, IR k, IR end, IR columns, IR target);
  IR by_registers(llvm::ArrayRef<IR> operands, llvm::function_ref<IR(llvm::ArrayRef<IR>)> product);
  IR call(llvm::ArrayRef<unsigned> by_lanes, int lanes, llvm::ArrayRef<IR> operands);
  IR product_of_words(IR a, IR b);
  IR product_of_bytes(IR unsigned_bytes, IR signed_bytes, IR sum);
  void pack_b_transposed(IR batch, IR n, IR left, IR k0, IR count, IR panel);

  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const MatmulSpec& s_;
  Watch watch_a_, watch_b_;
};

}  // namespace cresset::cpu
