#pragma once

// Readers that encoders and image towers share; their hub configs leave more unsaid than decoders'.

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sinkscope/io/config_json.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::model {

struct KeyName {
  std::string_view ours, theirs;
};
/// `config` with the value of `theirs` under `ours` as well, where only `theirs` is present.
io::Config with_names(const io::Config& config, std::initializer_list<KeyName> names);

/// Throws kUnsupported naming key and value when the key is present and holds something else.
void require_text(const io::Config& config, std::string_view key, std::string_view supported);
void require_flag(const io::Config& config, std::string_view key, bool supported);

/// A number from 0 to 2^24; kBadFile naming the key otherwise.
int64_t read_count(const io::Config& config, std::string_view key, int64_t fallback);
/// width * the number under `key`, rounded down; kBadFile unless in [1, 2^24].
int64_t read_multiple(const io::Config& config, std::string_view key, double fallback,
                      int64_t width);
/// Classes of a classifier: entries of id2label, num_labels, or 2.
int64_t read_classes(const io::Config& config);
/// Whether an entry of "architectures" ends so ("ForSequenceClassification").
bool has_class(const io::Config& config, std::string_view ending);

/// What bert, roberta and distilbert share: a post-norm encoder whose embeddings are normed, layer
/// norms, biases everywhere, and a masked head or a classifier of the pooled first token.
ModelSpec read_bert_config(const io::Config& config);

/// read_vision_config with a class token and a classifier of it behind the final norm.
ModelSpec read_vit_config(const io::Config& config);
/// dinov2 with and without registers: LayerScale, MLP width by mlp_ratio, SwiGLU by a key.
ModelSpec read_dinov2_config(const io::Config& config);

}  // namespace sinkscope::model
