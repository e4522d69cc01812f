-- A run. Documented in docs/store.md.

CREATE TABLE identity (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE fact (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE metric (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  scope TEXT NOT NULL CHECK (scope IN ('head', 'layer', 'sequence')),
  aggregate TEXT NOT NULL CHECK (aggregate IN ('mean', 'mode', 'sum', 'max')),
  width INTEGER NOT NULL CHECK (width BETWEEN 1 AND 65536),
  unit TEXT NOT NULL,
  definition TEXT NOT NULL
);

CREATE TABLE sequence (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  start INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  ids BLOB NOT NULL                 -- int32, little endian; empty for an image
);

-- One row per metric and sequence: [layers][heads x width] float64, little endian, NaN for no data.
CREATE TABLE sequence_value (
  metric INTEGER NOT NULL REFERENCES metric (id),
  sequence INTEGER NOT NULL REFERENCES sequence (id),
  layers INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (metric, sequence)
);

-- Attention received by each position, added over sequences: alpha = mass / queries.
CREATE TABLE curve (
  layer INTEGER PRIMARY KEY,
  positions INTEGER NOT NULL,
  mass BLOB NOT NULL,               -- [heads][positions] float64
  queries BLOB NOT NULL             -- [positions] float64
);

CREATE TABLE model (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL,
  path TEXT NOT NULL,
  revision TEXT NOT NULL,
  step INTEGER NOT NULL
);

-- The summary, rebuilt from the rows above. Head -1: a value of the layer; layer -1: of the run.
-- Some metrics have no row in `metric`: they come from others (docs/store.md).
CREATE TABLE head_metric (
  model INTEGER NOT NULL REFERENCES model (id),
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  metric TEXT NOT NULL,
  idx INTEGER NOT NULL,
  value REAL,                       -- NULL: no data
  count INTEGER NOT NULL,           -- sequences with data
  PRIMARY KEY (model, metric, layer, head, idx)
) WITHOUT ROWID;

CREATE VIEW head_value AS
  SELECT model.path AS model, revision, step, layer, head, metric, idx, value, count
  FROM head_metric JOIN model ON model.id = head_metric.model;
