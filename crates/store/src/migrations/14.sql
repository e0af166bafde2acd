-- From version 13 to 14: spoken answers.

ALTER TABLE sessions ADD COLUMN voice TEXT;     -- spoken answers (/voice); NULL: the configured ones

-- The text of a schema may be changed if the rows keep their format (sqlite.org/lang_altertable.html,
-- section 7).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'OR purpose = ''embedding'')', 'OR purpose = ''embedding'' OR purpose = ''speech'')')
WHERE type = 'table' AND name = 'usage';
PRAGMA writable_schema = RESET;
