// host_math.h -- scalar code that lanes call where vector code does not pay. Compiled once, so it is the same on every
// instruction set.
#pragma once
#include <cstdint>

namespace bora::kernels {
/// x = quadrant * pi/2 + result, |result| <= pi/4, for any finite x (Payne and Hanek 1983). Only the two low bits of
/// the quadrant are meaningful.
double reduce_angle(double x, std::int64_t* quadrant);
float sin_large(float x, int quarter);
double sin_large(double x, int quarter);
/// C's fmod, exact.
float fmod_exact(float x, float y);
double fmod_exact(double x, double y);
}  // namespace bora::kernels
