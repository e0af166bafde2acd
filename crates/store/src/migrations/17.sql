-- From version 16 to 17: what the agent may do in a conversation without a question.

ALTER TABLE sessions ADD COLUMN permission_mode TEXT; -- chosen for the session (/mode); NULL: default
