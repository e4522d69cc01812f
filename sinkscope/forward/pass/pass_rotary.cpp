// Tables of the rotary position embeddings, one per stream and kind of rotation.

#include <cmath>
#include <numbers>

#include "sinkscope/forward/pass/pass.h"

namespace sinkscope::forward {
namespace {

std::shared_ptr<const RotaryTable> make_table(const std::vector<double>& angles, int64_t half,
                                              double magnitude, bool interleaved) {
  auto table = std::make_shared<RotaryTable>();
  table->half = half;
  table->interleaved = interleaved;
  for (const double angle : angles) {
    table->cos.push_back(static_cast<float>(std::cos(angle) * magnitude));
    table->sin.push_back(static_cast<float>(std::sin(angle) * magnitude));
  }
  return table;
}

}  // namespace

std::shared_ptr<const RotaryTable> Pass::text_rotary(const model::Rope& rope,
                                                     const Stream& stream) const {
  const int64_t tokens = tokens_of(spec_, stream);
  const std::vector<double> frequencies = model::rope_frequencies(rope, tokens);
  std::vector<double> angles;
  for (const int32_t position : positions_of(stream, tokens)) {
    // In double: position x frequency in float loses digits at long positions.
    for (const double frequency : frequencies) angles.push_back(position * frequency);
  }
  return make_table(angles, rope.width / 2, rope.magnitude, rope.interleaved);
}

/// dinov3: the first half of the frequencies turns by the row, the second by the column of the
/// patch centre in [-1, 1]; the tokens before the patches do not turn.
std::shared_ptr<const RotaryTable> Pass::patch_rotary(const Stream& stream) const {
  const model::Rope& rope = spec_.ropes.front();
  const PatchGrid grid = grid_of(spec_, stream);
  const int64_t half = rope.width / 2, quarter = half / 2;
  std::vector<double> angles(static_cast<size_t>(spec_.vision.prefix() * half), 0);
  const auto centre = [](int64_t index, int64_t count) {
    return 2 * (static_cast<double>(index) + 0.5) / static_cast<double>(count) - 1;
  };
  for (int64_t row = 0; row < grid.rows; ++row) {
    for (int64_t column = 0; column < grid.columns; ++column) {
      for (const double at : {centre(row, grid.rows), centre(column, grid.columns)}) {
        for (int64_t i = 0; i < quarter; ++i) {
          angles.push_back(2 * std::numbers::pi * at *
                           rope.inverse_frequency[static_cast<size_t>(i)]);
        }
      }
    }
  }
  return make_table(angles, half, 1, false);
}

void Pass::make_rotary() {
  using Key = std::tuple<size_t, int64_t, int64_t>;
  const bool patches = spec_.positions == model::Positions::kPatchRotary;
  if (!patches && spec_.positions != model::Positions::kRotary) return;
  // Streams of the same shape share a table; packed ones have their own.
  std::map<Key, std::shared_ptr<const RotaryTable>> known;
  rotary_.resize(spec_.ropes.size());
  for (size_t r = 0; r < spec_.ropes.size(); ++r) {
    for (const Stream& stream : streams_) {
      Key key{r, tokens_of(spec_, stream), 0};
      if (patches) key = {r, grid_of(spec_, stream).rows, grid_of(spec_, stream).columns};
      const auto make = [&] {
        return patches ? patch_rotary(stream) : text_rotary(spec_.ropes[r], stream);
      };
      if (stream.documents.size() > 1) {
        rotary_[r].push_back(make());
        continue;
      }
      std::shared_ptr<const RotaryTable>& table = known[key];
      if (!table) table = make();
      rotary_[r].push_back(table);
    }
  }
}

const RotaryTable* Pass::rotary_of(int layer, int64_t stream) const {
  if (rotary_.empty()) return nullptr;
  const int rope = spec_.blocks[static_cast<size_t>(layer)].rope;
  return rope < 0 ? nullptr
                  : rotary_[static_cast<size_t>(rope)][static_cast<size_t>(base_of(stream))].get();
}

}  // namespace sinkscope::forward
