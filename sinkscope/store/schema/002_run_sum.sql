-- Vectors added over all sequences of a run, in order of the batches: what needs more than a value per sequence.
CREATE TABLE run_sum (
  name TEXT NOT NULL,
  layer INTEGER NOT NULL,
  data BLOB NOT NULL,               -- float64, little endian
  PRIMARY KEY (name, layer)
) WITHOUT ROWID;
