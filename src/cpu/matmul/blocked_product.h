// What all blocked products share: a task owns a block of C, which it computes one block of K after the other, and writes. How a block of K is multiplied is their own affair.
#pragma once

#include <optional>

#include "cpu/matmul/matmul.h"

namespace cresset::cpu {

class BlockedProduct {
 public:
  BlockedProduct(KernelContext& c, const MatmulSpec& s, const Panels& panels)
      : c_(c), k_(c.k), b_(c.k.b), s_(s), p_(panels), end_(p_.end()), parts_(s.any_n && !p_.grid ? p_.parts() : std::vector<Panels>()), mr_(p_.mr), nr_(p_.nr) {}
  virtual ~BlockedProduct() = default;

  void emit();

 protected:
  struct Limits {
    int64_t rows, columns, pack_a, pack_b;
  };
  struct Block {
    IR batch, m0, n0, k0;  // its first element
    IR m, n, k;            // its size
    IR k_begin, k_end;     // of the sum, which may be empty
  };

  /// The blocks' sizes, for the kernel's cost, by choose_blocks().
  virtual void plan() = 0;
  virtual void reserve_scratch() = 0;
  /// What one block of K adds to the block of C.
  virtual void step(const Block& at) = 0;
  virtual void begin_block(const Block&) {}
  virtual void end_block(const Block&) {}
  /// Sums of a row, of the block's columns from n on, as they are written.
  virtual IR made_up(IR sums, IR /*n*/, int /*lanes*/) { return sums; }
  /// Whether the panel after the one that is multiplied is packed meanwhile.
  virtual bool packs_ahead() const = 0;

  void choose_blocks(int64_t kc, const Limits& most);
  void each_block_of_k(Block at, const std::function<void(const Block&)>& body);

  int64_t run() const { return s_.k_run ? s_.k_run : s_.k; }
  IR in_run(IR k) { return s_.k_run ? b_.CreateURem(k, k_.i64(s_.k_run)) : k; }
  bool is_split() const { return s_.k > std::min(kc_, run()); }
  bool by_rows() const { return s_.by_rows(); }
  bool keeps_block() const { return is_split() || by_rows(); }

  IR element_of_scratch(int64_t at, IR index) { return k_.in_scratch(p_.type, at, index); }
  int64_t reserve(int64_t elements) { return c_.kernel.reserve(elements * p_.bytes); }
  // Where the panels of the rows from m, the columns from n begin; both count from the block's own first one.
  IR panel_a(IR m) { return element_of_scratch(packed_a_, k_.mul(m, p_.height(kc_))); }
  // A panel of B is packed right before all rows of the block pass it, unless the whole block is packed at once.
  bool packs_windows_of_block() const { return s_.pack_b && !s_.panel_by_panel; }
  IR panel_b(const Block& at, IR n, bool whole_block) { return kept_or(panel_in_scratch(at, n, whole_block), b_.CreateAdd(at.n0, n), at.k0); }
  IR panel_in_scratch(const Block& at, IR n, bool whole_block);
  // The panels of a block, of which the last one of all may be narrower.
  void each_panel(const Block& at, const std::function<void(Panels& p, IR n)>& body) { p_.each(end_, at.n, body); }
  // Of the last panel only as many vectors as its columns need, where these are known only when it runs: by the first one of the parts, from that one on, that has them.
  void as_wide_as_needed(Panels& p, const Block& at, IR n, const std::function<void(Panels& p)>& body, size_t part = 0) {
    if (part == parts_.size()) return body(p);
    IR fits = b_.CreateICmpSLE(b_.CreateSub(at.n, n), k_.i64(parts_[part].nr));
    k_.either(fits, [&] { body(parts_[part]); }, [&] { as_wide_as_needed(p, at, n, body, part + 1); });
  }

  // The panel after that of the columns from n: of this step along K, or the first one of the next step. Where it is packed ahead, each part of a tile packs a part of it.
  struct Panel {
    IR n, k0, k, exists;
  };
  // Narrower ones are not packed ahead.
  IR is_whole_panel(const Block& at, IR n) { return b_.CreateICmpSLE(k_.add(n, k_.i64(nr_)), at.n); }
  Panel next_panel(const Block& at, IR n);
  IR is_packed(const Block& at, IR n);

  // B's panels, of all of K, where they outlive the run: after keep_panels().
  bool may_keep_panels() const { return s_.packed && !s_.pack_b && !s_.groups && !s_.any_m && !s_.any_n && !s_.k_run && s_.batch == 1; }
  void keep_panels();
  IR is_state(PackedWeight::State state) { return state_ ? b_.CreateICmpEQ(state_, k_.i64(state)) : state == PackedWeight::Elsewhere ? IR(b_.getTrue()) : IR(b_.getFalse()); }
  IR kept_or(IR scratch, IR n, IR k);
  void unless_packed(const std::function<void()>& pack) { state_ ? k_.when(b_.CreateNot(is_state(PackedWeight::Complete)), pack) : pack(); }

  void pack_windows(Panels& p, const Block& at, IR from, IR columns, bool asked, const std::function<IR(IR n)>& panel);
  IR columns_of_tile(const Panels& p, const Block& at, IR n) {
    if (end_) return k_.i64(p.is_end ? s_.n % nr_ : nr_);
    return s_.divides_columns(nr_) ? k_.i64(nr_) : k_.min(k_.i64(p.nr), b_.CreateSub(at.n, n));
  }
  IR rows_of_tile(const Block& at, IR m) { return s_.divides_rows(mr_) ? k_.i64(mr_) : k_.min(k_.i64(mr_), b_.CreateSub(at.m, m)); }
  void write(const Panels& p, const Block& at, IR m, IR n, IR memory) {
    k_.loop(k_.i64(0), rows_of_tile(at, m), [&](IR i) { write_row(p, at, m, i, n, memory); });
  }
  // If it is one of C's.
  void write_row(const Panels& p, const Block& at, IR m, IR i, IR n, IR memory) {
    IR row = b_.CreateAdd(b_.CreateAdd(at.m0, m), i);
    k_.when(s_.tiles_in_place.exists ? s_.tiles_in_place.exists(row) : b_.getTrue(), [&] { write_row_of_result(p, at, row, i, n, memory); });
  }
  void keep(Panels& p, llvm::ArrayRef<IR> sums, IR memory, bool add);
  // Of keeps_block(): the sums of a tile.
  IR kept_sums(const Panels& p, IR m, IR n) { return element_of_scratch(sums_, b_.CreateAdd(k_.mul(n, mc_), k_.mul(m, p.nr))); }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const MatmulSpec& s_;
  Panels p_;
  std::optional<Panels> end_;  // of the last columns
  std::vector<Panels> parts_;
  int64_t mr_, nr_, mc_ = 0, kc_ = 0, nb_ = 0;
  int64_t packed_a_ = 0, packed_b_ = 0, sums_ = 0, pack_scratch_ = 0;  // places in scratch

 private:
  void write_row_of_result(const Panels& p, const Block& at, IR row, IR i, IR n, IR memory);
  IR end_of_group(IR group, int64_t size);
  Block block_of_group(IR wanted);
  void block(const Block& at);
  static constexpr int64_t kRowsOfGroup = 192;

  IR state_ = nullptr;  // of kept panels
};

/// Products by AMX's tiles, of a spec whose Panels have a grid of them.
void emit_tile_product(KernelContext& c, const MatmulSpec& spec);

}  // namespace cresset::cpu
