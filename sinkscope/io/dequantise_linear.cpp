// The compiler vectorises these loops; Highway compiles them once per instruction set and picks
// the best at run time. Contraction into fused multiply-adds is off for this layer (CMakeLists),
// so every instruction set gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/io/dequantise_linear.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sinkscope/io/dequantise_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace sinkscope::io::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void half_values(const uint8_t* HWY_RESTRICT in, int64_t elements, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> to;
  const hn::Rebind<hwy::float16_t, decltype(to)> from;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(to));
  int64_t i = 0;
  for (; i + lanes <= elements; i += lanes) {
    // LoadU asks for no alignment, so the cast is only about the element type.
    const auto half = hn::LoadU(from, reinterpret_cast<const hwy::float16_t*>(in + 2 * i));
    hn::StoreU(hn::PromoteTo(to, half), to, out + i);
  }
  for (; i < elements; ++i) out[i] = half_at(in + 2 * i);
}

void bfloat_values(const uint8_t* HWY_RESTRICT in, int64_t elements, float* HWY_RESTRICT out) {
  for (int64_t i = 0; i < elements; ++i) out[i] = bfloat_to_float(u16_at(in + 2 * i));
}

void q4_0(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const float scale = half_at(in);
  const uint8_t* codes = in + 2;
  for (int j = 0; j < 16; ++j) out[j] = scale * static_cast<float>((codes[j] & 15) - 8);
  for (int j = 0; j < 16; ++j) out[16 + j] = scale * static_cast<float>((codes[j] >> 4) - 8);
}

void q4_1(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const float scale = half_at(in), low = half_at(in + 2);
  const uint8_t* codes = in + 4;
  for (int j = 0; j < 16; ++j) out[j] = scale * static_cast<float>(codes[j] & 15) + low;
  for (int j = 0; j < 16; ++j) out[16 + j] = scale * static_cast<float>(codes[j] >> 4) + low;
}

// The fifth bits of 32 codes stand together in one word.
void five_bit_codes(const uint8_t* HWY_RESTRICT codes, uint32_t high, int* HWY_RESTRICT out) {
  for (int j = 0; j < 16; ++j) out[j] = (codes[j] & 15) | (high >> j & 1) << 4;
  for (int j = 0; j < 16; ++j) out[16 + j] = (codes[j] >> 4) | (high >> (16 + j) & 1) << 4;
}

void q5_0(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const float scale = half_at(in);
  int code[32];
  five_bit_codes(in + 6, u32_at(in + 2), code);
  for (int j = 0; j < 32; ++j) out[j] = scale * static_cast<float>(code[j] - 16);
}

void q5_1(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const float scale = half_at(in), low = half_at(in + 2);
  int code[32];
  five_bit_codes(in + 8, u32_at(in + 4), code);
  for (int j = 0; j < 32; ++j) out[j] = scale * static_cast<float>(code[j]) + low;
}

void q8_0(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const float scale = half_at(in);
  const auto* codes = reinterpret_cast<const int8_t*>(in + 2);
  for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(codes[j]) * scale;
}

// The K types split 256 elements into 16 groups of 16 (Q2, Q3, Q6) or 8 of 32 (Q4, Q5) with a
// scale each. Of the former, groups 0-7 and 8-15 each share 32 bytes (Q6: 64) of codes.
struct GroupOf16 {
  explicit GroupOf16(int group) : half(group / 8), quarter(group % 8 / 2), part(group % 2 * 16) {}
  int half, quarter, part;
};

void q2_k(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const uint8_t* scales = in;
  const float scale = half_at(in + 80), low = half_at(in + 82);
  for (int g = 0; g < 16; ++g) {
    const GroupOf16 place(g);
    const uint8_t* codes = in + 16 + 32 * place.half + place.part;
    const float group_scale = scale * static_cast<float>(scales[g] & 15);
    const float group_low = low * static_cast<float>(scales[g] >> 4);
    const int shift = 2 * place.quarter;
    for (int j = 0; j < 16; ++j) {
      out[16 * g + j] = group_scale * static_cast<float>(codes[j] >> shift & 3) - group_low;
    }
  }
}

void q3_k(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const uint8_t* scales = in + 96;
  const float scale = half_at(in + 108);
  for (int g = 0; g < 16; ++g) {
    const GroupOf16 place(g);
    const uint8_t* high = in + place.part;
    const uint8_t* codes = in + 32 + 32 * place.half + place.part;
    const int low_bits = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
    const int high_bits = scales[8 + g % 4] >> (2 * (g / 4)) & 3;
    const float group_scale = scale * static_cast<float>((low_bits | high_bits << 4) - 32);
    const int shift = 2 * place.quarter, high_shift = 4 * place.half + place.quarter;
    for (int j = 0; j < 16; ++j) {
      const int code = (codes[j] >> shift & 3) + (high[j] >> high_shift & 1) * 4 - 4;
      out[16 * g + j] = group_scale * static_cast<float>(code);
    }
  }
}

void q6_k(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const auto* scales = reinterpret_cast<const int8_t*>(in + 192);
  const float scale = half_at(in + 208);
  for (int g = 0; g < 16; ++g) {
    const GroupOf16 place(g);
    const uint8_t* low = in + 64 * place.half + 32 * (place.quarter % 2) + place.part;
    const uint8_t* high = in + 128 + 32 * place.half + place.part;
    const float group_scale = scale * static_cast<float>(scales[g]);
    const int low_shift = 4 * (place.quarter / 2), high_shift = 2 * place.quarter;
    for (int j = 0; j < 16; ++j) {
      const int code = (low[j] >> low_shift & 15) | (high[j] >> high_shift & 3) << 4;
      out[16 * g + j] = group_scale * static_cast<float>(code - 32);
    }
  }
}

// Scale and offset of group g (0-7) of Q4_K and Q5_K: 6 bits each, in 12 bytes.
struct ScaleAndLow {
  ScaleAndLow(const uint8_t* in, int g) {
    const uint8_t* packed = in + 4;
    const int scale_bits =
        g < 4 ? packed[g] & 63 : (packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4;
    const int low_bits = g < 4 ? packed[g + 4] & 63 : packed[g + 4] >> 4 | (packed[g] >> 6) << 4;
    scale = half_at(in) * static_cast<float>(scale_bits);
    low = half_at(in + 2) * static_cast<float>(low_bits);
  }
  float scale, low;
};

void q4_k(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  for (int g = 0; g < 8; ++g) {
    const ScaleAndLow group(in, g);
    const uint8_t* codes = in + 16 + g / 2 * 32;
    const int shift = g % 2 * 4;
    for (int j = 0; j < 32; ++j) {
      out[32 * g + j] = group.scale * static_cast<float>(codes[j] >> shift & 15) - group.low;
    }
  }
}

void q5_k(const uint8_t* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const uint8_t* high = in + 16;
  for (int g = 0; g < 8; ++g) {
    const ScaleAndLow group(in, g);
    const uint8_t* codes = in + 48 + g / 2 * 32;
    const int shift = g % 2 * 4;
    for (int j = 0; j < 32; ++j) {
      const int code = (codes[j] >> shift & 15) | (high[j] >> g & 1) << 4;
      out[32 * g + j] = group.scale * static_cast<float>(code) - group.low;
    }
  }
}

template <void (*kBlock)(const uint8_t*, float*), DType kType>
void each_block(const uint8_t* in, int64_t blocks, float* out) {
  const int64_t bytes = block_bytes(kType), elements = block_elements(kType);
  for (int64_t b = 0; b < blocks; ++b) kBlock(in + b * bytes, out + b * elements);
}

void linear(DType type, const uint8_t* in, int64_t blocks, float* out) {
  switch (type) {
    case DType::kF16: return half_values(in, blocks, out);
    case DType::kBF16: return bfloat_values(in, blocks, out);
    case DType::kQ4_0: return each_block<q4_0, DType::kQ4_0>(in, blocks, out);
    case DType::kQ4_1: return each_block<q4_1, DType::kQ4_1>(in, blocks, out);
    case DType::kQ5_0: return each_block<q5_0, DType::kQ5_0>(in, blocks, out);
    case DType::kQ5_1: return each_block<q5_1, DType::kQ5_1>(in, blocks, out);
    case DType::kQ8_0: return each_block<q8_0, DType::kQ8_0>(in, blocks, out);
    case DType::kQ2_K: return each_block<q2_k, DType::kQ2_K>(in, blocks, out);
    case DType::kQ3_K: return each_block<q3_k, DType::kQ3_K>(in, blocks, out);
    case DType::kQ4_K: return each_block<q4_k, DType::kQ4_K>(in, blocks, out);
    case DType::kQ5_K: return each_block<q5_k, DType::kQ5_K>(in, blocks, out);
    case DType::kQ6_K: return each_block<q6_k, DType::kQ6_K>(in, blocks, out);
    default: return;  // dequantise() sends no other type here
  }
}

}  // namespace sinkscope::io::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinkscope::io {

HWY_EXPORT(linear);

void dequantise_linear(DType type, const uint8_t* in, int64_t blocks, float* out) {
  HWY_DYNAMIC_DISPATCH(linear)(type, in, blocks, out);
}

}  // namespace sinkscope::io
#endif
