-- From version 15 to 16: a schedule keeps the roles that the platform gave its person.

ALTER TABLE schedules ADD COLUMN sender_roles TEXT; -- JSON: roles of the platform; NULL: none
