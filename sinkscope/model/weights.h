#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/io/tensor_source.h"
#include "sinkscope/model/family.h"

namespace sinkscope::model {

/// y = x weight^T + bias; weight [out, in]; bias undefined where there is none.
struct Linear {
  at::Tensor weight, bias;
};

struct NormWeights {
  at::Tensor gain, bias;  ///< float32 [D]; bias undefined for RMS norms
};

/// The weights of one block, projections that read the same input stacked into one.
struct BlockWeights {
  NormWeights norm1, norm2;
  Linear qkv;   ///< rows: q [H K], k [G K], v [G K]
  Linear o;     ///< [D, H K]
  Linear up;    ///< gated: rows gate [F], up [F]; otherwise [F, D]
  Linear down;  ///< [D, F]
};

/// Brings weights of a file into memory, one block at a time, in our names and order.
class Weights {
 public:
  /// Finds every weight of the family's table in `source` and checks its shape. Throws kBadFile
  /// naming the tensor: missing, or found and expected shape (in the order of the file's format).
  Weights(std::shared_ptr<const io::TensorSource> source, const Family& family,
          const ModelSpec& spec);

  /// Reads block `layer` into `into`, whose buffers are reused, in parallel; `type` float or
  /// bfloat16 (norms and biases stay float). Throws kBadNumbers naming tensor, element, row and
  /// column of the first NaN or infinity.
  void load_block(int64_t layer, at::ScalarType type, BlockWeights& into) const;

  /// Rows of the embedding (and of learned positions, "positions"), float32 [rows, D].
  at::Tensor rows(std::string_view name, std::span<const int32_t> indices) const;
  NormWeights load_final_norm() const;
  /// [V, D]; the embedding where the head is tied to it.
  Linear load_head(at::ScalarType type) const;

  /// The file's tensor behind one of our names, for messages and `inspect`; null when absent.
  const io::TensorInfo* find(std::string_view ours, int64_t layer = 0) const;
  int64_t parameters() const { return parameters_; }
  int64_t largest_block_bytes() const;  ///< of float32 weights, for the memory plan
  /// Facts such as tensors of the file that the model does not use.
  const std::vector<std::string>& notes() const { return notes_; }
  const io::TensorSource& source() const { return *source_; }

 private:
  struct Entry {
    const io::TensorInfo* tensor;
    const WeightName* row;
  };
  const Entry* entry(std::string_view ours, int64_t layer) const;
  void resolve(const WeightName& row, int64_t layer);
  int64_t length(Dim dim) const;
  void read_into(const Entry& entry, at::Tensor destination) const;
  at::Tensor load_vector(std::string_view ours, int64_t layer) const;
  void load_linear(std::span<const std::string_view> parts, int64_t layer, at::ScalarType type,
                   Linear& into) const;

  std::shared_ptr<const io::TensorSource> source_;
  const Family& family_;
  ModelSpec spec_;
  bool gguf_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> notes_;
  int64_t parameters_ = 0;
};

/// Throws kBadNumbers naming the tensor, element, row and column of the first NaN or infinity
/// among `values`, the elements of `tensor` from `first` on.
void check_finite(const io::TensorSource& source, const io::TensorInfo& tensor, int64_t first,
                  std::span<const float> values);

}  // namespace sinkscope::model
