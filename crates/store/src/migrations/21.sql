-- From version 20 to 21: columns in place of comparisons with texts for people and models.

ALTER TABLE steps ADD COLUMN ending TEXT NOT NULL DEFAULT 'complete' CHECK (
    ending = 'complete' OR ending = 'cut_off' OR ending = 'filtered'); -- of the model's text
UPDATE steps SET ending = 'cut_off'
WHERE text LIKE '%[The answer was cut off: it reached its output limit.]'
    OR EXISTS (SELECT 1 FROM calls WHERE turn = steps.turn AND step = steps.number AND name = 'say_held_answer'
        AND arguments LIKE '%[The answer was cut off: it reached its output limit.]"}');
UPDATE steps SET ending = 'filtered'
WHERE text LIKE '%[A filter of the model''s provider ended the answer here.]'
    OR EXISTS (SELECT 1 FROM calls WHERE turn = steps.turn AND step = steps.number AND name = 'say_held_answer'
        AND arguments LIKE '%[A filter of the model''s provider ended the answer here.]"}');

ALTER TABLE calls ADD COLUMN result_kind TEXT NOT NULL DEFAULT 'usual' CHECK (
    result_kind = 'usual' OR result_kind = 'cut' OR result_kind = 'sent_to_program'
    OR result_kind = 'denied' OR result_kind = 'refused' OR result_kind = 'repeated'
    OR result_kind = 'outcome_unknown');
UPDATE calls SET result_kind = 'cut'
WHERE ok = 1 AND 't' || turn || 's' || step || 'c' || ordinal IN (SELECT handle FROM kept_results);
UPDATE calls SET result_kind = 'sent_to_program'
WHERE ok = 1 AND result = '"the program that asked runs this call; its result comes with the next message"';
UPDATE calls SET result_kind = 'denied'
WHERE ok = 0 AND (result GLOB '{"error":"denied by the owner*' OR result GLOB '{"error":"denied: *');
UPDATE calls SET result_kind = 'refused' WHERE ok = 0 AND result GLOB '{"error":"permission denied*';
UPDATE calls SET result_kind = 'repeated'
WHERE ok = 0 AND result GLOB '{"error":"this call was made twice before in this turn, with the same result,*';
UPDATE calls SET result_kind = 'outcome_unknown' WHERE ok = 0 AND result GLOB '{"error":"interrupted*';
-- The reason for the missing branch of a job stood behind a fixed beginning.
UPDATE calls SET result = json_set(result, '$.note', substr(json_extract(result, '$.note'), 12))
WHERE name = 'job_branch' AND ok = 1 AND json_extract(result, '$.note') LIKE 'no branch: %';

ALTER TABLE waits ADD COLUMN is_reminded INTEGER NOT NULL DEFAULT 0; -- its prompt was repeated
UPDATE waits SET is_reminded = 1
WHERE resolved = 0 AND EXISTS (SELECT 1 FROM outbox WHERE outbox.turn = waits.turn AND source = 'prompt'
    AND content LIKE '{"text":"Still waiting for a decision:%');
