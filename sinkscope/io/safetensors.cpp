#include "sinkscope/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "sinkscope/base/error.h"
#include "sinkscope/io/mmap.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/io/safetensors_header.h"
#include "sinkscope/io/safetensors_index.h"

namespace sinkscope::io {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";

class MappedSafetensors final : public TensorSource {
 public:
  void add_file(const fs::path& file) { keep(file, read(file)); }

  void add_shard(const fs::path& file, const std::vector<std::string>& names) {
    std::vector<TensorInfo> tensors = read(file);
    const std::unordered_set<std::string_view> wanted(names.begin(), names.end());
    const auto unwanted =
        std::stable_partition(tensors.begin(), tensors.end(),
                              [&](const TensorInfo& t) { return wanted.contains(t.name); });
    if (unwanted != tensors.end()) {
      notes_.push_back(
          fmt::format("{}: {} tensors that the index does not place here are ignored, "
                      "{} among them",
                      file.string(), tensors.end() - unwanted, printable(unwanted->name)));
      tensors.erase(unwanted, tensors.end());
    }
    check_complete(file, names, tensors);
    keep(file, std::move(tensors));
  }

  void add_note(std::string note) { notes_.push_back(std::move(note)); }

  // Names are unique already: within a file by its header, over shards by the index.
  void finish() { index_tensors(); }

  std::string_view format() const override { return "safetensors"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::vector<fs::path>& files() const override { return files_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::span<const std::byte> bytes(const TensorInfo& tensor) const override {
    return maps_.at(tensor.file).bytes().subspan(tensor.offset, tensor.bytes);
  }
  void release(const TensorInfo& tensor) const override {
    maps_.at(tensor.file).release(tensor.offset, tensor.bytes);
  }

 private:
  std::vector<TensorInfo> read(const fs::path& file) {
    return read_safetensors_header(maps_.emplace_back(file).bytes(), file.string());
  }

  void keep(const fs::path& file, std::vector<TensorInfo> tensors) {
    files_.push_back(file);
    for (TensorInfo& tensor : tensors) {
      tensor.file = static_cast<int>(files_.size()) - 1;
      tensors_.push_back(std::move(tensor));
    }
  }

  static void check_complete(const fs::path& file, const std::vector<std::string>& names,
                             const std::vector<TensorInfo>& tensors) {
    std::unordered_set<std::string_view> held;
    for (const TensorInfo& tensor : tensors) held.insert(tensor.name);
    for (const std::string& name : names) {
      if (held.contains(name)) continue;
      throw Error(ErrorKind::kBadFile, "open safetensors",
                  fmt::format("tensor {} not in {}, where the index places it", printable(name),
                              file.string()),
                  "index and shards are of different builds; fetch them together");
    }
  }

  std::vector<MappedFile> maps_;
  std::vector<TensorInfo> tensors_;
  std::vector<fs::path> files_;
  std::vector<std::string> notes_;
};

// The weight files of a directory by the endings that matter here, in order of their names.
struct Listing {
  explicit Listing(const fs::path& directory) {
    std::error_code failed;
    for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
         it.increment(failed)) {
      const std::string name = it->path().filename().string();
      if (name.ends_with(kIndexEnding)) indexes.insert(name);
      if (name.ends_with(".safetensors")) safetensors.insert(name);
      if (name.ends_with(".gguf")) gguf.insert(name);
      if (name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth")) {
        pickles.insert(name);
      }
    }
    if (failed) {
      throw Error(ErrorKind::kBadFile, "open model directory",
                  directory.string() + ": " + failed.message());
    }
  }
  std::set<std::string> indexes, safetensors, gguf, pickles;
};

[[noreturn]] void refuse_directory(const fs::path& directory, const Listing& listing) {
  constexpr char kOperation[] = "open model directory";
  if (!listing.safetensors.empty()) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: {} safetensors files, but neither model.safetensors nor "
                            "model.safetensors.index.json",
                            directory.string(), listing.safetensors.size()),
                "fetch the index too, or give one of the files");
  }
  if (!listing.gguf.empty()) {
    throw Error(ErrorKind::kBadFile, kOperation, directory.string() + ": holds no safetensors file",
                "give the GGUF file itself: " + (directory / *listing.gguf.begin()).string());
  }
  if (!listing.pickles.empty()) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: holds no safetensors file, only pickled weights ({})",
                            directory.string(), printable(*listing.pickles.begin())),
                "convert them with `save_pretrained(..., safe_serialization=True)`");
  }
  throw Error(ErrorKind::kBadFile, kOperation, directory.string() + ": holds no safetensors file");
}

void add_index(MappedSafetensors& source, const fs::path& index) {
  const ShardTensors shards = read_safetensors_index(index);
  for (const auto& [name, tensors] : shards) source.add_shard(index.parent_path() / name, tensors);
  for (const std::string& name : Listing(index.parent_path()).safetensors) {
    if (shards.contains(name)) continue;
    source.add_note(fmt::format("{} is ignored: {} does not name it",
                                (index.parent_path() / name).string(), index.filename().string()));
  }
}

void add_directory(MappedSafetensors& source, const fs::path& directory) {
  const Listing listing(directory);
  const std::string index = "model" + std::string(kIndexEnding);
  if (listing.indexes.contains(index)) return add_index(source, directory / index);
  const bool has_single = listing.safetensors.contains(std::string(kSingleName));
  if (!has_single && listing.safetensors.size() != 1) refuse_directory(directory, listing);
  const std::string name = has_single ? std::string(kSingleName) : *listing.safetensors.begin();
  source.add_file(directory / name);
  for (const std::string& other : listing.safetensors) {
    if (other == name) continue;
    source.add_note(fmt::format("{} is ignored: {} is read", (directory / other).string(), name));
  }
}

}  // namespace

std::unique_ptr<TensorSource> open_safetensors(const fs::path& file_or_directory) {
  auto source = std::make_unique<MappedSafetensors>();
  std::error_code ignored;
  if (fs::is_directory(file_or_directory, ignored)) {
    add_directory(*source, file_or_directory);
  } else if (file_or_directory.string().ends_with(kIndexEnding)) {
    add_index(*source, file_or_directory);
  } else {
    source->add_file(file_or_directory);
  }
  source->finish();
  return source;
}

}  // namespace sinkscope::io
