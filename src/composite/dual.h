// A number with its derivative (forward-mode differentiation): formulas written once give a function and its gradient.
#pragma once

#include <cmath>

namespace cresset::composite {

struct Dual {
  double v = 0, d = 0;
  Dual(double v, double d = 0) : v(v), d(d) {}
};

inline Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
inline Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
inline Dual operator-(Dual a) { return {-a.v, -a.d}; }
inline Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline Dual operator/(Dual a, Dual b) { return {a.v / b.v, (a.d * b.v - a.v * b.d) / (b.v * b.v)}; }
inline Dual exp(Dual a) { return {std::exp(a.v), a.d * std::exp(a.v)}; }
inline Dual expm1(Dual a) { return {std::expm1(a.v), a.d * std::exp(a.v)}; }
inline Dual log1p(Dual a) { return {std::log1p(a.v), a.d / (1 + a.v)}; }
inline Dual tanh(Dual a) {
  double t = std::tanh(a.v);
  return {t, a.d * (1 - t * t)};
}
inline Dual erf(Dual a) { return {std::erf(a.v), a.d * 1.1283791670955126 * std::exp(-a.v * a.v)}; }
inline Dual max(Dual a, Dual b) { return a.v >= b.v ? a : b; }
inline Dual min(Dual a, Dual b) { return a.v <= b.v ? a : b; }
inline Dual clamp(Dual a, Dual low, Dual high) { return min(max(a, low), high); }
inline Dual sigmoid(Dual a) {
  double s = 1 / (1 + std::exp(-a.v));
  return {s, a.d * s * (1 - s)};
}
// log(1 + e^a) without overflow.
inline Dual softplus(Dual a) { return {std::max(a.v, 0.0) + std::log1p(std::exp(-std::fabs(a.v))), a.d / (1 + std::exp(-a.v))}; }

}  // namespace cresset::composite
