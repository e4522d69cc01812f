-- Effects in absolute numbers, and the loss against the donor's target (docs/ablate.md).

ALTER TABLE effect ADD COLUMN change_using REAL;
ALTER TABLE effect ADD COLUMN change_other REAL;
ALTER TABLE effect ADD COLUMN donor_loss REAL;
