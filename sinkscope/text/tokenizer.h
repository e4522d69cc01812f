#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/io/gguf.h"

namespace sinkscope::text {

using Ids = std::vector<int32_t>;

/// Text to ids and back. Immutable and thread-safe. Time is proportional to the input.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids of `utf8`, without what belongs around a text (BOS, EOS, [CLS], [SEP]). `parse_special`:
  /// strings of special tokens (<s>,
  /// <|im_start|>) become their ids; otherwise they are plain text. Tokens that were added to the
  /// vocabulary without being special (runs of spaces in GPT-NeoX) are found either way, as their
  /// models were trained. Bytes that are no UTF-8 are
  /// tokenised as bytes where the vocabulary can, never an error.
  virtual Ids encode(std::string_view utf8, bool parse_special) const = 0;

  /// The raw bytes that a token stands for; they need not be valid UTF-8 alone.
  /// Throws kUsage for an id outside the vocabulary.
  virtual std::string bytes(int32_t id) const = 0;

  virtual int64_t vocabulary_size() const = 0;
  /// The token in front of a text: <s>, or [CLS] of an encoder. Absent where the files do not say;
  /// no built-in default ids.
  virtual std::optional<int32_t> bos_id() const = 0;
  virtual std::optional<int32_t> eos_id() const = 0;
  /// Whether the files want a BOS in front (add_bos_token; where absent: SentencePiece yes,
  /// byte-level BPE no except pre type llama-bpe).
  virtual bool adds_bos() const = 0;
  /// What the files want behind a text ([SEP], </s>, CLIP's <|endoftext|>); nothing for most
  /// decoders.
  virtual Ids closing_ids() const { return {}; }
  /// "BPE smollm", "SPM", ... for people.
  virtual std::string kind() const = 0;
};

/// From tokenizer.ggml.* keys. Throws kBadFile (naming key), kUnsupported naming the construct.
/// docs/tokenizers.md lists what is read.
std::unique_ptr<Tokenizer> open_tokenizer(const io::GgufFile& file);
/// From DIR/tokenizer.json and, where present, DIR/tokenizer_config.json. Without the former:
/// kUnsupported.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& directory);

/// Label for people: valid UTF-8, control characters and stray bytes escaped (\n, \xF0).
std::string token_label(const Tokenizer& tokenizer, int32_t id);

enum class BosRule { kAuto, kAlways, kNever };

struct Prompt {
  Ids ids;
  bool bos_added = false;
  bool closing_added = false;
  std::vector<std::string> warnings;  ///< e.g. that the text brings its own BOS (case TOK-1)
};

/// `encode` (special strings parsed) plus the BOS rule. kAuto follows adds_bos() and never makes a
/// second BOS; kAlways may, with a warning; kNever adds none. But for kNever closing_ids() follow,
/// unless the text ends with them (with a warning). Throws kUsage for kAlways without a BOS id.
Prompt make_prompt(const Tokenizer& tokenizer, std::string_view utf8, BosRule rule);

}  // namespace sinkscope::text
