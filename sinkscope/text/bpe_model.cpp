#include "sinkscope/text/bpe_model.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

BpeModel::BpeModel(Vocabulary vocabulary, Options options)
    : PieceModel(std::move(vocabulary)), options_(std::move(options)) {}

BpeModel::BpeModel(Vocabulary vocabulary, Options options, std::vector<double> scores)
    : PieceModel(std::move(vocabulary)), options_(std::move(options)), scores_(std::move(scores)) {}

bool BpeModel::add_merge(std::string_view left, std::string_view right) {
  const auto left_id = vocabulary_.find(left);
  const auto right_id = vocabulary_.find(right);
  const std::string_view tail =
      right.starts_with(options_.inner_prefix) ? right.substr(options_.inner_prefix.size()) : right;
  const auto joined_id = vocabulary_.find(std::string(left).append(tail));
  if (!left_id || !right_id || !joined_id) return false;
  const auto rank = static_cast<double>(merges_.size());
  merges_.try_emplace(pair_key(*left_id, *right_id), Merge{rank, *joined_id});
  return true;
}

void BpeModel::encode(std::string_view piece, Ids& out) const {
  if (options_.whole_pieces) {
    if (const auto id = vocabulary_.find(piece)) {
      out.push_back(*id);
      return;
    }
  }
  std::vector<Symbol> symbols = symbols_of(piece);
  merge_all(piece, symbols);
  put(piece, symbols, out);
}

std::vector<BpeModel::Symbol> BpeModel::symbols_of(std::string_view piece) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (size_t at = 0; at < piece.size();) {
    const size_t length =
        options_.units == Units::kBytes ? 1 : std::max<size_t>(1, utf8_length(piece, at));
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({index - 1, index + 1, static_cast<uint32_t>(at),
                       static_cast<uint32_t>(length),
                       find_character(piece, at, length).value_or(kNone)});
    at += length;
  }
  if (!symbols.empty()) symbols.back().next = kNone;
  return symbols;
}

std::optional<int32_t> BpeModel::find_character(std::string_view piece, size_t at,
                                                size_t length) const {
  const std::string_view character = piece.substr(at, length);
  if (options_.end_suffix.empty() && options_.inner_prefix.empty()) {
    return vocabulary_.find(character);
  }
  std::string spelling = at > 0 ? options_.inner_prefix : std::string();
  spelling += character;
  if (at + length == piece.size()) spelling += options_.end_suffix;
  return vocabulary_.find(spelling);
}

std::optional<BpeModel::Merge> BpeModel::find_merge(std::string_view piece, const Symbol& left,
                                                    const Symbol& right) const {
  if (!scores_.empty()) {
    const auto id = vocabulary_.find(piece.substr(left.begin, left.length + right.length));
    if (!id) return std::nullopt;
    return Merge{-scores_[*id], *id};
  }
  if (left.id == kNone || right.id == kNone) return std::nullopt;
  const auto found = merges_.find(pair_key(left.id, right.id));
  if (found == merges_.end()) return std::nullopt;
  return found->second;
}

void BpeModel::merge_all(std::string_view piece, std::vector<Symbol>& symbols) const {
  const auto worse = [](const Candidate& a, const Candidate& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.left > b.left;
  };
  std::vector<Candidate> storage;
  storage.reserve(symbols.size());
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(worse)> queue(worse,
                                                                                std::move(storage));
  const auto consider = [&](int32_t left, int32_t right) {
    if (left == kNone || right == kNone) return;
    if (const auto merge = find_merge(piece, symbols[left], symbols[right])) {
      queue.push(
          {merge->cost, left, right, symbols[left].length + symbols[right].length, merge->id});
    }
  };
  for (size_t i = 1; i < symbols.size(); ++i) {
    consider(static_cast<int32_t>(i) - 1, static_cast<int32_t>(i));
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.left];
    Symbol& right = symbols[best.right];
    // A stretch only ever grows, so an equal sum means that both are as they were.
    if (left.length == 0 || right.length == 0 || left.length + right.length != best.length)
      continue;
    left.length = best.length;
    left.id = best.id;
    left.next = right.next;
    right.length = 0;
    if (left.next != kNone) symbols[left.next].previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
}

void BpeModel::put(std::string_view piece, const std::vector<Symbol>& symbols, Ids& out) const {
  bool after_unknown = false;
  for (const Symbol& symbol : symbols) {
    if (symbol.length == 0) continue;
    if (symbol.id != kNone) {
      out.push_back(symbol.id);
      after_unknown = false;
      continue;
    }
    const std::string_view bytes = piece.substr(symbol.begin, symbol.length);
    const bool has_bytes = vocabulary_.has_bytes(bytes);
    if (has_bytes) {
      for (const char byte : bytes) out.push_back(*vocabulary_.byte_id(static_cast<uint8_t>(byte)));
    } else if (options_.unknown && !(after_unknown && options_.fuse_unknown)) {
      out.push_back(*options_.unknown);
    }
    after_unknown = !has_bytes;
  }
}

}  // namespace sinkscope::text
