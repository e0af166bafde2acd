-- From version 9 to 10.

-- SQLite builds a temporary table for each list of three or more values in a condition. In the tables
-- that a turn writes, the constraints and indices get the same conditions without lists. The text of a
-- schema may be changed if the rows keep their format (sqlite.org/lang_altertable.html, section 7).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (summary_trust IN (''low'', ''user'', ''full''))',
    'CHECK (
                    summary_trust = ''low'' OR summary_trust = ''user'' OR summary_trust = ''full'')')
WHERE type = 'table' AND name = 'sessions';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN
                    (''queued'', ''running'', ''waiting'', ''done'', ''cancelled'', ''failed''))',
    'CHECK (
                    state = ''queued'' OR state = ''running'' OR state = ''waiting'' OR state = ''done''
                    OR state = ''cancelled'' OR state = ''failed'')')
WHERE type = 'table' AND name = 'turns';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (prompt_trust IN (''low'', ''user'', ''full''))',
    'CHECK (
                    prompt_trust = ''low'' OR prompt_trust = ''user'' OR prompt_trust = ''full'')')
WHERE type = 'table' AND name = 'turns';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''queued'', ''running'', ''done'', ''dead''))',
    'CHECK (
                    state = ''queued'' OR state = ''running'' OR state = ''done'' OR state = ''dead'')')
WHERE type = 'table' AND name = 'inbound';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (outcome IN (''replied'', ''error'', ''dropped'', ''merged'', ''stopped''))',
    'CHECK (
                    outcome = ''replied'' OR outcome = ''error'' OR outcome = ''dropped''
                    OR outcome = ''merged'' OR outcome = ''stopped'')')
WHERE type = 'table' AND name = 'inbound';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (trust IN (''low'', ''user'', ''full''))',
    'CHECK (trust = ''low'' OR trust = ''user'' OR trust = ''full'')')
WHERE type = 'table' AND name = 'inbound';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (trust IN (''low'', ''user'', ''full''))',
    'CHECK (trust = ''low'' OR trust = ''user'' OR trust = ''full'')')
WHERE type = 'table' AND name = 'steps';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (class IN (''pure'', ''in_log'', ''verifiable'', ''effect''))',
    'CHECK (class = ''pure'' OR class = ''in_log'' OR class = ''verifiable'' OR class = ''effect'')')
WHERE type = 'table' AND name = 'calls';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN
                  (''planned'', ''started'', ''interrupted'', ''waiting'', ''finished''))',
    'CHECK (
                    state = ''planned'' OR state = ''started'' OR state = ''interrupted''
                    OR state = ''waiting'' OR state = ''finished'')')
WHERE type = 'table' AND name = 'calls';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (trust IN (''low'', ''user'', ''full''))',
    'CHECK (trust = ''low'' OR trust = ''user'' OR trust = ''full'')')
WHERE type = 'table' AND name = 'calls';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (source IN (''reply'', ''tool'', ''prompt'', ''notice'', ''process'', ''preview''))',
    'CHECK (
                    source = ''reply'' OR source = ''tool'' OR source = ''prompt'' OR source = ''notice''
                    OR source = ''process'' OR source = ''preview'')')
WHERE type = 'table' AND name = 'outbox';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN
                    (''pending'', ''sending'', ''unknown'', ''preview'', ''sent'', ''unconfirmed'', ''dead''))',
    'CHECK (
                    state = ''pending'' OR state = ''sending'' OR state = ''unknown'' OR state = ''preview''
                    OR state = ''sent'' OR state = ''unconfirmed'' OR state = ''dead'')')
WHERE type = 'table' AND name = 'outbox';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (purpose IN (''answer'', ''summary'', ''consolidation'', ''embedding''))',
    'CHECK (
                    purpose = ''answer'' OR purpose = ''summary'' OR purpose = ''consolidation''
                    OR purpose = ''embedding'')')
WHERE type = 'table' AND name = 'usage';
PRAGMA writable_schema = RESET;

DROP INDEX turns_open;
CREATE UNIQUE INDEX turns_open ON turns (session)
    WHERE state = 'queued' OR state = 'running' OR state = 'waiting';
DROP INDEX outbox_open;
CREATE INDEX outbox_open ON outbox (channel, account, chat, id)
    WHERE state = 'pending' OR state = 'sending' OR state = 'unknown';
