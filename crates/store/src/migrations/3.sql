-- From version 2 to 3: what a model wants to have back of its reasoning.

ALTER TABLE steps ADD COLUMN reasoning TEXT;
