-- From version 10 to 11: dead letters leave their list when the operator drops them.

ALTER TABLE outbox ADD COLUMN dropped_at INTEGER;
