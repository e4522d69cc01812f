#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sinkscope/forward/kernels/attention.h"

namespace sinkscope::test {

namespace kernels = forward::kernels;

struct NamedKernel {
  std::string name;
  kernels::AttentionKernel run;
};

inline const std::vector<NamedKernel>& all_kernels() {
  static const std::vector<NamedKernel> list = {{"reference", kernels::attention_reference},
                                                {"aten", kernels::attention_aten},
                                                {"cpu", kernels::attention_cpu}};
  return list;
}

/// What one kernel made of one input.
struct AttentionResult {
  std::vector<float> out;  ///< [T, H, K]
  std::vector<forward::AttentionSums> sums;

  float z(int64_t heads, int64_t width, int64_t token, int64_t head, int64_t channel) const {
    return out[static_cast<size_t>((token * heads + head) * width + channel)];
  }
};

/// Owns the buffers of a problem. Rows are longer than needed and the gaps hold NaN, so a kernel
/// that strays from the strides is seen at once.
struct AttentionInput {
  static constexpr int64_t kGap = 3;

  AttentionInput(int64_t tokens, int64_t heads, int64_t kv_heads, int64_t width)
      : tokens(tokens), heads(heads), kv_heads(kv_heads), width(width) {
    q = buffer(heads);
    k = buffer(kv_heads);
    v = buffer(kv_heads);
  }

  static AttentionInput random(int64_t tokens, int64_t heads, int64_t kv_heads, int64_t width,
                               unsigned seed = 1) {
    AttentionInput input(tokens, heads, kv_heads, width);
    input.scale = 1 / std::sqrt(static_cast<float>(width));
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t c = 0; c < heads * width; ++c) input.q_at(t, 0)[c] = 1.5f * normal(generator);
      for (int64_t c = 0; c < kv_heads * width; ++c) input.k_at(t, 0)[c] = normal(generator);
      for (int64_t c = 0; c < kv_heads * width; ++c) input.v_at(t, 0)[c] = normal(generator);
    }
    return input;
  }

  float* q_at(int64_t t, int64_t head) { return &q[t * (heads * width + kGap) + head * width]; }
  float* k_at(int64_t t, int64_t head) { return &k[t * (kv_heads * width + kGap) + head * width]; }
  float* v_at(int64_t t, int64_t head) { return &v[t * (kv_heads * width + kGap) + head * width]; }

  /// Documents of these lengths, in order.
  void set_documents(const std::vector<int64_t>& lengths) {
    document_first.clear();
    document_end.clear();
    for (const int64_t length : lengths) {
      const auto first = static_cast<int64_t>(document_first.size());
      document_first.insert(document_first.end(), static_cast<size_t>(length), first);
      document_end.insert(document_end.end(), static_cast<size_t>(length), first + length);
    }
  }

  int64_t bias_stride() const {
    return (tokens + kernels::kBiasAlign - 1) / kernels::kBiasAlign * kernels::kBiasAlign;
  }
  /// NaN beyond the last key: a kernel must not use it.
  void set_random_bias(unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    bias.assign(static_cast<size_t>(heads * tokens * bias_stride()),
                std::numeric_limits<float>::quiet_NaN());
    for (int64_t row = 0; row < heads * tokens; ++row) {
      for (int64_t key = 0; key < tokens; ++key)
        bias[row * bias_stride() + key] = normal(generator);
    }
  }

  /// A key without position and its value, [G, K] each.
  void set_random_extra(unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (std::vector<float>* data : {&extra_key, &extra_value}) {
      data->resize(static_cast<size_t>(kv_heads * width));
      for (float& value : *data) value = normal(generator);
    }
  }

  /// Everything but `out` and `sums`. Valid as long as this object.
  kernels::AttentionProblem problem() const {
    kernels::AttentionProblem p;
    p.tokens = tokens, p.heads = heads, p.kv_heads = kv_heads, p.width = width;
    p.q = q.data(), p.k = k.data(), p.v = v.data();
    p.q_stride = p.out_stride = heads * width + kGap;
    p.k_stride = p.v_stride = kv_heads * width + kGap;
    p.scale = scale, p.softcap = softcap;
    p.alibi_slopes = alibi.empty() ? nullptr : alibi.data();
    p.sink_logits = sinks.empty() ? nullptr : sinks.data();
    p.scores = scores;
    p.extra_key = extra_key.empty() ? nullptr : extra_key.data();
    p.extra_value = extra_value.empty() ? nullptr : extra_value.data();
    p.bias = bias.empty() ? nullptr : bias.data();
    p.bias_row_stride = bias_stride();
    p.bias_head_stride = tokens * bias_stride();
    p.visibility.causal = causal, p.visibility.window = window;
    p.visibility.document_first = document_first.empty() ? nullptr : document_first.data();
    p.visibility.document_end = document_end.empty() ? nullptr : document_end.data();
    return p;
  }

  AttentionResult run(kernels::AttentionKernel kernel, int threads = 2,
                      bool with_sums = true) const {
    return run_all({this}, kernel, threads, with_sums)[0];
  }

  /// Several streams in one call.
  static std::vector<AttentionResult> run_all(const std::vector<const AttentionInput*>& inputs,
                                              kernels::AttentionKernel kernel, int threads,
                                              bool with_sums) {
    std::vector<AttentionResult> results(inputs.size());
    std::vector<std::vector<float>> outs(inputs.size());
    std::vector<kernels::AttentionProblem> problems;
    for (size_t i = 0; i < inputs.size(); ++i) {
      kernels::AttentionProblem p = inputs[i]->problem();
      outs[i] = inputs[i]->buffer(p.heads);
      p.out = outs[i].data();
      if (with_sums) {
        results[i].sums.resize(static_cast<size_t>(p.heads));
        for (auto& sums : results[i].sums) sums.resize(p.tokens, p.has_missing());
        p.sums = results[i].sums.data();
      }
      problems.push_back(p);
    }
    kernel(problems.data(), static_cast<int64_t>(problems.size()), threads);
    for (size_t i = 0; i < inputs.size(); ++i) results[i].out = inputs[i]->without_gaps(outs[i]);
    return results;
  }

  int64_t tokens, heads, kv_heads, width;
  std::vector<float> q, k, v, alibi, sinks, bias, extra_key, extra_value;
  model::ScoreForm scores;
  std::vector<int64_t> document_first, document_end;
  float scale = 1, softcap = 0;
  bool causal = true;
  int64_t window = 0;

 private:
  std::vector<float> buffer(int64_t row_heads) const {
    std::vector<float> data(static_cast<size_t>(tokens * (row_heads * width + kGap)),
                            std::numeric_limits<float>::quiet_NaN());
    for (int64_t t = 0; t < tokens; ++t) {
      std::fill_n(&data[t * (row_heads * width + kGap)], row_heads * width, 0.0f);
    }
    return data;
  }

  std::vector<float> without_gaps(const std::vector<float>& out) const {
    std::vector<float> dense;
    for (int64_t t = 0; t < tokens; ++t) {
      const float* row = &out[t * (heads * width + kGap)];
      dense.insert(dense.end(), row, row + heads * width);
    }
    return dense;
  }
};

}  // namespace sinkscope::test
