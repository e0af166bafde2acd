"""Writes a log of the first schema, with one session and one memory, to the path in the arguments."""

import pathlib
import sqlite3
import sys

schema = pathlib.Path(__file__).parents[2] / "crates/store/src/migrations/schema_v1.sql"
log = sqlite3.connect(sys.argv[1])
log.executescript(schema.read_text())
log.executescript(
    """
    PRAGMA application_id = 0x41564F43;
    PRAGMA user_version = 1;
    INSERT INTO sessions (id, used_at) VALUES ('terminal:local:before', 1);
    INSERT INTO notes (text, written_at) VALUES ('kept from the first schema', 1);
    """
)
log.close()
