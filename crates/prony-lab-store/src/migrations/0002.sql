-- The queue in the order in which it is worked off, the ones that wait too long, and the one that waits longest.
DROP INDEX builds_open;
CREATE INDEX builds_queue ON builds (state, priority DESC, id) WHERE state = 'queued';
CREATE INDEX builds_expire ON builds (state, expires_at, id) WHERE state = 'queued';
CREATE INDEX builds_asked ON builds (state, requested_at) WHERE state = 'queued';
-- Lists of one state, and how many builds there are in each.
CREATE INDEX builds_state ON builds (state, id);

-- What the checks of a monitor said in each hour since 1970.
CREATE TABLE check_hours (
    monitor_id {int} NOT NULL REFERENCES monitors (id),
    hour {int} NOT NULL,
    checks {int} NOT NULL,
    good {int} NOT NULL,
    PRIMARY KEY (monitor_id, hour)
) {compact};
INSERT INTO check_hours (monitor_id, hour, checks, good)
    SELECT monitor_id, at / 3600000, COUNT(*), CAST(SUM(is_good) AS {int}) FROM checks
    GROUP BY monitor_id, at / 3600000;

-- Tokens end, and those that were made with a token end with it. Older ones have no end.
ALTER TABLE tokens ADD COLUMN expires_at {int};
ALTER TABLE tokens ADD COLUMN used_at {int};
ALTER TABLE tokens ADD COLUMN parent_id TEXT;
