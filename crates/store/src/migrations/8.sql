-- From version 7 to 8.

-- Idempotency key of the request that made a schedule.
ALTER TABLE schedules ADD COLUMN key TEXT;
CREATE UNIQUE INDEX schedules_key ON schedules (key) WHERE key IS NOT NULL;
