#include "sinkscope/io/safetensors_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/config_json.h"
#include "sinkscope/io/json_text.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

namespace fs = std::filesystem;

constexpr char kOperation[] = "read safetensors index";

[[noreturn]] void refuse(const fs::path& index, const std::string& seen,
                         const std::string& hint = {}) {
  throw Error(ErrorKind::kBadFile, kOperation, index.string() + ": " + seen, hint);
}

bool stays_inside(const fs::path& shard) {
  return !shard.empty() && shard.is_relative() &&
         std::find(shard.begin(), shard.end(), "..") == shard.end();
}

void check_shards_exist(const fs::path& index, const ShardTensors& shards) {
  std::vector<std::string> missing;
  for (const auto& [name, tensors] : shards) {
    std::error_code ignored;
    if (!fs::exists(index.parent_path() / name, ignored)) missing.push_back(name);
  }
  if (missing.empty()) return;
  const std::string first = printable(missing.front());
  if (missing.size() == shards.size()) {
    refuse(index,
           fmt::format("the index matches no file here: none of its {} shards exists, "
                       "{} is the first",
                       shards.size(), first),
           "the index belongs to other weights; fetch the index and the shards together");
  }
  refuse(index, fmt::format("{} of {} shards missing: {}", missing.size(), shards.size(), first),
         "fetch the missing files into the same directory");
}

}  // namespace

ShardTensors read_safetensors_index(const fs::path& index) {
  const Config document = Config::load(index);
  const nlohmann::json& json = document.json();
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object() || map->empty()) {
    refuse(index, "key weight_map: an object of tensor names and shards is expected");
  }
  ShardTensors shards;
  for (const auto& [tensor, shard] : map->items()) {
    const std::string place = "key weight_map." + printable(tensor);
    if (!shard.is_string()) {
      refuse(index, fmt::format("{} is {}, a file name is expected", place, describe_json(shard)));
    }
    const std::string& name = shard.get_ref<const std::string&>();
    if (!stays_inside(name)) {
      refuse(index, fmt::format("{}: \"{}\" leads out of the directory", place, printable(name)));
    }
    shards[name].push_back(tensor);
  }
  check_shards_exist(index, shards);
  return shards;
}

}  // namespace sinkscope::io
