#pragma once

#include <SQLiteCpp/Exception.h>

#include <string>
#include <type_traits>
#include <utility>

#include "sinkscope/store/database.h"
#include "sinkscope/store/errors.h"

namespace sinkscope::store {

/// The part that stores of effects and of sheets share: a connection, and the identity and facts
/// that lie in it. `Interface` declares identity(), put_fact() and facts().
template <typename Interface>
class FactsStore : public Interface {
 public:
  Facts identity() const override {
    return read([&] { return read_pairs(connection_.database, "identity"); });
  }
  Facts facts() const override {
    return read([&] { return read_pairs(connection_.database, "fact"); });
  }
  void put_fact(std::string_view key, std::string_view json) override {
    guarded("store fact", connection_.name,
            [&] { write_pair(connection_.database, "fact", std::string(key), std::string(json)); });
  }

 protected:
  explicit FactsStore(Connection connection) : connection_(std::move(connection)) {}

  template <typename Body>
  std::invoke_result_t<Body> read(Body body) const {
    return guarded("read run store", connection_.name, body);
  }

  mutable Connection connection_;  // reading compiles statements on the connection
};

}  // namespace sinkscope::store
