#include <bit>

#include "sinkscope/io/codebooks.h"
#include "sinkscope/io/dequantise_kernels.h"

namespace sinkscope::io {

namespace {

// 16 bytes hold 32 codes: the low nibbles first, then the high ones.
void nibbles(const uint8_t* codes, const int8_t* values, float scale, float* out) {
  for (int j = 0; j < 16; ++j) out[j] = scale * static_cast<float>(values[codes[j] & 15]);
  for (int j = 0; j < 16; ++j) out[16 + j] = scale * static_cast<float>(values[codes[j] >> 4]);
}

int nibble(const uint8_t* bytes, int index) { return bytes[index / 2] >> (index % 2 * 4) & 15; }

void iq4_nl(const uint8_t* in, float* out) { nibbles(in + 2, kValuesIq4, half_at(in), out); }

void iq4_xs(const uint8_t* in, float* out) {
  const float scale = half_at(in);
  const int high_bits = u16_at(in + 2);
  for (int g = 0; g < 8; ++g) {
    const int code = nibble(in + 4, g) | (high_bits >> (2 * g) & 3) << 4;
    nibbles(in + 8 + 16 * g, kValuesIq4, scale * static_cast<float>(code - 32), out + 32 * g);
  }
}

void mxfp4(const uint8_t* in, float* out) {
  // Half of 2^(e - 127), because the table holds doubled values; subnormal below e = 2.
  const uint32_t exponent = in[0];
  const float scale =
      std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
  nibbles(in + 1, kValuesMxfp4, scale, out);
}

// Digit n of a byte that holds five base-3 digits as a fraction of 256.
int ternary_digit(uint8_t byte, int n) {
  constexpr int kPowers[] = {1, 3, 9, 27, 81};
  return (static_cast<uint8_t>(byte * kPowers[n]) * 3) >> 8;
}

void tq1_0(const uint8_t* in, float* out) {
  const float scale = half_at(in + 52);
  const auto digits = [&](int first, int bytes, int digits_per_byte) {
    for (int n = 0; n < digits_per_byte; ++n) {
      for (int j = 0; j < bytes; ++j) {
        *out++ = scale * static_cast<float>(ternary_digit(in[first + j], n) - 1);
      }
    }
  };
  digits(0, 32, 5);
  digits(32, 16, 5);
  digits(48, 4, 4);
}

void tq2_0(const uint8_t* in, float* out) {
  const float scale = half_at(in + 64);
  for (int g = 0; g < 8; ++g) {
    const uint8_t* codes = in + g / 4 * 32;
    for (int j = 0; j < 32; ++j) {
      out[32 * g + j] = scale * static_cast<float>((codes[j] >> (g % 4 * 2) & 3) - 1);
    }
  }
}

// Seven sign bits are stored; the eighth makes the number of minus signs even.
unsigned even_signs(unsigned seven) { return seven | (std::popcount(seven) & 1u) << 7; }

float sign(unsigned signs, int bit) { return signs >> bit & 1 ? -1.0f : 1.0f; }

// Eight elements of an IQ2 type.
void pick8(unsigned entry, unsigned signs, float scale, float* out) {
  for (int j = 0; j < 8; ++j) {
    out[j] = scale * kMagnitudesIq2[entry >> (2 * j) & 3] * sign(signs, j);
  }
}

// Eight elements of an IQ3 type, from two entries.
void pick4x2(unsigned first, unsigned second, const float* magnitudes, unsigned signs, float scale,
             float* out) {
  for (int j = 0; j < 8; ++j) {
    const unsigned entry = j < 4 ? first : second;
    out[j] = scale * magnitudes[entry >> (j % 4 * 4) & 7] * sign(signs, j);
  }
}

// Eight elements of an IQ1 type.
void pick8_shifted(unsigned entry, float shift, float scale, float* out) {
  for (int j = 0; j < 8; ++j) out[j] = scale * (kMagnitudesIq1[entry >> (2 * j) & 3] + shift);
}

float scale_iq2(float scale, int code) { return scale * (0.5f + static_cast<float>(code)) * 0.25f; }

void iq2_xxs(const uint8_t* in, float* out) {
  const float scale = half_at(in);
  for (int i = 0; i < 32; ++i) {
    const uint8_t* group = in + 2 + i / 4 * 8;
    const uint32_t signs_and_scale = u32_at(group + 4);
    pick8(kGridIq2Xxs[group[i % 4]], even_signs(signs_and_scale >> (7 * (i % 4)) & 127),
          scale_iq2(scale, static_cast<int>(signs_and_scale >> 28)), out + 8 * i);
  }
}

void iq2_xs(const uint8_t* in, float* out) {
  const float scale = half_at(in);
  for (int i = 0; i < 32; ++i) {
    const unsigned code = u16_at(in + 2 + 2 * i);
    pick8(kGridIq2Xs[code & 511], even_signs(code >> 9), scale_iq2(scale, nibble(in + 66, i / 2)),
          out + 8 * i);
  }
}

void iq2_s(const uint8_t* in, float* out) {
  const float scale = half_at(in);
  const uint8_t *low = in + 2, *signs = in + 34, *high = in + 66, *scales = in + 74;
  for (int i = 0; i < 32; ++i) {
    const unsigned code = low[i] | (high[i / 4] >> (i % 4 * 2) & 3u) << 8;
    pick8(kGridIq2S[code], signs[i], scale_iq2(scale, nibble(scales, i / 2)), out + 8 * i);
  }
}

void iq3_xxs(const uint8_t* in, float* out) {
  const float scale = half_at(in);
  for (int i = 0; i < 32; ++i) {
    const uint8_t* codes = in + 2 + 2 * i;
    const uint32_t signs_and_scale = u32_at(in + 66 + i / 4 * 4);
    const float group_scale = scale * (0.5f + static_cast<float>(signs_and_scale >> 28)) * 0.5f;
    pick4x2(kGridIq3Xxs[codes[0]], kGridIq3Xxs[codes[1]], kMagnitudesIq3Xxs,
            even_signs(signs_and_scale >> (7 * (i % 4)) & 127), group_scale, out + 8 * i);
  }
}

void iq3_s(const uint8_t* in, float* out) {
  const float scale = half_at(in);
  const uint8_t *low = in + 2, *high = in + 66, *signs = in + 74, *scales = in + 106;
  const auto entry = [&](int i) { return kGridIq3S[low[i] | (high[i / 8] >> (i % 8) & 1) << 8]; };
  for (int i = 0; i < 32; ++i) {
    const float group_scale = scale * static_cast<float>(1 + 2 * nibble(scales, i / 4));
    pick4x2(entry(2 * i), entry(2 * i + 1), kMagnitudesIq3S, signs[i], group_scale, out + 8 * i);
  }
}

constexpr float kShiftIq1 = 0.125f;

void iq1_s(const uint8_t* in, float* out) {
  const float scale = half_at(in);
  for (int i = 0; i < 32; ++i) {
    const unsigned high = u16_at(in + 34 + i / 4 * 2);
    const unsigned code = in[2 + i] | (high >> (i % 4 * 3) & 7) << 8;
    pick8_shifted(kGridIq1[code], high & 0x8000 ? -kShiftIq1 : kShiftIq1,
                  scale * static_cast<float>(2 * (high >> 12 & 7) + 1), out + 8 * i);
  }
}

void iq1_m(const uint8_t* in, float* out) {
  // Four words of scales; their top nibbles together are the half-precision scale of the block.
  const uint8_t *high = in + 32, *scales = in + 48;
  unsigned bits = 0;
  for (int w = 0; w < 4; ++w)
    bits |= static_cast<unsigned>(u16_at(scales + 2 * w) >> 12) << (4 * w);
  const float scale = half_to_float(static_cast<uint16_t>(bits));
  for (int i = 0; i < 32; ++i) {
    const int group = i / 2;
    const int scale_code = u16_at(scales + group / 4 * 2) >> (group % 4 * 3) & 7;
    const unsigned high_bits = static_cast<unsigned>(nibble(high, i));
    pick8_shifted(kGridIq1[in[i] | (high_bits & 7) << 8], high_bits & 8 ? -kShiftIq1 : kShiftIq1,
                  scale * static_cast<float>(2 * scale_code + 1), out + 8 * i);
  }
}

void (*block_function(DType type))(const uint8_t*, float*) {
  switch (type) {
    case DType::kIQ4_NL: return iq4_nl;
    case DType::kIQ4_XS: return iq4_xs;
    case DType::kMXFP4: return mxfp4;
    case DType::kTQ1_0: return tq1_0;
    case DType::kTQ2_0: return tq2_0;
    case DType::kIQ2_XXS: return iq2_xxs;
    case DType::kIQ2_XS: return iq2_xs;
    case DType::kIQ2_S: return iq2_s;
    case DType::kIQ3_XXS: return iq3_xxs;
    case DType::kIQ3_S: return iq3_s;
    case DType::kIQ1_S: return iq1_s;
    case DType::kIQ1_M: return iq1_m;
    default: return nullptr;  // dequantise() sends no other type here
  }
}

}  // namespace

void dequantise_codebook(DType type, const uint8_t* in, int64_t blocks, float* out) {
  const auto function = block_function(type);
  const int64_t bytes = block_bytes(type), elements = block_elements(type);
  for (int64_t b = 0; b < blocks; ++b) function(in + b * bytes, out + b * elements);
}

}  // namespace sinkscope::io
