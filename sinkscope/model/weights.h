#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
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

/// float32 [D] or [K], [H K]; both undefined where the model has no such norm, the bias alone for
/// RMS norms. A norm without parameters (olmo) has a gain of ones.
struct NormWeights {
  at::Tensor gain, bias;
  bool defined() const { return gain.defined(); }
};

/// The weights of one block, projections that read the same input stacked into one. What a model
/// does not have is undefined.
struct BlockWeights {
  NormWeights norm1, norm2, q_norm, k_norm, attn_norm, mlp_norm;
  Linear qkv;   ///< rows: q [H K], k [G K], v [G K] and, where there is one, gate [H K]
  Linear o;     ///< [D, H K]
  Linear up;    ///< gated: rows gate [F], up [F]; otherwise [F, D]; undefined without an MLP
  Linear down;  ///< [D, F]
  at::Tensor attn_scale, mlp_scale;   ///< [D] LayerScale
  at::Tensor sinks;                   ///< [H]
  at::Tensor extra_key, extra_value;  ///< [G K]
  Linear output_gate;                 ///< [H or H K, D]
  Linear key_gate, value_gate;        ///< [G or G K, D]
  Linear path_select, path_gate;      ///< [1, D]
  Linear path_value, path_out;        ///< [P, D], [D, P]
  Linear router;                      ///< [E, D]
  Linear shared_up, shared_down, shared_router;
};

/// Brings weights of a file into memory, one block at a time, in our names and order.
class Weights {
 public:
  struct Options {
    bool allow_nonfinite = false;  ///< NaN and infinities are read as they are
  };

  /// Finds every weight of the family's table in `source` and checks its shape. Throws kBadFile
  /// naming the tensor: missing, or found and expected shape (in the order of the file's format).
  Weights(std::shared_ptr<const io::TensorSource> source, const Family& family,
          const ModelSpec& spec, Options options);

  /// Reads block `layer` into `into`, whose buffers are reused, in parallel; `type` float or
  /// bfloat16 (norms and biases stay float). Throws kBadNumbers naming tensor, element, row and
  /// column of the first NaN or infinity.
  void load_block(int64_t layer, at::ScalarType type, BlockWeights& into) const;
  /// One expert of a block; `up` and `down` as in BlockWeights.
  void load_expert(int64_t layer, int64_t expert, at::ScalarType type, Linear& up,
                   Linear& down) const;

  /// Rows of a matrix such as "embed" or "positions", float32 [rows, columns].
  at::Tensor rows(std::string_view name, std::span<const int32_t> indices) const;
  bool has(std::string_view ours, int64_t layer = 0) const { return find(ours, layer) != nullptr; }
  /// A matrix outside the blocks or of one, with its bias; undefined when the file has none.
  Linear load_matrix(std::string_view ours, at::ScalarType type, int64_t layer = 0) const;
  /// float32 with the shape of the table, [rows] or [rows, columns]; undefined when absent.
  at::Tensor load(std::string_view ours, int64_t layer = 0) const;
  NormWeights load_norm(std::string_view ours, int64_t layer = 0) const;
  /// [V, D]; the embedding where the head is tied to it; undefined when the file has none.
  Linear load_head(at::ScalarType type) const;

  /// The file's tensor behind one of our names, for messages and `inspect`; null when absent.
  const io::TensorInfo* find(std::string_view ours, int64_t layer = 0) const;
  int64_t parameters() const { return parameters_; }
  int64_t largest_block_bytes() const;  ///< of float32 weights and one expert, for the memory plan
  /// Facts such as tensors of the file that the model does not use.
  const std::vector<std::string>& notes() const { return notes_; }
  const io::TensorSource& source() const { return *source_; }

 private:
  struct Entry {
    const io::TensorInfo* tensor;
    const WeightName* row;
    int64_t first;          ///< element of the tensor at which this weight begins
    int64_t rows, columns;  ///< as the file stores them; columns 1 for a vector
    std::vector<const io::TensorInfo*> pieces = {};  ///< of a vector with a tensor per head
  };
  struct Part {
    std::string_view ours;
    int64_t base;  ///< row of the stacked matrix where this part begins
  };
  static std::string key(std::string_view ours, int64_t layer, int64_t expert);
  const Entry* entry(std::string_view ours, int64_t layer, int64_t expert = -1) const;
  void resolve_all(int64_t layer);
  void resolve(std::span<const WeightName* const> alternatives, int64_t layer);
  const io::TensorInfo* find_in_file(const WeightName& row, int64_t layer, int64_t index,
                                     std::string& name) const;
  void add_pieces(const WeightName& row, int64_t layer);
  void check_packed(const io::TensorInfo& blocks, const std::vector<int64_t>& expected) const;
  void add(const WeightName& row, int64_t layer, int64_t expert, const io::TensorInfo& tensor,
           const std::string& name);
  std::string_view name_of(const WeightName& row) const {
    return gguf_ ? row.gguf : row.safetensors;
  }
  Layout layout_of(const Entry& entry) const;
  int64_t destination_row(Layout layout, int64_t row) const;
  void read_rows(const Entry& entry, int64_t base, at::Tensor destination) const;
  at::Tensor read_plain(const Entry& entry) const;
  void read_matrix(const Entry& entry, int64_t base, at::Tensor destination) const;
  at::Tensor read_packed(const Entry& entry) const;
  void read_vector(const Entry& entry, int64_t base, at::Tensor destination) const;
  void load_linear(std::span<const Part> parts, int64_t rows, int64_t layer, at::ScalarType type,
                   Linear& into, int64_t expert = -1) const;
  void check(const io::TensorInfo& tensor, int64_t first, std::span<const float> values) const;

  std::shared_ptr<const io::TensorSource> source_;
  const Family& family_;
  std::span<const WeightName> table_;  ///< the naming of this file
  ModelSpec spec_;
  Options options_;
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
