#include "sinkscope/store/effects.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <array>
#include <cmath>
#include <set>

#include "sinkscope/store/facts_store.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::store {
namespace {

// clang-format off
constexpr std::array kMetrics = {
    EffectMetric{"loss_base", &Effect::loss_base, "nats", "mean loss without the edit over the positions compared: of the next token, or of a task whose outputs are vectors its squared error per channel"},
    EffectMetric{"loss", &Effect::loss, "nats", "the same with the edit"},
    EffectMetric{"kl", &Effect::kl, "nats", "mean KL(without || with) of the next-token distribution"},
    EffectMetric{"top1", &Effect::top1, "share", "share of positions whose most likely next token stays the same"},
    EffectMetric{"rms", &Effect::rms, "", "sqrt(sum ||y'_i - y_i||^2 / sum ||y_i||^2) of the final normed states, over tokens other than the edited key"},
    EffectMetric{"rms_using", &Effect::rms_using, "", "rms over the queries that give the key at least event_mass in the edited head"},
    EffectMetric{"rms_other", &Effect::rms_other, "", "rms over the other queries"},
    EffectMetric{"change_using", &Effect::change_using, "", "root mean square change per channel of the final normed states, over the queries that give the key at least event_mass in the edited head; over sequences their root mean square", true},
    EffectMetric{"change_other", &Effect::change_other, "", "change_using over the other queries; over all where no key is edited", true},
    EffectMetric{"shared_energy", &Effect::shared_energy, "share", "share of the change's energy in its mean over tokens"},
    EffectMetric{"donor_cosine", &Effect::donor_cosine, "", "cosine of the mean change with (donor's mean final state - own), or with (the update that the task wants of the donor's tokens - of these) where it is the same for every token"},
    EffectMetric{"donor_loss", &Effect::donor_loss, "nats", "loss with the edit against the donor's target: the update that the task wants of the donor's tokens, on these"},
    EffectMetric{"sink0_base", &Effect::sink0_base, "share", "share of the heads of later layers with alpha_0 > epsilon, without the edit"},
    EffectMetric{"sink0", &Effect::sink0, "share", "the same with the edit"},
    EffectMetric{"sink_pos_base", &Effect::sink_pos_base, "share", "as sink0_base, for the key at --pos"},
    EffectMetric{"sink_pos", &Effect::sink_pos, "share", "the same with the edit"},
};
// clang-format on

constexpr const char* kPlaces = "intervention, layer, head, sequence, key";

class SqliteEffects final : public FactsStore<EffectStore> {
 public:
  explicit SqliteEffects(Connection connection) : FactsStore(std::move(connection)) {}

  void put(std::span<const Effect> effects) override {
    guarded("store effects", connection_.name, [&] {
      SQLite::Transaction transaction(connection_.database, SQLite::TransactionBehavior::IMMEDIATE);
      std::string columns = kPlaces, marks = "?, ?, ?, ?, ?";
      for (const EffectMetric& metric : kMetrics) {
        columns.append(", ").append(metric.name);
        marks += ", ?";
      }
      SQLite::Statement insert(connection_.database,
                               "INSERT INTO effect (" + columns + ") VALUES (" + marks + ")");
      for (const Effect& effect : effects) {
        insert.bind(1, effect.intervention);
        insert.bind(2, effect.layer);
        insert.bind(3, effect.head);
        insert.bind(4, effect.sequence);
        insert.bind(5, effect.key);
        int column = 6;
        for (const EffectMetric& metric : kMetrics) {
          const double value = effect.*metric.value;
          if (std::isfinite(value)) {
            insert.bind(column, value);
          } else {
            insert.bind(column);  // NULL
          }
          ++column;
        }
        insert.exec();
        insert.reset();
      }
      transaction.commit();
    });
  }

  std::vector<Effect> effects() const override {
    return read([&] {
      std::vector<Effect> all;
      const std::vector<const EffectMetric*> metrics = stored_metrics();
      std::string columns = kPlaces;
      for (const EffectMetric* metric : metrics) columns.append(", ").append(metric->name);
      SQLite::Statement query(
          connection_.database,
          "SELECT " + columns + " FROM effect ORDER BY intervention, layer, head, sequence");
      while (query.executeStep()) {
        Effect effect;
        effect.intervention = valid_utf8(query.getColumn(0).getString());
        effect.layer = query.getColumn(1).getInt64();
        effect.head = query.getColumn(2).getInt64();
        effect.sequence = query.getColumn(3).getInt64();
        effect.key = query.getColumn(4).getInt64();
        int column = 5;
        for (const EffectMetric* metric : metrics) {
          const SQLite::Column value = query.getColumn(column++);
          if (!value.isNull()) effect.*metric->value = value.getDouble();
        }
        all.push_back(std::move(effect));
      }
      return all;
    });
  }

 private:
  /// A store that is only read keeps the columns of the schema that wrote it.
  std::vector<const EffectMetric*> stored_metrics() const {
    std::set<std::string> columns;
    SQLite::Statement query(connection_.database, "SELECT name FROM pragma_table_info('effect')");
    while (query.executeStep()) columns.insert(query.getColumn(0).getString());
    std::vector<const EffectMetric*> metrics;
    for (const EffectMetric& metric : kMetrics) {
      if (columns.contains(std::string(metric.name))) metrics.push_back(&metric);
    }
    return metrics;
  }
};

}  // namespace

std::span<const EffectMetric> effect_metrics() { return kMetrics; }

std::unique_ptr<EffectStore> EffectStore::in_memory(const Facts& identity) {
  return std::make_unique<SqliteEffects>(connect_memory(identity));
}

std::unique_ptr<EffectStore> EffectStore::open_or_create(const std::filesystem::path& file,
                                                         const Facts& identity, bool overwrite) {
  return std::make_unique<SqliteEffects>(connect_writing(file, identity, overwrite));
}

std::unique_ptr<EffectStore> EffectStore::open(const std::filesystem::path& file) {
  return std::make_unique<SqliteEffects>(connect_reading(file));
}

}  // namespace sinkscope::store
