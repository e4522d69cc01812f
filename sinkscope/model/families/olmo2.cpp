// OLMo 2: a llama block without norms before the branches and with one behind each; q and k are
// normed over their whole projections.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/olmo_parts.h"

namespace sinkscope::model {
namespace {

bool claims(const io::GgufFile& file) { return !olmo::has_windows(file); }

}  // namespace

const Family kOlmo2{.name = "olmo2",
                    .architecture = "olmo2",
                    .read_config = olmo::read_config,
                    .read_gguf = olmo::read_gguf,
                    .weights = olmo::kWeights,
                    .optional_prefix = "model.",
                    .hub_class = "Olmo2ForCausalLM",
                    .claims = claims};

}  // namespace sinkscope::model
