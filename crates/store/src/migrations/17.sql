-- From version 16 to 17: what the agent may do in a conversation without a question, and the reason of a
-- missing answer, for programs.

ALTER TABLE sessions ADD COLUMN permission_mode TEXT; -- chosen for the session (/mode); NULL: default
ALTER TABLE turns ADD COLUMN failure TEXT;      -- JSON: the reason of a missing answer; NULL: none, or without a name
