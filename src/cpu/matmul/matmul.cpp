// Products whose tile of sums stays in vector registers.
#include <numeric>

#include "cpu/matmul/blocked_product.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The tile that computes the least that nobody wants beyond the ends of C: fewer rows by more vectors than usual (128 rows are 22 times six, 12 are twice eight), or a
// narrower panel for the last columns (49 are 48 and half a vector), which is more code.
Panels best_panels(KernelEmitter& k, const MatmulSpec& s) {
  Panels usual(k, s);
  if (usual.grid || s.any_n || (s.pack_b && !s.panel_by_panel)) return usual;
  auto computed = [&](int64_t rows, bool ends) {
    Panels p(k, s, rows, ends);
    return double(s.any_m ? s.m : round_up(s.m, p.mr)) * double(p.computed(s.n));
  };
  int64_t rows = 0;
  bool ends = false, many = k.target.registers == 32;
  auto consider = [&](int64_t r, bool e, double less) {
    if (computed(r, e) < less * computed(rows, ends)) rows = r, ends = e;
  };
  for (int64_t r = many ? 7 : 4; r >= (many ? 5 : 4); --r) consider(r, false, 0.98);
  for (int64_t r : {int64_t(0), rows}) consider(r, true, 0.96);
  return Panels(k, s, rows, ends);
}

class RegisterProduct : public BlockedProduct {
 public:
  RegisterProduct(KernelContext& c, const MatmulSpec& s) : BlockedProduct(c, s, best_panels(c.k, s)) {}

 private:
  // What suits a kind of tile. A panel of B takes half of the L1 cache, or three quarters with tiles of fewer rows, which read less of A. With 32 registers it comes
  // from L2, in order: then sums leave the registers seldom, and rows that are read in place are long. Packing an element takes the time of so many multiply-adds; windows are
  // looked for in the input.
  Limits limits() const {
    bool block = packs_windows_of_block();
    if (k_.target.registers == 32) return {block ? 384 : 768, block ? 480 : 960, 12, block ? 28 : 12};
    return {block ? 264 : 512, block ? 400 : 1024, 12, block ? 28 : 12};
  }
  int64_t panel_bytes() const { return (k_.target.registers == 32 ? (packs_windows_of_block() ? 36 : 96) : p_.vectors > 2 ? 24 : 16) * 1024; }
  void plan() override {
    c_.kernel.cost = 0.25 * (s_.groups ? 1 : s_.batch) * s_.m * s_.n * s_.k / p_.depth;
    Limits most = limits();
    int64_t kc = row_by_row() ? s_.k : equal_part(std::max<int64_t>(run(), 1), panel_bytes() / (nr_ * p_.bytes) * p_.depth, s_.k_unit > 1 ? s_.k_unit : p_.padded(1));
    if (row_by_row()) most.columns = std::min(most.columns, kBytesOfColumns / (p_.padded(s_.k) / p_.depth * p_.bytes));
    choose_blocks(kc, most);
    // Few columns use an element of A too seldom to pay for packing it. Pairs are read as they lie, if none goes beyond the end of K.
    bool units = p_.depth == 1 || (s_.groups != MatmulSpec::Depth && run() % p_.depth == 0 && kc_ % p_.depth == 0);
    in_place_ = s_.a_run || (s_.a_unit_k && nb_ <= 12 * nr_ && units && p_.a_lies_in_units());
  }
  void reserve_scratch() override {
    packed_a_ = reserve(in_place_ ? 0 : mc_ * p_.height(kc_));
    made_up_ = reserve(p_.flips_b() ? mc_ + p_.lanes : 0);
    made_up_for_columns_ = reserve(p_.makes_up_for_zero() ? nr_ : 0);
    packed_b_ = reserve((packs_block() ? nb_ : packs_ahead() ? 2 * nr_ : nr_) * p_.height(kc_));
    pack_scratch_ = c_.kernel.reserve(s_.pack_scratch + nb_ * s_.column_scratch);
    turned_ = reserve(end_ && by_dots(*end_) ? s_.n % nr_ * kc_ : 0);
    sums_ = reserve(keeps_block() ? mc_ * nb_ : mr_ * nr_);
    if (may_keep_panels() && !packs_ahead()) keep_panels();
  }

  bool packs_block() const { return packs_windows_of_block() || row_by_row(); }
  // Where the sums have few terms, what is stored takes the time: then whole rows of a block follow each other, by columns that are all packed before, a quarter of L2,
  // so that memory is read and written in order. A panel of A is what stays in L1. With 16 registers (not measured with 32), also of a first convolution of 27 terms, and
  // where all columns are that small beside A: its rows would be read for each panel, and faster than memory gives them.
  static constexpr int64_t kFewTerms = 256, kBytesOfColumns = 256 * 1024;
  static constexpr int64_t kFewestTerms = 32, kManyTerms = 1024;
  bool row_by_row() const {
    if (!s_.panel_by_panel || s_.k == 0) return false;
    if (s_.k <= kFewTerms && 2 * s_.k <= s_.m) return true;
    if (k_.target.registers == 32) return false;
    return (s_.k <= kFewestTerms && s_.k <= s_.m) || (!s_.any_n && s_.k <= kManyTerms && 2 * s_.m >= s_.n && s_.k * s_.n * p_.bytes <= kBytesOfColumns);
  }
  // Or not at all: packing is worth it for many tiles, or where rows of B would throw each other out of L2, because they begin in too few of its sets.
  static constexpr int64_t kFewTiles = 32, kFewestTiles = 4, kBytesOfWay = 64 * 1024, kWaysOfPanel = 8;
  bool rows_of_b_collide() const { return std::min(kc_, s_.k) * std::gcd(s_.b_pitch * p_.bytes, kBytesOfWay) > kWaysOfPanel * kBytesOfWay; }
  bool reads_b(const Panels& p) const {
    if (!s_.b_pitch || p.is_end || row_by_row() || p_.depth > 1 || k_.target.registers < 32 || s_.any_n || (!end_ && s_.n % nr_)) return false;
    return mc_ <= mr_ * (rows_of_b_collide() ? kFewestTiles : kFewTiles);
  }
  // Else, where it is only copied, the tiles of one panel pack the next one.
  bool packs_ahead() const override { return !s_.pack_b && s_.b_unit_n && s_.n >= nr_; }

  IR panel_b(const Block& at, IR n) { return BlockedProduct::panel_b(at, n, packs_block()); }
  IR sums_of(const Panels& p, IR m, IR n) { return keeps_block() ? kept_sums(p, m, n) : element_of_scratch(sums_, k_.i64(0)); }

  void step(const Block& at) override {
    if (!in_place_) p_.pack_a(at.batch, at.m0, at.m, at.k0, at.k, [&](IR m) { return panel_a(m); });
    if (p_.flips_b()) k_.loop(k_.i64(0), at.m, mr_, [&](IR m) { b_.CreateAlignedStore(p_.made_up_for_flips(panel_a(m), at.k), element_of_scratch(made_up_, m), llvm::Align(4)); });
    auto pack_windows = [&](Panels& p, IR from, IR columns) {
      BlockedProduct::pack_windows(p, at, from, columns, asks_for_b(), [&](IR n) { return panel_b(at, k_.add(from, n)); });
    };
    if (row_by_row()) {
      each_panel(at, [&](Panels& p, IR n) {
        pack_windows(p, n, columns_of_tile(p, at, n));
        if (by_dots(p)) turn_columns(panel_b(at, n), at.k);
      });
      return k_.loop(k_.i64(0), at.m, mr_, [&](IR m) {
        each_panel(at, [&](Panels& p, IR n) {
          as_wide_as_needed(p, at, n, [&](Panels& p) { tile(p, at, m, n); });
        });
      });
    }
    if (packs_block()) pack_windows(p_, k_.i64(0), at.n);
    each_panel(at, [&](Panels& p, IR n) {
      auto pack = [&] { p.pack_b(at.batch, b_.CreateAdd(at.n0, n), columns_of_tile(p, at, n), at.k0, at.k, [&](IR) { return panel_b(at, n); }); };
      if (s_.panel_by_panel && !reads_b(p)) pack_windows(p, n, columns_of_tile(p, at, n));
      else if (packs_ahead()) k_.when(b_.CreateNot(is_packed(at, n)), pack);
      else if (!s_.pack_b) unless_packed(pack);
      if (by_dots(p)) turn_columns(panel_b(at, n), at.k);
      if (p.makes_up_for_zero())
        for (auto [v, sums] : llvm::enumerate(p.made_up_for_zero(panel_b(at, n), at.k))) b_.CreateAlignedStore(sums, made_up_for_columns(p, v), llvm::Align(4));
      as_wide_as_needed(p, at, n, [&](Panels& p) {
        k_.loop(k_.i64(0), at.m, mr_, [&](IR m) { tile(p, at, m, n); });
      });
      if (packs_ahead()) finish_packing(at, n);
    });
  }

  // What the next panel of B is packed from is asked for by the tiles of this one, while their multiply-adds leave the memory idle. Each tile asks for its share of parts,
  // spread over all of K, which gains more than one burst of them (Zen 4, 128 rows: 92 in place of 89 % of the peak, 84 without).
  static constexpr int64_t kLinesOfPart = 4, kLeastBetween = 8, kElementsOfRow = 64;  // the last: of each row of A that a part asks for
  int64_t elements_of_line() const { return std::max<int64_t>(64 / element_bytes(s_.b_type) / s_.b_spread, 1); }
  // Neighbours in memory: a row of the panel, or a column.
  int64_t runs_of_b() const { return s_.b_unit_k ? nr_ : kc_; }
  int64_t lines_of_run() const { return ceil_div(s_.b_unit_k ? kc_ : nr_, elements_of_line()); }
  int64_t parts_of_run() const { return ceil_div(lines_of_run(), kLinesOfPart); }
  bool asks_for_b() const { return s_.b && s_.b_offset && !row_by_row(); }
  int64_t wanted_parts() const {
    int64_t most = std::max<int64_t>(kc_ / (kLeastBetween * p_.depth), 1), of_a = in_place_ ? ceil_div(kc_, kElementsOfRow) : 1;
    return std::clamp<int64_t>(asks_for_b() ? ceil_div(runs_of_b() * parts_of_run(), ceil_div(mc_, mr_)) : 1, std::min(of_a, most), most);
  }
  int64_t parts_of_tile() const { return s_.a_run ? ceil_div(kc_, length_of_part()) : wanted_parts(); }
  void ask_for_b(const Block& at, IR part, IR n) {
    int64_t lines = std::min(lines_of_run(), kLinesOfPart);
    IR run = k_.min(b_.CreateUDiv(part, k_.i64(parts_of_run())), k_.i64(runs_of_b() - 1)), first = b_.CreateURem(part, k_.i64(parts_of_run()));
    for (int64_t line = 1; line <= lines; ++line) {
      // The last element: where runs begin within a line, its first ones came with the panel before.
      IR along = b_.CreateAdd(k_.mul(first, lines * elements_of_line()), k_.i64(line * elements_of_line() - 1));
      IR k = s_.b_unit_k ? along : run, column = s_.b_unit_k ? run : along;
      p_.prefetch_b(at.batch, b_.CreateAdd(at.k0, k), b_.CreateAdd(n, column));
    }
  }

  int64_t length_of_part() const {
    int64_t length = round_up(ceil_div(kc_, wanted_parts()), s_.line.window ? s_.line.window : p_.depth * p_.unrolled);
    if (s_.a_run) length = length >= s_.a_run && kc_ % s_.a_run == 0 ? s_.a_run : s_.k_unit;  // within a run
    return length;
  }
  IR parts_of(IR count) { return b_.CreateUDiv(b_.CreateAdd(count, k_.i64(length_of_part() - 1)), k_.i64(length_of_part())); }
  int64_t rows_of_part() const { return ceil_div(ceil_div(kc_, p_.depth), ceil_div(mc_, mr_) * parts_of_tile()); }
  void pack_row(const Block& at, const Panel& p, IR panel, IR u) {
    IR column = k_.min(b_.CreateAdd(at.n0, p.n), k_.i64(s_.n - nr_));  // if there is no such panel
    p_.whole_row_of_b(at.batch, column, b_.CreateAdd(p.k0, k_.mul(u, p_.depth)), b_.CreateAdd(p.k0, p.k), b_.CreateInBoundsGEP(p_.unit, panel, k_.mul(u, nr_)));
  }
  void pack_part(const Block& at, IR n, IR part) {
    constexpr int64_t kPartsAhead = 4;
    Panel p = next_panel(at, n);
    IR units = p_.units(p.k), panel = panel_b(at, k_.add(n, k_.i64(nr_)));
    k_.repeat(rows_of_part(), [&](IR i) {
      IR u = k_.add(k_.mul(part, rows_of_part()), i), later = k_.add(u, k_.i64(kPartsAhead * rows_of_part())), is_beyond = b_.CreateICmpSGE(later, units);
      later = b_.CreateSelect(is_beyond, b_.CreateSub(later, units), later);
      IR column = b_.CreateAdd(at.n0, b_.CreateSelect(is_beyond, k_.add(p.n, k_.i64(nr_)), p.n));
      for (int64_t d = 0; d < p_.depth; ++d)
        for (int64_t line = 1; line <= lines_of_run(); ++line)
          p_.prefetch_b(at.batch, b_.CreateAdd(p.k0, k_.add(k_.mul(later, p_.depth), k_.i64(d))), k_.add(column, k_.i64(line * elements_of_line() - 1)));
      pack_row(at, p, panel, k_.min(u, k_.add(units, k_.i64(-1))));
    });
  }
  void finish_packing(const Block& at, IR n) {
    Panel p = next_panel(at, n);
    IR tiles = b_.CreateUDiv(b_.CreateAdd(at.m, k_.i64(mr_ - 1)), k_.i64(mr_)), packed = k_.mul(b_.CreateMul(tiles, parts_of(at.k)), rows_of_part());
    k_.when(p.exists, [&] { k_.loop(packed, p_.units(p.k), [&](IR u) { pack_row(at, p, panel_b(at, k_.add(n, k_.i64(nr_))), u); }); });
  }

  // Few last columns: dot products along K with rows of A where they lie, which leave no lane idle; of so many rows at a time.
  bool by_dots(const Panels& p) const { return p.is_end && in_place_ && !s_.line.window && p_.depth == 1 && p_.type->isFloatingPointTy() && s_.n % nr_ <= p_.lanes / 2 && rows_of_dots() > 1; }
  int64_t rows_of_dots() const { return std::min(mr_, p_.most_sums / (s_.n % nr_)); }
  IR turned_column(int64_t j, IR k) { return element_of_scratch(turned_, k_.add(k_.i64(j * kc_), k)); }
  void turn_columns(IR panel, IR count) {
    k_.loop(k_.i64(0), count, [&](IR k) {
      for (int64_t j = 0; j < s_.n % nr_; ++j) b_.CreateStore(b_.CreateLoad(p_.unit, b_.CreateInBoundsGEP(p_.unit, panel, k_.add(k_.mul(k, end_->nr), k_.i64(j)))), turned_column(j, k));
    });
  }
  IRs dots(Panels& p, const Block& at, IR m, IR n) {
    k_.loop(k_.i64(0), parts_of(at.k), [&](IR part) { care_for_b(p, at, m, n, part); });
    const int64_t columns = s_.n % nr_;
    IRs rows = rows_in_place(at, m), turned, all;
    for (int64_t j = 0; j < columns; ++j) turned.push_back(turned_column(j, k_.i64(0)));
    for (int64_t first = 0; first < mr_; first += rows_of_dots()) llvm::append_range(all, p_.dots(ArrayRef(rows).slice(first, std::min(rows_of_dots(), mr_ - first)), turned, at.k));
    IRs result = p.zeros();
    for (int64_t i = 0; i < mr_; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        IR& row = result[i * p.vectors + j / p.lanes];
        row = b_.CreateInsertElement(row, all[i * columns + j], j % p.lanes);
      }
    return result;
  }

  // What one block of K adds to a tile of C, which is written when it is complete.
  void tile(Panels& p, const Block& at, IR m, IR n) {
    IR memory = sums_of(p, m, n), first = b_.CreateICmpEQ(at.k0, at.k_begin), complete = is_split() ? b_.CreateICmpSGE(b_.CreateAdd(at.k0, at.k), at.k_end) : b_.getTrue();
    if (keeps_block())
      for (int64_t at = 0; at < mr_ * p.nr * p_.bytes; at += 64) k_.prefetch(b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, at), true);
    ask_for_result(p, at, m, n, complete);
    IRs sums = by_dots(p) ? dots(p, at, m, n) : products(p, at, m, n);
    if (IR whole = writes_registers() ? is_whole(p, at, m, n) : b_.getFalse(); whole != b_.getFalse()) {
      k_.when(whole, [&] { write_registers(p, at, m, n, sums); });
      if (whole == b_.getTrue()) return;
      return k_.when(b_.CreateNot(whole), [&] {
        keep(p, sums, memory, false);
        write(p, at, m, n, memory);
      });
    }
    k_.when(is_split() ? first : b_.getTrue(), [&] { keep(p, sums, memory, false); });
    if (is_split()) k_.when(b_.CreateNot(first), [&] { keep(p, sums, memory, true); });
    if (!by_rows()) k_.when(complete, [&] { write(p, at, m, n, memory); });
  }

  void care_for_b(Panels& p, const Block& at, IR m, IR n, IR part) {
    IR tile = b_.CreateUDiv(m, k_.i64(mr_));
    if (packs_ahead()) pack_part(at, n, b_.CreateAdd(b_.CreateMul(tile, parts_of(at.k)), part));
    else if (asks_for_b() && !p.is_end) unless_packed([&] { ask_for_b(at, b_.CreateAdd(k_.mul(tile, parts_of_tile()), part), b_.CreateAdd(at.n0, k_.add(n, k_.i64(nr_)))); });
  }
  // Of A itself.
  IRs rows_in_place(const Block& at, IR m) {
    IRs rows;
    for (int64_t i = 0; i < mr_; ++i) {
      IR row = b_.CreateAdd(b_.CreateAdd(at.m0, m), k_.i64(i));
      if (!s_.divides_rows(mr_)) row = k_.min(row, k_.i64(s_.m - 1));
      rows.push_back(b_.CreateInBoundsGEP(k_.memory_type(s_.a_type), s_.a, s_.a_offset(at.batch, row, at.k0)));
    }
    return rows;
  }
  // How far below these rows the next ones lie, or those of the next step along K.
  IR distance_below(const Block& at, IR m) {
    IR next = k_.add(m, k_.i64(mr_)), is_last = b_.CreateICmpSGE(next, at.m);
    IR below = s_.a_offset(at.batch, b_.CreateAdd(at.m0, b_.CreateSelect(is_last, k_.i64(0), next)), b_.CreateSelect(is_last, b_.CreateAdd(at.k0, at.k), at.k0));
    return b_.CreateSub(below, s_.a_offset(at.batch, b_.CreateAdd(at.m0, m), at.k0));
  }
  IR made_up_for_columns(const Panels& p, int64_t v) { return element_of_scratch(made_up_for_columns_, k_.i64(v * p.lanes)); }
  IRs first_sums(Panels& p, IR m) {
    IRs sums = p.zeros();
    for (int64_t i = 0; p.flips_b() && i < mr_; ++i) {
      IR of_row = k_.splat(b_.CreateLoad(p.type, element_of_scratch(made_up_, k_.add(m, k_.i64(i)))), p.lanes);
      std::fill_n(sums.begin() + i * p.vectors, p.vectors, of_row);
    }
    for (int v = 0; p.makes_up_for_zero() && v < p.vectors; ++v) {
      IR of_columns = b_.CreateAlignedLoad(k_.vector(p.type, p.lanes), made_up_for_columns(p, v), llvm::Align(4));
      for (int64_t i = 0; i < mr_; ++i) sums[i * p.vectors + v] = k_.plus(sums[i * p.vectors + v], of_columns);
    }
    return sums;
  }
  IRs products(Panels& p, const Block& at, IR m, IR n) {
    int64_t length = length_of_part();
    IRs rows = in_place_ ? rows_in_place(at, m) : IRs();
    IR packed = in_place_ ? nullptr : panel_a(m), below = in_place_ ? distance_below(at, m) : nullptr;
    // Rows read in place come from memory: the next ones are asked for while the first panel is multiplied by these.
    auto ask_for_a = [&](IR k) {
      for (IR row : rows)
        for (int64_t i = 0; i < length; i += 64 / element_bytes(s_.a_type)) k_.prefetch(b_.CreateGEP(k_.memory_type(s_.a_type), row, b_.CreateAdd(below, k_.add(k, k_.i64(i)))), false, 2);
    };
    // Where element k of the block lies in its row.
    auto in_row = [&](IR k) {
      auto offset = [&](IR k) { return s_.a_offset(at.batch, k_.i64(0), k); };
      return s_.a_run ? b_.CreateSub(offset(b_.CreateAdd(at.k0, k)), offset(at.k0)) : k;
    };
    return k_.loop(k_.i64(0), at.k, length, first_sums(p, m), [&](IR k, ArrayRef<IR> sums) {
      care_for_b(p, at, m, n, b_.CreateUDiv(k, k_.i64(length)));
      if (in_place_) k_.when(b_.CreateICmpEQ(n, k_.i64(0)), [&] { ask_for_a(in_row(k)); });
      IR begin = b_.CreateUDiv(k, k_.i64(p_.depth)), first = b_.CreateUDiv(in_row(k), k_.i64(p_.depth));
      auto element = [&](int64_t i, IR u) {
        if (in_place_) return b_.CreateInBoundsGEP(p_.unit, rows[i], b_.CreateAdd(first, u));
        return b_.CreateInBoundsGEP(p_.unit, packed, k_.add(k_.mul(b_.CreateAdd(begin, u), mr_), k_.i64(i)));
      };
      IR panel = reads_b(p) ? b_.CreateInBoundsGEP(p_.unit, s_.b, s_.b_offset(at.batch, b_.CreateAdd(at.k0, k), b_.CreateAdd(at.n0, n))) : p.vector_at(panel_b(at, n), p.row_of_panel(begin), 0);
      return p.multiply(element, panel, k_.min(k_.i64(length), b_.CreateSub(at.k, k)), IRs(sums.begin(), sums.end()), reads_b(p) ? s_.b_pitch : 0);
    });
  }
  // A large result is not written where it was found: a first convolution of 12 MB gains a twentieth if its lines are asked for.
  void ask_for_result(Panels& p, const Block& at, IR m, IR n, IR complete) {
    int64_t line = 64 / s_.streams.widest;
    bool writes_memory = (s_.groups == MatmulSpec::Rows ? 1 : s_.batch) * s_.m * s_.n * element_bytes(s_.type) >= kBytesBeyondL2;
    if (!s_.prefetch || by_rows() || (s_.streams.count <= 1 && !writes_memory)) return;
    // The last element of each line: where rows begin within a line, its first ones came with the panel before.
    k_.when(complete, [&] {
      for (int64_t i = 0; i < mr_; ++i)
        for (int64_t j = 0; j < p.nr; j += line)
          for (bool to_write : {false, true})
            if (!to_write || writes_memory)
              s_.prefetch(at.batch, b_.CreateAdd(b_.CreateAdd(at.m0, m), k_.i64(i)), k_.add(b_.CreateAdd(at.n0, n), k_.i64(std::min(j + line, p.nr) - 1)), to_write);
    });
  }

  // Few terms are summed in the time that a tile takes through memory, which a short epilogue spares it: code for each of its vectors.
  static constexpr size_t kMostOperations = 16;
  bool writes_registers() const {
    auto is_short = [](Operation* op) { return isa<AddOp, SubtractOp, MulOp, MaxOp, MinOp, ClampOp>(op) || !is_elementwise(op); };
    return !keeps_block() && s_.k <= kFewTerms && s_.store_vectors && k_.memory_type(s_.type) == p_.type && c_.fusion.roles.size() <= kMostOperations &&
           llvm::all_of(c_.fusion.roles, [&](const auto& role) { return is_short(role.first); });
  }
  // Whether all of a tile lies within C, and the runs of its rows do not end within it.
  IR is_whole(const Panels& p, const Block& at, IR m, IR n) {
    IR whole = b_.CreateAnd(b_.CreateICmpEQ(rows_of_tile(at, m), k_.i64(mr_)), b_.CreateICmpEQ(columns_of_tile(p, at, n), k_.i64(p.nr)));
    if (!s_.n_run || s_.n_run % nr_ == 0) return whole;
    return s_.n_run < p.nr ? b_.getFalse() : b_.CreateAnd(whole, b_.CreateICmpULE(b_.CreateURem(b_.CreateAdd(at.n0, n), k_.i64(s_.n_run)), k_.i64(s_.n_run - p.nr)));
  }
  void write_registers(const Panels& p, const Block& at, IR m, IR n, ArrayRef<IR> sums) {
    for (auto [i, sum] : llvm::enumerate(sums))
      s_.store(at.batch, b_.CreateAdd(b_.CreateAdd(at.m0, m), k_.i64(i / p.vectors)), b_.CreateAdd(b_.CreateAdd(at.n0, n), k_.i64(i % p.vectors * p.lanes)), sum, p.lanes);
  }

  bool in_place_ = false;
  int64_t made_up_ = 0, made_up_for_columns_ = 0, turned_ = 0;  // places in scratch
};

}  // namespace

void emit_matmul(KernelContext& c, const MatmulSpec& wanted) {
  MatmulSpec spec = wanted;
  if (Panels(c.k, spec).kind == Panels::SplitFloats) return emit_tile_product(c, spec);
  spec.float_parts = 1;
  auto blocked = [&] { Panels(c.k, spec).grid ? emit_tile_product(c, spec) : RegisterProduct(c, spec).emit(); };
  if (spec.groups || spec.a_run || spec.k_run || spec.pack_a || spec.tiles_in_place.rows) return blocked();
  if (is_linear(c.k, spec)) return emit_linear_matmul(c, spec);
  if (is_thin(spec, c.k.target)) return emit_thin_matmul(c, spec);
  constexpr int64_t kFewColumns = 8;
  if (spec.n <= kFewColumns && !spec.pack_b && !spec.b_made && !spec.a_zero)
    if (MatmulSpec other = exchanged(spec); is_thin(other, c.k.target)) return emit_thin_matmul(c, other);
  blocked();
}

}  // namespace cresset::cpu
