#include "sinkscope/train/kernels/attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sinkscope/train/kernels/attention_kernel.h"

namespace sinkscope::train::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a layer lacks is a tensor of no elements: the arguments of a function must be defined.
float* data_of(const at::Tensor& x) { return x.numel() > 0 ? x.data_ptr<float>() : nullptr; }

AttentionProblem problem_of(const model::ModelSpec& spec, int64_t tokens) {
  AttentionProblem problem;
  problem.tokens = tokens;
  problem.heads = spec.heads, problem.kv_heads = spec.kv_heads, problem.width = spec.head_width;
  problem.causal = spec.causal;
  problem.scale = static_cast<float>(spec.score_scale);
  problem.form = spec.scores;
  return problem;
}

/// In the order qkv, sinks, extra key, extra value.
void set_inputs(AttentionProblem& problem, c10::ArrayRef<at::Tensor> inputs) {
  problem.qkv = data_of(inputs[0]);
  problem.sinks = data_of(inputs[1]);
  problem.extra_key = data_of(inputs[2]);
  problem.extra_value = data_of(inputs[3]);
}

/// What the backward pass needs beside tensors.
struct Facts : torch::CustomClassHolder {
  explicit Facts(const AttentionProblem& p) : problem(p) {}
  AttentionProblem problem;
};

/// Calls f(b, g, scratch) for every sequence and key/value head.
template <class F>
void for_each_head(const AttentionProblem& problem, int64_t sequences, F f) {
  at::parallel_for(0, sequences * problem.kv_heads, 1, [&](int64_t begin, int64_t end) {
    const at::Tensor scratch = at::empty({attention_scratch(problem)}, at::kFloat);
    for (int64_t i = begin; i < end; ++i) {
      f(i / problem.kv_heads, i % problem.kv_heads, scratch.data_ptr<float>());
    }
  });
}

struct Attention : torch::autograd::Function<Attention> {
  static at::Tensor forward(AutogradContext* context, const model::ModelSpec* spec,
                            const at::Tensor& qkv, const at::Tensor& sinks,
                            const at::Tensor& extra_key, const at::Tensor& extra_value) {
    AttentionProblem problem = problem_of(*spec, qkv.size(1));
    set_inputs(problem, {qkv, sinks, extra_key, extra_value});
    const int64_t sequences = qkv.size(0), rows = sequences * problem.heads * problem.tokens;
    at::Tensor weights = at::empty({rows, problem.padded_tokens()}, at::kFloat);
    at::Tensor shares = at::empty({problem.extra() ? rows : 0}, at::kFloat);
    at::Tensor out =
        at::empty({sequences, problem.tokens, problem.heads * problem.width}, at::kFloat);
    const AttentionForward results{data_of(weights), data_of(shares), data_of(out)};
    for_each_head(problem, sequences, [&](int64_t b, int64_t g, float* scratch) {
      attention_forward(problem, results, b, g, scratch);
    });
    context->save_for_backward({qkv, sinks, extra_key, extra_value, weights, shares});
    context->saved_data["facts"] = c10::IValue::make_capsule(c10::make_intrusive<Facts>(problem));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto facts = context->saved_data["facts"].toCapsule();
    AttentionProblem problem = static_cast<const Facts&>(*facts).problem;
    set_inputs(problem, saved);
    const int64_t sequences = saved[0].size(0);
    const at::Tensor d_out = gradients[0].contiguous();
    const auto per_head = [&](const at::Tensor& x) {  // of every sequence
      return at::zeros({sequences, x.numel()}, at::kFloat);
    };
    const at::Tensor d_qkv = at::empty_like(saved[0]), d_sinks = per_head(saved[1]),
                     d_key = per_head(saved[2]), d_value = per_head(saved[3]);
    const AttentionBackward results{data_of(saved[4]), data_of(saved[5]), data_of(d_out),
                                    data_of(d_qkv),    data_of(d_sinks),  data_of(d_key),
                                    data_of(d_value)};
    for_each_head(problem, sequences, [&](int64_t b, int64_t g, float* scratch) {
      attention_backward(problem, results, b, g, scratch);
    });
    return {at::Tensor(), d_qkv, d_sinks.sum(0), d_key.sum(0), d_value.sum(0)};
  }
};

}  // namespace

at::Tensor attention(const model::ModelSpec& spec, const at::Tensor& qkv,
                     const AttentionExtras& extras) {
  const auto defined = [](const at::Tensor& x) {
    return x.defined() ? x : at::empty({0}, at::kFloat);
  };
  return Attention::apply(&spec, qkv.contiguous(), defined(extras.sinks), defined(extras.extra_key),
                          defined(extras.extra_value));
}

}  // namespace sinkscope::train::kernels
