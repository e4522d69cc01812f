#pragma once

#include <cstdint>

namespace sinkscope::io {

/// Codebooks of the IQ types: each entry holds the indices of eight magnitudes in 2 bits each
/// (IQ1, IQ2) or of four magnitudes in 4 bits each (IQ3), the first element lowest.
extern const uint16_t kGridIq2Xxs[256];
extern const uint16_t kGridIq2Xs[512];
extern const uint16_t kGridIq2S[1024];
extern const uint16_t kGridIq3Xxs[256];
extern const uint16_t kGridIq3S[512];
extern const uint16_t kGridIq1[2048];  ///< IQ1_S and IQ1_M

/// What the indices stand for.
inline constexpr float kMagnitudesIq2[4] = {8, 25, 43, 0};  // index 3 does not occur
inline constexpr float kMagnitudesIq3Xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr float kMagnitudesIq3S[8] = {1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr float kMagnitudesIq1[4] = {-1, 0, 1, 0};  // index 3 does not occur

/// Values of the 4-bit codes of IQ4_NL and IQ4_XS, and of MXFP4 (doubled E2M1).
inline constexpr int8_t kValuesIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr int8_t kValuesMxfp4[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace sinkscope::io
