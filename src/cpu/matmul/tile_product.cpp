// Products by AMX's tiles. These take their time by themselves: what else a product has to do, packing the next panel of B and writing the tile before, is done in pieces between them, so that the
// machine's vectors are busy at the same time.
#include "cpu/matmul/blocked_product.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

class TileProduct : public BlockedProduct {
 public:
  TileProduct(KernelContext& c, const MatmulSpec& s) : BlockedProduct(c, s, Panels(c.k, s)) {}

  void emit_all() {
    p_.registers->configure();
    emit();
    p_.registers->release();
  }

 private:
  bool splits() const { return p_.kind == Panels::SplitFloats; }

  // Operands come from L2, which has room for a block of A and for some panels of B; sums leave the tiles seldom. Windows that are read in place are a fraction of as many rows, whose sums would be larger
  // than what a block reads: they stay in the tiles. Packing an element takes the time of so many multiply-adds.
  void plan() override {
    c_.kernel.cost = 0.25 * (s_.groups ? 1 : s_.batch) * s_.m * s_.n * s_.k * p_.products_of_step() / (8.0 * p_.depth);
    constexpr int64_t kBytesOfBlock = 1024 * 1024, kColumns = 960, kColumnsOfWindows = 256;
    const int64_t panel = (splits() ? 32 : in_place() ? 320 : 64) * 1024;
    int64_t kc = equal_part(std::max<int64_t>(run(), 1), panel / (nr_ * p_.bytes) * p_.depth, s_.k_unit > 1 ? s_.k_unit : p_.padded(1)), rows = std::max(kBytesOfBlock / (p_.height(kc) * p_.bytes), mr_);
    const int64_t pack_a = in_place() ? 10 : 100;
    if (in_place()) rows = most_in_place();
    if (keeps_columns()) return choose_blocks(s_.k, {s_.m, std::min(most_kept_columns(), kColumns), pack_a, 60});
    if (splits()) choose_blocks(kc, {rows, kColumns, 40, 20});
    else choose_blocks(kc, {rows, packs_windows_of_block() ? kColumnsOfWindows : kColumns, pack_a, 60});
  }
  void reserve_scratch() override {
    if (in_place()) rows_ = c_.kernel.reserve(s_.tiles_in_place.scratch(std::min(most_in_place(), mc_)));
    else packed_a_ = reserve((keeps_columns() ? mr_ : mc_) * p_.height(kc_));
    packed_b_ = reserve((keeps_block_of_b() ? nb_ : packs_ahead() ? 2 * nr_ : nr_) * p_.height(kc_));
    pack_scratch_ = c_.kernel.reserve(s_.pack_scratch + nb_ * s_.column_scratch);
    sums_ = reserve(keeps_block() ? mc_ * nb_ : 2 * mr_ * nr_);
    made_up_ = reserve(p_.makes_up_for_zero() ? round_up(nb_, nr_) : 0);
    if (splits()) reserve_plain();
    if (may_keep_panels() && !splits()) keep_panels();
    for (IR* state : {&written_m_, &written_n_, &written_rows_, &turn_}) *state = k_.alloca_in_entry(b_.getInt64Ty(), 1);
    written_ = k_.alloca_in_entry(b_.getPtrTy(), 1);
    b_.CreateStore(k_.i64(0), turn_);
  }
  // What makes up for A's zero, for each column of the block, of all blocks of K so far.
  IR made_up_for_columns(IR n) { return element_of_scratch(made_up_, n); }
  IR made_up(IR sums, IR n, int lanes) override {
    if (!p_.makes_up_for_zero()) return sums;
    return k_.plus(sums, b_.CreateAlignedLoad(k_.vector(p_.type, lanes), made_up_for_columns(n), llvm::Align(4)));
  }
  void make_up_for_zero(const Block& at, IR n, IR panel) {
    for (auto [v, sums] : llvm::enumerate(p_.made_up_for_zero(panel, at.k))) {
      IR place = made_up_for_columns(k_.add(n, k_.i64(int64_t(v) * p_.lanes))), before = b_.CreateAlignedLoad(sums->getType(), place, llvm::Align(4));
      IR is_first = b_.CreateICmpEQ(at.k0, at.k_begin);
      b_.CreateAlignedStore(b_.CreateSelect(is_first, sums, k_.plus(sums, before)), place, llvm::Align(4));
    }
  }
  void begin_block(const Block& at) override {
    if (in_place() && !keeps_columns()) make_rows(at, k_.i64(0), at.m);
    if (splits()) p_.watch_numbers();
    b_.CreateStore(k_.i64(0), written_rows_);
  }
  void end_block(const Block& at) override {
    if (defers()) write_rows(at, k_.i64(0), mr_);
  }

  // Many rows: all panels of a block stay in L2, and each tile's rows pass them before the next ones. Then lines of the result, and of what the epilogue reads, are written and read almost in the order
  // in which they lie, and A is packed into L1. Fewer rows don't pay for packing B in advance in place of behind tiles.
  bool keeps_columns() const {
    if (s_.pack_b || splits() || s_.groups || s_.any_m || s_.any_n || by_rows() || s_.k_run || s_.m < kFewestRows) return false;
    return most_kept_columns() >= (s_.m < kManyRows ? s_.n : std::min(s_.n, kFewestColumns));
  }
  int64_t most_kept_columns() const { return (s_.m < kManyRows ? 512 : 1024) * 1024 / (p_.height(s_.k) * p_.bytes) / nr_ * nr_; }
  static constexpr int64_t kFewestRows = 512, kManyRows = 1024, kFewestColumns = 256;

  bool packs_ahead() const override { return !keeps_columns() && !s_.pack_b && (s_.b_unit_n || s_.b_unit_k) && s_.n >= nr_ && mc_ >= vectors() * mr_; }
  int64_t vectors() const { return nr_ / TileRegisters::kRows; }
  bool keeps_block_of_b() const { return packs_windows_of_block() || keeps_columns(); }
  IR panel_b(const Block& at, IR n) { return BlockedProduct::panel_b(at, n, keeps_block_of_b()); }
  IR panel_a(IR m) { return BlockedProduct::panel_a(keeps_columns() ? k_.i64(0) : m); }

  void step(const Block& at) override {
    if (keeps_columns()) return row_by_row_of_tiles(at);
    if (!in_place()) p_.pack_a(at.batch, at.m0, at.m, at.k0, at.k, [&](IR m) { return panel_a(m); });
    // Windows are packed as they are, and then split.
    auto pack = [&](IR n, IR columns) {
      auto floats = [&](IR from) { return element_of_scratch(floats_, packs_windows_of_block() ? k_.mul(from, kc_) : k_.i64(0)); };
      auto panel = [&](IR from) { return panel_b(at, k_.add(n, from)); };
      pack_windows(p_, at, n, columns, false, [&](IR from) { return splits() ? floats(from) : panel(from); });
      if (splits()) k_.loop(k_.i64(0), columns, nr_, [&](IR from) { p_.split_panel(floats(from), panel(from), at.k); });
    };
    IR tiles = b_.CreateUDiv(b_.CreateAdd(at.m, k_.i64(mr_ - 1)), k_.i64(mr_)), packs_all = b_.CreateICmpUGE(tiles, k_.i64(vectors()));
    if (packs_windows_of_block()) pack(k_.i64(0), at.n);
    k_.loop(k_.i64(0), at.n, nr_, [&](IR n) {
      IR columns = columns_of_tile(p_, at, n);
      Panel next{};
      if (s_.panel_by_panel) pack(n, columns);
      if (!s_.pack_b) {
        IR done = k_.i64(0);  // steps
        if (packs_ahead()) {
          next = next_panel(at, n), next.exists = b_.CreateAnd(next.exists, b_.CreateAnd(packs_all, b_.CreateNot(is_state(PackedWeight::Complete))));
          done = b_.CreateSelect(b_.CreateAnd(is_packed(at, n), packs_all), p_.whole_steps(at.k), done);
        }
        IR from = k_.mul(done, p_.tile_depth()), panel = b_.CreateInBoundsGEP(p_.unit, panel_b(at, n), k_.mul(done, p_.units_of_step() * nr_));
        unless_packed([&] {
          p_.pack_b(at.batch, b_.CreateAdd(at.n0, n), columns, b_.CreateAdd(at.k0, from), b_.CreateSub(at.k, from), [&](IR) { return panel; });
        });
      }
      if (p_.makes_up_for_zero()) make_up_for_zero(at, n, panel_b(at, n));
      k_.loop(k_.i64(0), at.m, mr_, [&](IR m) { tile(at, m, n, tiles, next); });
    });
  }

  void row_by_row_of_tiles(const Block& at) {
    k_.loop(k_.i64(0), at.n, nr_, [&](IR n) {
      unless_packed([&] {
        p_.pack_b(at.batch, b_.CreateAdd(at.n0, n), columns_of_tile(p_, at, n), at.k0, at.k, [&](IR) { return panel_b(at, n); });
      });
      if (p_.makes_up_for_zero()) make_up_for_zero(at, n, panel_b(at, n));
    });
    auto row = [&](IR m) { k_.loop(k_.i64(0), at.n, nr_, [&](IR n) { tile(at, m, n, nullptr, {}); }); };
    if (!in_place())
      return k_.loop(k_.i64(0), at.m, mr_, [&](IR m) {
        p_.pack_a(at.batch, b_.CreateAdd(at.m0, m), at.k0, at.k, panel_a(m));
        row(m);
      });
    k_.loop(k_.i64(0), at.m, most_in_place(), [&](IR begin) {
      IR end = k_.min(k_.add(begin, k_.i64(most_in_place())), at.m);
      make_rows(at, begin, b_.CreateSub(end, begin));
      k_.loop(begin, end, mr_, row);
    });
  }

  // Rows of A that are multiplied where they lie.
  bool in_place() const { return s_.tiles_in_place.rows; }
  int64_t most_in_place() const { return round_up(s_.tiles_in_place.most((keeps_columns() ? 256 : 1024) * 1024), mr_); }
  void make_rows(const Block& at, IR m, IR count) {
    s_.tiles_in_place.make(b_.CreateAdd(at.m0, m), count, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), k_.scratch(), rows_));
  }

  // What one block of K adds to a tile of C, which is written when it is complete.
  void tile(const Block& at, IR m, IR n, IR tiles, const Panel& next) {
    IR first = b_.CreateICmpEQ(at.k0, at.k_begin), complete = is_split() ? b_.CreateICmpSGE(b_.CreateAdd(at.k0, at.k), at.k_end) : b_.getTrue();
    IR turn = b_.CreateLoad(b_.getInt64Ty(), turn_), memory = keeps_block() ? kept_sums(p_, m, n) : element_of_scratch(sums_, k_.mul(turn, mr_ * nr_)), sums = memory;
    // Floats have sums of their own in each block of K: in a long chain of additions each would be rounded as the largest one is.
    if (splits() && is_split()) sums = b_.CreateSelect(first, memory, element_of_scratch(own_sums_, k_.i64(0)));
    const int64_t pitch = nr_ * p_.bytes;
    p_.begin_tiles(sums, pitch, is_split() && !splits() ? b_.CreateNot(first) : b_.getFalse());
    multiply(at, m, n, tiles, next);
    p_.end_tiles(sums, pitch);
    if (splits() && is_split()) k_.when(b_.CreateNot(first), [&] { add(sums, memory); });
    if (splits()) k_.when(b_.CreateAnd(complete, p_.cannot_split()), [&] { multiply_plainly(at, m, n, memory); });
    if (by_rows()) return;
    if (!defers()) return k_.when(complete, [&] { write(p_, at, m, n, memory); });
    k_.when(complete, [&] {
      b_.CreateStore(m, written_m_), b_.CreateStore(n, written_n_), b_.CreateStore(rows_of_tile(at, m), written_rows_), b_.CreateStore(memory, written_);
      b_.CreateStore(b_.CreateXor(turn, k_.i64(1)), turn_);
    });
  }
  void multiply(const Block& at, IR m, IR n, IR tiles, const Panel& next) {
    auto a = in_place() ? p_.tiles_in_place(b_.CreateAdd(at.m0, m), at.k0) : p_.packed_tiles_of_a(panel_a(m));
    auto b = p_.packed_tiles_of_b(panel_b(at, n));
    IR packs = b_.getFalse(), vector = nullptr, tile = nullptr;
    if (packs_ahead()) {  // each share of the panel by the last one of as many tiles, at the same step
      tile = b_.CreateUDiv(m, k_.i64(mr_));
      IR begin = k_.mul(tile, vectors());
      vector = b_.CreateUDiv(begin, tiles);
      packs = b_.CreateAnd(next.exists, b_.CreateICmpNE(vector, b_.CreateUDiv(k_.add(begin, k_.i64(vectors())), tiles)));
    }
    k_.loop(k_.i64(0), p_.steps(at.k), [&](IR step) {
      auto plainly = [&] { p_.multiply_step(a, b, step, [](int) {}); };
      auto packing = [&] {
        Panels::PanelOfB target{at.batch, b_.CreateAdd(at.n0, next.n), next.k0, k_.i64(nr_), kept_or(panel_in_scratch(at, k_.add(n, k_.i64(nr_)), false), b_.CreateAdd(at.n0, next.n), next.k0)};
        auto pieces = p_.pieces_of_b(target, step, vector);
        const int count = int(pieces.size()), products = p_.products_of_step();
        p_.multiply_step(a, b, step, [&](int product) {
          for (int i = product * count / products; i < (product + 1) * count / products; ++i) pieces[i]();
        });
      };
      if (packs_ahead()) k_.either(b_.CreateAnd(packs, b_.CreateICmpSLT(step, p_.whole_steps(next.k))), packing, plainly);
      else plainly();
      if (packs_ahead()) k_.when(next.exists, [&] { ask_for(at, next, tile, tiles, vector, step); });
      if (!defers()) return;
      IR first = k_.mul(step, rows_of_step());
      if (keeps_columns() && s_.prefetch && s_.streams.count > 1) ask_for_streams(at, b_.CreateAdd(m, first), n);
      write_rows(at, first, rows_of_step());
    });
  }
  // Its share of what the next share of the panel will be packed of, by each step: even shares, because tiles wait for lines that come from memory in bursts.
  void ask_for(const Block& at, const Panel& next, IR tile, IR tiles, IR vector, IR step) {
    const int64_t line = 64 / element_bytes(s_.b_type), run = s_.b_unit_k ? ceil_div(kc_, line) : p_.packs_rows() ? ceil_div(nr_, line) : 1;
    const int64_t rows = ceil_div(p_.tile_depth(), vectors()), lines = p_.packs_rows() ? ceil_div(kc_, vectors()) * run : TileRegisters::kRows * ceil_div(kc_, line);
    const int64_t steps = ceil_div(kc_, p_.tile_depth()), share = ceil_div(lines, steps * std::max<int64_t>(mc_ / mr_ / vectors(), 1));
    IR first_tile = b_.CreateUDiv(k_.add(b_.CreateMul(vector, tiles), k_.i64(vectors() - 1)), k_.i64(vectors()));
    IR first = k_.mul(b_.CreateAdd(k_.mul(b_.CreateSub(tile, first_tile), steps), step), share);
    k_.repeat(share, [&](IR i) {
      IR l = k_.min(b_.CreateAdd(first, i), k_.i64(lines - 1)), later = k_.add(vector, k_.i64(1)), column = k_.mul(later, TileRegisters::kRows);
      IR k = s_.b_unit_k ? k_.mul(b_.CreateURem(l, k_.i64(run)), line) : l;
      if (s_.b_unit_k) column = b_.CreateAdd(column, b_.CreateUDiv(l, k_.i64(run)));
      if (p_.packs_rows()) {
        IR is_beyond = b_.CreateICmpEQ(later, k_.i64(vectors())), row = b_.CreateUDiv(l, k_.i64(run));
        k = b_.CreateAdd(k_.mul(b_.CreateUDiv(row, k_.i64(rows)), p_.tile_depth()), b_.CreateAdd(b_.CreateURem(row, k_.i64(rows)), k_.mul(b_.CreateSelect(is_beyond, k_.i64(0), later), rows)));
        column = b_.CreateAdd(b_.CreateSelect(is_beyond, k_.i64(nr_), k_.i64(0)), k_.mul(b_.CreateURem(l, k_.i64(run)), line));
      }
      p_.prefetch_b(at.batch, b_.CreateAdd(next.k0, k), b_.CreateAdd(b_.CreateAdd(at.n0, next.n), column), 2);
    });
  }
  // What the epilogue will read of a step's share of this tile's rows.
  void ask_for_streams(const Block& at, IR m, IR n) {
    const int64_t line = 64 / s_.streams.widest;
    k_.repeat(rows_of_step(), [&](IR i) {
      for (int64_t j = 0; j < nr_; j += line) s_.prefetch(at.batch, b_.CreateAdd(b_.CreateAdd(at.m0, m), i), k_.add(b_.CreateAdd(at.n0, n), k_.i64(j)), false);
    });
  }
  void add(IR from, IR to) {
    auto* vector = k_.vector(p_.type, p_.lanes);
    k_.loop(k_.i64(0), k_.i64(mr_ * nr_), p_.lanes, [&](IR i) {
      IR x = b_.CreateInBoundsGEP(p_.type, from, i), y = b_.CreateInBoundsGEP(p_.type, to, i);
      b_.CreateAlignedStore(b_.CreateFAdd(b_.CreateAlignedLoad(vector, y, llvm::Align(64)), b_.CreateAlignedLoad(vector, x, llvm::Align(64))), y, llvm::Align(64));
    });
  }

  //===-- Writing the tile before ------------------------------------------------------------------------------------===//

  // Of what belongs to no group K is empty: there are no steps to write it in.
  bool defers() const { return !by_rows() && !s_.groups; }
  // All of them within the steps of the last, smallest block of K.
  int64_t rows_of_step() const { return ceil_div(mr_, ceil_div(run() - (ceil_div(run(), kc_) - 1) * kc_, p_.tile_depth())); }
  void write_rows(const Block& at, IR first, int64_t count) {
    IR m = b_.CreateLoad(b_.getInt64Ty(), written_m_), n = b_.CreateLoad(b_.getInt64Ty(), written_n_), rows = b_.CreateLoad(b_.getInt64Ty(), written_rows_), memory = b_.CreateLoad(b_.getPtrTy(), written_);
    k_.loop(first, k_.min(k_.add(first, k_.i64(count)), rows), [&](IR i) { write_row(p_, at, m, i, n, memory); });
  }

  //===-- Tiles of numbers that are not the sums of their parts ------------------------------------------------------===//

  void reserve_plain() {
    own_sums_ = reserve(is_split() ? mr_ * nr_ : 0);
    floats_ = reserve(s_.pack_b ? (packs_windows_of_block() ? nb_ : nr_) * kc_ : 0);
    plain_spec_ = s_, plain_spec_.float_parts = 1;
    int64_t rows = 8;
    while (mr_ % rows) --rows;
    plain_.emplace(Panels(k_, plain_spec_, rows).narrowed(nr_));
    plain_a_ = reserve(rows * kc_), plain_b_ = reserve(nr_ * kc_);
  }
  void multiply_plainly(const Block& at, IR m, IR n, IR memory) {
    Panels& p = *plain_;
    IR panel = element_of_scratch(plain_b_, k_.i64(0)), rows = element_of_scratch(plain_a_, k_.i64(0));
    each_block_of_k(at, [&](const Block& part) {
      IR columns = columns_of_tile(p_, at, n);
      if (s_.pack_b) pack_windows(p, part, n, columns, false, [&](IR) { return panel; });
      else p.pack_b(at.batch, b_.CreateAdd(at.n0, n), columns, part.k0, part.k, [&](IR) { return panel; });
      k_.loop(k_.i64(0), k_.i64(mr_), p.mr, [&](IR i) {
        p.pack_a(at.batch, b_.CreateAdd(at.m0, k_.add(m, i)), part.k0, part.k, rows);
        IRs sums = p.multiply([&](int64_t r, IR u) { return b_.CreateInBoundsGEP(p.unit, rows, k_.add(k_.mul(u, p.mr), k_.i64(r))); }, panel, part.k, p.zeros());
        IR target = b_.CreateInBoundsGEP(p_.type, memory, k_.mul(i, nr_));
        k_.either(b_.CreateICmpEQ(part.k0, at.k_begin), [&] { keep(p, sums, target, false); }, [&] { keep(p, sums, target, true); });
      });
    });
  }

  int64_t made_up_ = 0, rows_ = 0;  // places in scratch; the latter in bytes
  MatmulSpec plain_spec_;
  std::optional<Panels> plain_;
  int64_t own_sums_ = 0, floats_ = 0, plain_a_ = 0, plain_b_ = 0;  // places in scratch
  // The tile that is complete and is to be written, and how many rows of it there are; which of two places has the sums of the next one.
  IR written_m_ = nullptr, written_n_ = nullptr, written_rows_ = nullptr, written_ = nullptr, turn_ = nullptr;
};

}  // namespace

void emit_tile_product(KernelContext& c, const MatmulSpec& spec) { TileProduct(c, spec).emit_all(); }

}  // namespace cresset::cpu
