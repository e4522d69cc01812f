#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sinkscope/text/piece_model.h"
#include "sinkscope/text/pre_tokenizer.h"
#include "sinkscope/text/rewrite.h"
#include "sinkscope/text/special_tokens.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::text {

/// What the steps make of `text`, one after the other.
std::string rewritten(const std::vector<Rewrite>& steps, std::string_view text, bool first);

/// The one implementation of Tokenizer: special tokens are cut out, the text between them is
/// normalised, split, and its pieces are turned into ids. What differs between files is the
/// filling.
class Pipeline final : public Tokenizer {
 public:
  struct AddedTokens {
    SpecialTokens special;       ///< everything that `parse_special` looks for
    SpecialTokens user_defined;  ///< what is looked for in any case
  };
  struct Parts {
    std::string kind;
    AddedTokens as_written;     ///< looked for in the text as it is
    AddedTokens as_normalized;  ///< looked for in what the normaliser makes of the rest
    std::vector<Rewrite> normalizer;
    PreTokenizer pre_tokenizer;
    std::unique_ptr<const PieceModel> model;
    std::optional<int32_t> bos = std::nullopt;
    std::optional<int32_t> eos = std::nullopt;
    bool adds_bos = false;
    Ids closing;
  };
  explicit Pipeline(Parts parts) : parts_(std::move(parts)) {}

  /// Throws kTooLarge above 512 MiB.
  Ids encode(std::string_view utf8, bool parse_special) const override;
  std::string bytes(int32_t id) const override;
  int64_t vocabulary_size() const override { return parts_.model->vocabulary().size(); }
  std::optional<int32_t> bos_id() const override { return parts_.bos; }
  std::optional<int32_t> eos_id() const override { return parts_.eos; }
  bool adds_bos() const override { return parts_.adds_bos; }
  Ids closing_ids() const override { return parts_.closing; }
  std::string kind() const override { return parts_.kind; }

 private:
  void encode_normalized(std::string_view text, bool first, Ids& out) const;

  Parts parts_;
};

}  // namespace sinkscope::text
