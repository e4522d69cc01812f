#include "sinkscope/train/kernels/functions.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sinkscope/train/kernels/elementwise.h"
#include "sinkscope/train/kernels/matrix.h"

namespace sinkscope::train::kernels {
namespace {

using model::Activation;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kRows = 256;    // of a chunk: what a thread takes at a time
constexpr int64_t kOutputs = 32;  // the same of a weight's rows

// What a layer lacks is a tensor of no elements: the arguments of a function must be defined.
at::Tensor defined(const at::Tensor& x) { return x.defined() ? x : at::empty({0}, at::kFloat); }

LinearShape shape_of(const at::Tensor& x, const at::Tensor& weight) {
  return {x.numel() / x.size(-1), weight.size(1), weight.size(0)};
}

/// x [.., inputs] weight^T + bias (empty: 0): [.., outputs].
at::Tensor forward_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const LinearShape shape = shape_of(x, weight);
  const at::Tensor packed = at::empty({packed_size(shape)}, at::kFloat);
  pack_weights(shape, weight.data_ptr<float>(), packed.data_ptr<float>());
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = shape.outputs;
  at::Tensor y = at::empty(sizes, at::kFloat);
  const float* from = x.data_ptr<float>();
  const float* shift = bias.numel() > 0 ? bias.data_ptr<float>() : nullptr;
  float* to = y.data_ptr<float>();
  at::parallel_for(0, shape.rows, kRows, [&](int64_t begin, int64_t end) {
    linear_forward(shape, from, packed.data_ptr<float>(), shift, begin, end, to);
  });
  return y;
}

/// Gradient along x, shaped like it.
at::Tensor inputs_of(const at::Tensor& d_y, const at::Tensor& weight, const at::Tensor& x) {
  const LinearShape shape = shape_of(x, weight);
  at::Tensor d_x = at::empty(x.sizes(), at::kFloat);
  const float *from = d_y.data_ptr<float>(), *w = weight.data_ptr<float>();
  float* to = d_x.data_ptr<float>();
  at::parallel_for(0, shape.rows, kRows, [&](int64_t begin, int64_t end) {
    linear_inputs(shape, from, w, begin, end, to);
  });
  return d_x;
}

/// Gradient along the weight.
at::Tensor weights_of(const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& weight) {
  const LinearShape shape = shape_of(x, weight);
  at::Tensor d_w = at::empty(weight.sizes(), at::kFloat);
  const float *slope = d_y.data_ptr<float>(), *from = x.data_ptr<float>();
  float* to = d_w.data_ptr<float>();
  at::parallel_for(0, shape.outputs, kOutputs, [&](int64_t begin, int64_t end) {
    linear_weights(shape, slope, from, begin, end, to);
  });
  return d_w;
}

at::Tensor bias_of(const at::Tensor& d_y, const at::Tensor& bias) {
  return bias.numel() > 0 ? d_y.reshape({-1, d_y.size(-1)}).sum(0) : at::Tensor();
}

struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias) {
    context->save_for_backward({x, weight, bias});
    return forward_of(x, weight, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor d_y = gradients[0].contiguous();
    return {inputs_of(d_y, saved[1], saved[0]), weights_of(d_y, saved[0], saved[1]),
            bias_of(d_y, saved[2])};
  }
};

struct Mlp : torch::autograd::Function<Mlp> {
  static at::Tensor forward(AutogradContext* context, int64_t activation, const at::Tensor& x,
                            const at::Tensor& up, const at::Tensor& up_bias, const at::Tensor& down,
                            const at::Tensor& down_bias) {
    const auto kind = static_cast<Activation>(activation);
    const at::Tensor inner = forward_of(x, up, at::empty({0}, at::kFloat));
    const at::Tensor slope = kind == Activation::kRelu ? inner : at::empty_like(inner);
    const int64_t width = inner.size(-1);
    const float* bias = up_bias.numel() > 0 ? up_bias.data_ptr<float>() : nullptr;
    float *values = inner.data_ptr<float>(), *slopes = slope.data_ptr<float>();
    at::parallel_for(0, inner.numel() / width, kRows, [&](int64_t begin, int64_t end) {
      activate(kind, end - begin, width, bias, values + begin * width, slopes + begin * width);
    });
    context->save_for_backward({x, up, up_bias, down, down_bias, inner, slope});
    context->saved_data["activation"] = activation;
    return forward_of(inner, down, down_bias);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto kind = static_cast<Activation>(context->saved_data["activation"].toInt());
    const at::Tensor &x = saved[0], &up = saved[1], &down = saved[3], &inner = saved[5];
    const at::Tensor d_out = gradients[0].contiguous(), d_inner = inputs_of(d_out, down, inner);
    const int64_t width = d_inner.size(-1), rows = d_inner.numel() / width,
                  chunks = (rows + kRows - 1) / kRows;
    const at::Tensor sums = at::zeros({chunks, width}, at::kFloat);
    at::parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t first = c * kRows * width;
        deactivate(kind, std::min(kRows, rows - c * kRows), width,
                   saved[6].data_ptr<float>() + first, d_inner.data_ptr<float>() + first,
                   sums.data_ptr<float>() + c * width);
      }
    });
    return {at::Tensor(),
            inputs_of(d_inner, up, x),
            weights_of(d_inner, x, up),
            saved[2].numel() > 0 ? sums.sum(0) : at::Tensor(),
            weights_of(d_out, inner, down),
            bias_of(d_out, saved[4])};
  }
};

struct SquaredError : torch::autograd::Function<SquaredError> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& target,
                            const at::Tensor& weights) {
    const at::Tensor slope = at::empty_like(x);
    const double sum =
        squared_error(weights.numel(), x.size(-1), x.data_ptr<float>(), target.data_ptr<float>(),
                      weights.data_ptr<float>(), slope.data_ptr<float>());
    context->save_for_backward({slope});
    return at::full({}, sum, at::kFloat);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor slope = context->get_saved_variables()[0];
    const bool one = gradients[0].item<float>() == 1;  // the usual case: the loss itself
    return {one ? slope : slope * gradients[0], at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x, const model::Linear& weights) {
  return Linear::apply(x.contiguous(), weights.weight, defined(weights.bias));
}

at::Tensor mlp(Activation activation, const at::Tensor& x, const model::Linear& up,
               const model::Linear& down) {
  return Mlp::apply(static_cast<int64_t>(activation), x.contiguous(), up.weight, defined(up.bias),
                    down.weight, defined(down.bias));
}

at::Tensor weighted_squared_error(const at::Tensor& x, const at::Tensor& target,
                                  const at::Tensor& weights) {
  return SquaredError::apply(x.contiguous(), target.contiguous(), weights.contiguous());
}

}  // namespace sinkscope::train::kernels
