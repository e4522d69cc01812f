#pragma once

#include <optional>
#include <string>

#include "sinkscope/text/bpe_model.h"
#include "sinkscope/text/normalizer.h"
#include "sinkscope/text/pre_tokenizer.h"
#include "sinkscope/text/special_tokens.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::text {

/// The one implementation of Tokenizer: special tokens are cut out, the text between them is
/// normalised, split, and its pieces merged. What differs between files is the filling.
class Pipeline final : public Tokenizer {
 public:
  struct Parts {
    std::string kind;
    SpecialTokens special;       ///< everything that `parse_special` looks for
    SpecialTokens user_defined;  ///< what is looked for in any case
    Normalizer normalizer;
    PreTokenizer pre_tokenizer;
    BpeModel model;
    std::optional<int32_t> bos = std::nullopt;
    std::optional<int32_t> eos = std::nullopt;
    bool adds_bos = false;
  };
  explicit Pipeline(Parts parts) : parts_(std::move(parts)) {}

  /// Throws kTooLarge above 512 MiB.
  Ids encode(std::string_view utf8, bool parse_special) const override;
  std::string bytes(int32_t id) const override;
  int64_t vocabulary_size() const override { return parts_.model.vocabulary().size(); }
  std::optional<int32_t> bos_id() const override { return parts_.bos; }
  std::optional<int32_t> eos_id() const override { return parts_.eos; }
  bool adds_bos() const override { return parts_.adds_bos; }
  std::string kind() const override { return parts_.kind; }

 private:
  void encode_text(std::string_view text, bool first, Ids& out) const;

  Parts parts_;
};

}  // namespace sinkscope::text
