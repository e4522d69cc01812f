#pragma once

#include <memory>
#include <optional>

#include "sinkscope/io/config_json.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::text {

/// From the contents of tokenizer.json and, where there is one, of tokenizer_config.json. Refuses
/// as open_tokenizer does.
std::unique_ptr<Tokenizer> read_tokenizer(const io::Config& tokenizer,
                                          const std::optional<io::Config>& config);

}  // namespace sinkscope::text
