-- From version 29 to 30: the sums of the usage are brought up to date once for sixteen answers. A reader adds the answers
-- since then.

DROP TRIGGER usage_added;
CREATE TABLE usage_mark (                       -- the sums contain the usage up to this id; later rows are added to them
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    usage INTEGER NOT NULL
) STRICT;
INSERT INTO usage_mark (only, usage) SELECT 1, coalesce(max(id), 0) FROM usage;
CREATE TRIGGER usage_added AFTER INSERT ON usage
    WHEN new.id >= 16 + (SELECT usage FROM usage_mark)
BEGIN
    INSERT INTO usage_days (day, input, cached, cache_written, output, cost, unpriced)
    SELECT at / 86400000, sum(input), sum(cached), sum(cache_written), sum(output),
        sum(coalesce(cost, 0)), sum(iif(cost IS NULL, input + output, 0))
    FROM usage WHERE id > (SELECT usage FROM usage_mark) GROUP BY at / 86400000
    ON CONFLICT DO UPDATE SET input = input + excluded.input, cached = cached + excluded.cached,
        cache_written = cache_written + excluded.cache_written, output = output + excluded.output,
        cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced;
    INSERT INTO usage_sessions (session, input, cached, cache_written, output, cost, unpriced)
    SELECT session, sum(input), sum(cached), sum(cache_written), sum(output),
        sum(coalesce(cost, 0)), sum(iif(cost IS NULL, input + output, 0))
    FROM usage JOIN sessions ON sessions.id = session
    WHERE usage.id > (SELECT usage FROM usage_mark) AND usage.id > usage_from GROUP BY session
    ON CONFLICT DO UPDATE SET input = input + excluded.input, cached = cached + excluded.cached,
        cache_written = cache_written + excluded.cache_written, output = output + excluded.output,
        cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced;
    UPDATE usage_mark SET usage = new.id WHERE only = 1;
END;
