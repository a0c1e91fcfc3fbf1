// Windows along a line that move by one: the rows of a panel that one channel fills overlap, so a panel holds each channel once, as far as its columns' windows reach, and the rows of
// K lie within it, moved by the window's dilation.
#include "cpu/convolution/convolution_windows.h"

namespace cresset::cpu {
namespace {

constexpr int64_t kFewestPlaces = 3, kMostPlaces = 16;  // of a window: what gains, and what is unrolled
constexpr int64_t kColumns = 192;                       // of an image where there are several, each of which ends with a panel of its own

class LinePacker : Windows {
 public:
  explicit LinePacker(const Windows& windows) : Windows(windows), line_(g_.columns()) {}

  void set_up(MatmulSpec& spec) const {
    spec.k_unit = line_.window, spec.panel_by_panel = true;
    spec.line = {line_.window, line_.dilation};
    spec.pack_b = [*this, line = spec.line](const MatmulSpec::Block& p) { pack(p, line.length(p.width, p.lanes)); };
  }

 private:
  // Rows of so many elements.
  void pack(const MatmulSpec::Block& p, int64_t length) const {
    IR panel = p.panel(k_.i64(0)), from = b_.CreateSub(p.n0, k_.i64(line_.low)), channel = b_.CreateUDiv(p.k0, k_.i64(line_.window));
    IR image = b_.CreateURem(p.batch, k_.i64(g_.images)), group = b_.CreateUDiv(p.batch, k_.i64(g_.images));
    auto copy = [&](const std::function<IR(IR base, IR at)>& load) {
      k_.loop(k_.i64(0), b_.CreateUDiv(p.k, k_.i64(line_.window)), [&](IR c) {
        IR base = b_.CreateGEP(k_.memory_type(g_.in_type), channel_base(group, k_.add(channel, c)), k_.mul(image, g_.in_image));
        for (int64_t i = 0; i < length; i += p.lanes) put(load(base, k_.add(from, k_.i64(i))), panel, k_.add(k_.mul(c, length), k_.i64(i)));
      });
    };
    auto whole = [&](IR base, IR at) { return k_.load(read_, base, at, p.lanes); };
    auto masked = [&](IR base, IR at) {
      IR inside = b_.CreateICmpULT(k_.sequence(at, p.lanes), k_.splat(k_.i64(line_.in), p.lanes));
      return k_.load_masked(read_, base, at, k_.mask(inside, g_.in_type));
    };
    IR inside = b_.CreateAnd(b_.CreateICmpSGE(from, k_.i64(0)), b_.CreateICmpSLE(k_.add(from, k_.i64(length)), k_.i64(line_.in)));
    k_.either(inside, [&] { copy(whole); }, [&] { copy(masked); });
  }

  const Axis& line_;
};

}  // namespace

bool is_line(const Geometry& g, KernelEmitter& k) {
  if (g.axes.empty() || g.batch_groups != 1 || !g.in_type.isF32() || !g.kernel_type.isF32() || !k.can_mask(g.in_type)) return false;
  const Axis& line = g.columns();
  for (const Axis& a : llvm::ArrayRef(g.axes).drop_back())
    if (a.in != 1 || a.window != 1 || a.out != 1 || a.low != 0) return false;
  if (line.step != 1 || line.base_dilation != 1 || line.out_step != 1 || line.in_stride != 1 || line.out_stride != 1) return false;
  // A panel is no larger than one of separate rows, however few vectors it has.
  return line.window >= kFewestPlaces && line.window <= kMostPlaces && line.dilation <= k.target.lanes && (g.images == 1 || line.out >= kColumns);
}

void pack_lines(const Windows& windows, MatmulSpec& spec) { LinePacker(windows).set_up(spec); }

}  // namespace cresset::cpu
