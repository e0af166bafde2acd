-- From version 2 to 3: reasoning that a model needs in later requests.

ALTER TABLE steps ADD COLUMN reasoning TEXT;
