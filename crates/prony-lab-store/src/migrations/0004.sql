-- Checksums over what is not changed any more, for `prony lab check`: rows of builds that are over, files, and pieces of
-- outputs. Older ones have none.
ALTER TABLE builds ADD COLUMN checksum {int};
ALTER TABLE files ADD COLUMN checksum {int};
ALTER TABLE outputs ADD COLUMN checksum {int};
-- The status of a commit, on its way to the forge of its project; `subject` is the commit and which of its statuses.
ALTER TABLE deliveries ADD COLUMN project_id {int};
ALTER TABLE deliveries ADD COLUMN subject TEXT;
CREATE INDEX deliveries_project ON deliveries (project_id, id) WHERE project_id IS NOT NULL;
-- Who made the commit of a build, what it is about, and when. Builds of earlier versions have none.
ALTER TABLE builds ADD COLUMN commit_author TEXT;
ALTER TABLE builds ADD COLUMN commit_subject TEXT;
ALTER TABLE builds ADD COLUMN commit_at {int};

-- The commits from one commit of a project to another: those that the worker is to list, and those that it has listed.
CREATE TABLE commit_ranges (
    id {id},
    project_id {int} NOT NULL REFERENCES projects (id),
    base TEXT NOT NULL,
    tip TEXT NOT NULL,
    state TEXT NOT NULL,
    -- How many commits the tip has that the base has not, and the other way round.
    ahead {int} NOT NULL DEFAULT 0,
    behind {int} NOT NULL DEFAULT 0,
    -- The newest of them, as JSON.
    commits TEXT NOT NULL DEFAULT '[]',
    error TEXT,
    UNIQUE (project_id, base, tip)
);
CREATE INDEX commit_ranges_wanted ON commit_ranges (id) WHERE state = 'wanted';

-- Which of the commits between two builds is the first slow one.
CREATE TABLE bisects (
    id {id},
    project_id {int} NOT NULL REFERENCES projects (id),
    variant TEXT NOT NULL,
    good_id {int} NOT NULL REFERENCES builds (id),
    bad_id {int} NOT NULL REFERENCES builds (id),
    base TEXT NOT NULL,
    tip TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    -- The commits with what is known of them, as JSON.
    candidates TEXT NOT NULL DEFAULT '[]',
    -- The comparison that it waits for.
    build_id {int} REFERENCES builds (id),
    requested_by TEXT NOT NULL,
    requested_at {int} NOT NULL,
    ended_at {int}
);
CREATE INDEX bisects_project ON bisects (project_id, id);
CREATE INDEX bisects_bad ON bisects (bad_id, id);
CREATE INDEX bisects_open ON bisects (state, id) WHERE state IN ('listing', 'running');
-- Folders that are kept between builds of a project. Each is the one that the row names, and empty where it names none:
-- so a folder is emptied by forgetting its name, and removed later.
CREATE TABLE caches (
    project_id {int} NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    folder TEXT NOT NULL,
    size_bytes {int},
    build_id {int},
    changed_at {int} NOT NULL,
    note TEXT,
    PRIMARY KEY (project_id, name)
) {compact};

-- Builds that repeat another: the first of them all, and why.
ALTER TABLE builds ADD COLUMN repeat_of {int};
ALTER TABLE builds ADD COLUMN repeat_why TEXT;
CREATE INDEX builds_repeat ON builds (repeat_of, id) WHERE repeat_of IS NOT NULL;
-- Searches by the beginning of a commit or of a branch, whatever the case; and the notes of a build.
CREATE INDEX builds_commit_id ON builds (commit_id {bytewise}, id) WHERE commit_id IS NOT NULL;
CREATE INDEX builds_branch ON builds (LOWER(branch {bytewise}), id) WHERE branch IS NOT NULL;
CREATE INDEX notes_build ON notes (build_id, id);
-- The last builds of a branch that are over, whatever waits: for the project's card and its badge.
CREATE INDEX builds_project_branch ON builds (project_id, branch, id)
    WHERE kind = 'project' AND state IN ('completed', 'degraded', 'failed');
