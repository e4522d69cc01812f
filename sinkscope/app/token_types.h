#pragma once

#include <functional>
#include <vector>

#include "sinkscope/diagnostics/token_type.h"
#include "sinkscope/model/model_spec.h"
#include "sinkscope/store/store.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::app {

/// The type of every position of a sequence.
using TypesOf = std::function<std::vector<diagnostics::TokenType>(const store::SequenceInfo&)>;

/// The rule for a model's inputs (docs/diagnostics/types.md). Without a tokenizer a text has only
/// first, repeated first and other tokens. `tokenizer` must outlive the result.
TypesOf token_types(const model::ModelSpec& spec, const text::Tokenizer* tokenizer);

}  // namespace sinkscope::app
