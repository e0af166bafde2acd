-- From version 23 to 24: the question of an approval is kept, for people who decide outside of a chat.

ALTER TABLE waits ADD COLUMN card TEXT; -- JSON: the question of an approval and its choices; NULL: asked before
