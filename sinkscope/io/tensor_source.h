#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinkscope::io {

/// Element types that a weight file may hold. Block types (kQ*, kIQ*, kTQ*, kMXFP4) are GGUF's.
// clang-format off
enum class DType : uint8_t {
  kF32, kF16, kBF16, kF64, kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64,
  kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K,
  kIQ4_NL, kIQ4_XS, kMXFP4, kTQ1_0, kTQ2_0,
  kIQ2_XXS, kIQ2_XS, kIQ2_S, kIQ3_XXS, kIQ3_S, kIQ1_S, kIQ1_M,
};
// clang-format on

/// "F32", "Q4_K", ... as the formats spell them.
std::string_view dtype_name(DType type);
/// Elements and bytes of one block; 1 and the element size for the plain types.
int64_t block_elements(DType type);
int64_t block_bytes(DType type);

/// One tensor of a file. `shape` is row-major, outermost first (GGUF's order is already reversed).
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int file = 0;         ///< index into TensorSource::files()
  uint64_t offset = 0;  ///< first byte, from the start of that file
  uint64_t bytes = 0;

  int64_t elements() const;        ///< 1 for a scalar; checked against overflow when read
  std::string shape_text() const;  ///< "[576, 1536]"
};

/// The tensors of a model, mapped into memory and read only when asked for.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  virtual std::string_view format() const = 0;  ///< "gguf" or "safetensors"
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  virtual const std::vector<std::filesystem::path>& files() const = 0;
  /// Facts worth telling that are no errors: trailing bytes, ignored files, ...
  virtual const std::vector<std::string>& notes() const = 0;
  /// The mapped bytes of a tensor of this source.
  virtual std::span<const std::byte> bytes(const TensorInfo& tensor) const = 0;
  /// Tells the kernel that these pages are not needed soon, so that a model larger than the
  /// memory can be streamed. The bytes stay readable.
  virtual void release(const TensorInfo& tensor) const = 0;

  /// nullptr when there is none of this name.
  const TensorInfo* find(std::string_view name) const;

 protected:
  /// Makes `find` quick; called once when tensors() is complete and stays where it is. Returns a
  /// tensor whose name an earlier one has, or nullptr.
  const TensorInfo* index_tensors();

 private:
  std::unordered_map<std::string_view, const TensorInfo*> by_name_;
};

/// Converts `out.size()` elements of `tensor` starting at element `first` to float32. Both must be
/// multiples of the type's block. Throws kUnsupported for the types that hold no real numbers
/// (integers and bool are converted; nothing else is refused).
void read_floats(const TensorSource& source, const TensorInfo& tensor, int64_t first,
                 std::span<float> out);

}  // namespace sinkscope::io
