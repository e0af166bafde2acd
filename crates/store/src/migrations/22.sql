-- From version 21 to 22: branches of a conversation have numbers.

ALTER TABLE sessions ADD COLUMN branch_of TEXT; -- the first session of its branches
ALTER TABLE sessions ADD COLUMN branch INTEGER NOT NULL DEFAULT 0; -- its number among them, in its title; 0: none
