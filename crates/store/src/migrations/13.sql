-- From version 12 to 13: the message of a question becomes its outcome.

ALTER TABLE outbox ADD COLUMN wait INTEGER;     -- wait that it asks about, if the message can be edited
ALTER TABLE outbox ADD COLUMN edits INTEGER;    -- outbox.id of the message that it replaces
CREATE INDEX outbox_wait ON outbox (wait) WHERE wait IS NOT NULL;
