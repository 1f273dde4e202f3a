-- What is worked on right now: hardly any of many builds. By the state first, as the index of all builds by their state
-- has it: so SQLite takes this one, whatever its statistics say.
CREATE INDEX builds_running ON builds (state, priority DESC, id)
    WHERE state IN ('assigned', 'arming', 'armed', 'running', 'draining', 'finalizing', 'cancelling');
-- The newest build of each project that has begun, or is over, however many wait.
CREATE INDEX builds_begun ON builds (project_id, id) WHERE state <> 'queued';
-- A build that waits has no commit yet: none of its requests costs an entry.
DROP INDEX builds_commit;
CREATE INDEX builds_commit ON builds (project_id, commit_id) WHERE commit_id IS NOT NULL;
