#include "sinkscope/base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <fstream>
#include <memory>

#include "sinkscope/base/error.h"

namespace sinkscope {
namespace {

class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void add(const void* data, size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  std::string digest() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), bytes, &size);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

std::string hash_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::kBadFile, "hash model file", file.string() + " cannot be read");
  Hash hash;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    hash.add(buffer.data(), static_cast<size_t>(in.gcount()));
  }
  return hash.digest();
}

}  // namespace

std::string sha256_bytes(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.digest();
}

std::string sha256_files(const std::vector<std::filesystem::path>& files) {
  if (files.size() == 1) return hash_file(files[0]);
  Hash hash;
  for (const auto& file : files) {
    const std::string line = hash_file(file) + "  " + file.filename().string() + "\n";
    hash.add(line.data(), line.size());
  }
  return hash.digest();
}

}  // namespace sinkscope
