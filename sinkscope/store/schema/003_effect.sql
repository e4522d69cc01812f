-- What interventions did: `ablate`. Documented in docs/store.md and docs/ablate.md.

CREATE TABLE effect (
  intervention TEXT NOT NULL,
  layer INTEGER NOT NULL,           -- -1: not of one layer
  head INTEGER NOT NULL,            -- -1: not of one head
  sequence INTEGER NOT NULL,
  key INTEGER NOT NULL,             -- position of the edited key; -1: none
  loss_base REAL, loss REAL, kl REAL, top1 REAL,
  rms REAL, rms_using REAL, rms_other REAL,
  shared_energy REAL, donor_cosine REAL,
  sink0_base REAL, sink0 REAL, sink_pos_base REAL, sink_pos REAL,
  PRIMARY KEY (intervention, layer, head, sequence)
) WITHOUT ROWID;
