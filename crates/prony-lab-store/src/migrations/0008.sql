-- Loads that agents make for this lab. What was asked of them is here before they are asked, and what they measured before
-- they may delete it, so that a lab that is killed loses neither.
CREATE TABLE agent_runs (
    -- As agents know it.
    name TEXT PRIMARY KEY,
    build_id {int} NOT NULL REFERENCES builds (id),
    -- The plan of the whole load, as JSON.
    plan TEXT NOT NULL,
    begun_at {int} NOT NULL,
    -- The planned start on the monotonic clock of the lab's machine.
    start_ns {int},
    ended_at {int},
    failure TEXT,
    -- Results of agents that are here, and how many of them the merged files have.
    received {int} NOT NULL DEFAULT 0,
    merged {int} NOT NULL DEFAULT 0,
    -- How often they were merged.
    revision {int} NOT NULL DEFAULT 0
) {compact};
-- The parts of such a load, one for each agent, in the order in which it was split.
CREATE TABLE agent_slices (
    run TEXT NOT NULL REFERENCES agent_runs (name),
    slice {int} NOT NULL,
    agent TEXT NOT NULL,
    offset_ns {int},
    bound_ns {int},
    failure TEXT,
    -- Whether a result is here: finished, or failed. Its bytes are a file of the build.
    result TEXT,
    received_at {int},
    PRIMARY KEY (run, slice)
) {compact};
CREATE INDEX agent_runs_unfinished ON agent_runs (name) WHERE ended_at IS NULL OR received > merged;
CREATE INDEX agent_runs_of_build ON agent_runs (build_id);
