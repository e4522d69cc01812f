#pragma once

#include <memory>
#include <string>

#include "sinkscope/io/config_json.h"
#include "sinkscope/text/json_entries.h"
#include "sinkscope/text/piece_model.h"

namespace sinkscope::text {

struct JsonModel {
  std::string kind;  ///< for people
  std::unique_ptr<const PieceModel> model;
  bool adds_bos = false;  ///< where no other key says
};

/// The key `model` of tokenizer.json. Throws kUnsupported naming a construct that we do not read,
/// kBadFile for a damaged one.
JsonModel read_model(const io::Config& model, const JsonEntries& entries, bool byte_level);

}  // namespace sinkscope::text
