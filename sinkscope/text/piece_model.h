#pragma once

#include <string_view>
#include <utility>

#include "sinkscope/text/tokenizer.h"
#include "sinkscope/text/vocabulary.h"

namespace sinkscope::text {

/// Turns one piece of text, already normalised and split off, into ids. Thread-safe.
class PieceModel {
 public:
  explicit PieceModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~PieceModel() = default;
  PieceModel(const PieceModel&) = delete;
  PieceModel& operator=(const PieceModel&) = delete;

  virtual void encode(std::string_view piece, Ids& out) const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

}  // namespace sinkscope::text
