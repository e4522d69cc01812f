#include "sinkscope/train/kernels/functions.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sinkscope/train/kernels/elementwise.h"

namespace sinkscope::train::kernels {
namespace {

using model::Activation;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kRows = 256;  // of a chunk: what a thread takes at a time

// What a layer lacks is a tensor of no elements: the arguments of a function must be defined.
at::Tensor defined(const at::Tensor& x) { return x.defined() ? x : at::empty({0}, at::kFloat); }

struct Mlp : torch::autograd::Function<Mlp> {
  static at::Tensor forward(AutogradContext* context, int64_t activation, const at::Tensor& x,
                            const at::Tensor& up, const at::Tensor& up_bias, const at::Tensor& down,
                            const at::Tensor& down_bias) {
    const auto kind = static_cast<Activation>(activation);
    const at::Tensor rows = x.reshape({-1, x.size(-1)});
    const at::Tensor inner = at::mm(rows, up.t());
    const at::Tensor slope = kind == Activation::kRelu ? inner : at::empty_like(inner);
    const int64_t width = inner.size(1);
    const float* bias = up_bias.numel() > 0 ? up_bias.data_ptr<float>() : nullptr;
    float *values = inner.data_ptr<float>(), *slopes = slope.data_ptr<float>();
    at::parallel_for(0, inner.size(0), kRows, [&](int64_t begin, int64_t end) {
      activate(kind, end - begin, width, bias, values + begin * width, slopes + begin * width);
    });
    context->save_for_backward({rows, up, down, inner, slope});
    context->saved_data["activation"] = activation;
    const at::Tensor out =
        down_bias.numel() > 0 ? at::addmm(down_bias, inner, down.t()) : at::mm(inner, down.t());
    return out.view(x.sizes());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto kind = static_cast<Activation>(context->saved_data["activation"].toInt());
    const at::Tensor &x = saved[0], &up = saved[1], &down = saved[2], &inner = saved[3];
    const at::Tensor d_out = gradients[0].reshape({x.size(0), -1});
    const at::Tensor d_inner = at::mm(d_out, down);
    const int64_t rows = d_inner.size(0), width = d_inner.size(1),
                  chunks = (rows + kRows - 1) / kRows;
    const at::Tensor sums = at::zeros({chunks, width}, at::kFloat);
    at::parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t first = c * kRows * width;
        deactivate(kind, std::min(kRows, rows - c * kRows), width,
                   saved[4].data_ptr<float>() + first, d_inner.data_ptr<float>() + first,
                   sums.data_ptr<float>() + c * width);
      }
    });
    return {at::Tensor(),
            at::mm(d_inner, up).view(gradients[0].sizes()),
            at::mm(d_inner.t(), x),
            sums.sum(0),
            at::mm(d_out.t(), inner),
            d_out.sum(0)};
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

at::Tensor mlp(Activation activation, const at::Tensor& x, const model::Linear& up,
               const model::Linear& down) {
  return Mlp::apply(static_cast<int64_t>(activation), x, up.weight, defined(up.bias), down.weight,
                    defined(down.bias));
}

at::Tensor weighted_squared_error(const at::Tensor& x, const at::Tensor& target,
                                  const at::Tensor& weights) {
  return SquaredError::apply(x.contiguous(), target.contiguous(), weights.contiguous());
}

}  // namespace sinkscope::train::kernels
