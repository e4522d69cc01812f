-- Tables of calculators: `theory`. Documented in docs/store.md.

CREATE TABLE sheet_table (
  ordinal INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  columns TEXT NOT NULL             -- JSON [[name, unit, definition], ..]
);

CREATE TABLE sheet_plot (
  ordinal INTEGER PRIMARY KEY,
  plot TEXT NOT NULL                -- JSON object
);

CREATE TABLE sheet_row (
  unit INTEGER NOT NULL,            -- piece of work that made it; -1: concluded from all others
  place INTEGER NOT NULL,
  name TEXT NOT NULL,               -- of its table
  cells TEXT NOT NULL,              -- JSON [..]: number, null, text or list of numbers
  PRIMARY KEY (unit, place)
) WITHOUT ROWID;

CREATE TABLE sheet_finding (
  ordinal INTEGER PRIMARY KEY,
  finding TEXT NOT NULL
);
