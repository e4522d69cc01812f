#include "sinkscope/model/model_spec.h"

#include <fmt/format.h>

namespace sinkscope::model {

std::string ModelSpec::text() const {
  return fmt::format(
      "{}, {} layers x {} heads of {} ({} key/value), width {}, MLP {}, vocabulary {}", family,
      layers, heads, head_width, kv_heads, width, mlp_width, vocabulary);
}

}  // namespace sinkscope::model
