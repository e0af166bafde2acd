-- From version 18 to 19: columns in place of comparisons with texts.

ALTER TABLE calls ADD COLUMN is_skill INTEGER NOT NULL DEFAULT 0; -- the result begins with the name of a skill
UPDATE calls SET is_skill = 1 WHERE state = 'finished' AND ok = 1 AND result LIKE '"[skill %';

ALTER TABLE inbound ADD COLUMN is_copied INTEGER NOT NULL DEFAULT 0; -- a copy was queued, which has its key
UPDATE inbound SET is_copied = 1 WHERE key = 'retried ' || id;
