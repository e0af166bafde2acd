-- From version 14 to 15: the first message of a stranger is kept until an owner decides.

ALTER TABLE pairings ADD COLUMN message TEXT;   -- first message of the stranger, as JSON, while the code is open
