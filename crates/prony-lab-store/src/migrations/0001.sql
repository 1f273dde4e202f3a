-- Moments are milliseconds since 1970-01-01 UTC, truth is 0 or 1, durations have their unit in the name.

CREATE TABLE users (
    id {id},
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    password TEXT,
    created_at {int} NOT NULL,
    disabled_at {int}
);

CREATE TABLE sessions (
    hash {bytes} PRIMARY KEY,
    user_id {int} NOT NULL REFERENCES users (id),
    csrf TEXT NOT NULL,
    created_at {int} NOT NULL,
    expires_at {int} NOT NULL
);

CREATE TABLE login_links (
    hash {bytes} PRIMARY KEY,
    user_name TEXT NOT NULL,
    role TEXT NOT NULL,
    expires_at {int} NOT NULL,
    used_at {int}
);

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    user_id {int} NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    hash {bytes} NOT NULL,
    created_at {int} NOT NULL,
    revoked_at {int}
);

CREATE TABLE audit (
    id {id},
    at {int} NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    hash {bytes} NOT NULL
);

CREATE TABLE projects (
    id {id},
    name TEXT NOT NULL UNIQUE,
    revision {int} NOT NULL,
    definition TEXT NOT NULL,
    created_at {int} NOT NULL,
    archived_at {int}
);

CREATE TABLE builds (
    id {id},
    kind TEXT NOT NULL,
    project_id {int} REFERENCES projects (id),
    reference TEXT NOT NULL,
    -- In whose history it stands: the one that was asked for, or whose newest commit it turned out to be.
    branch TEXT,
    commit_id TEXT,
    base TEXT,
    base_commit_id TEXT,
    variant TEXT,
    load TEXT,
    email TEXT,
    priority {int} NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    verdict TEXT,
    baseline_id {int},
    attempt {int} NOT NULL DEFAULT 0,
    requested_by TEXT NOT NULL,
    requested_at {int} NOT NULL,
    expires_at {int} NOT NULL,
    started_at {int},
    ended_at {int}
);
-- The queue, and whatever else isn't over: few rows of many.
CREATE INDEX builds_open ON builds (state, priority DESC, id)
    WHERE state IN ('queued', 'assigned', 'arming', 'armed', 'running', 'draining', 'finalizing', 'cancelling');
-- What one user has waiting is counted with every request of theirs.
CREATE INDEX builds_open_by ON builds (requested_by)
    WHERE state IN ('queued', 'assigned', 'arming', 'armed', 'running', 'draining', 'finalizing', 'cancelling');
CREATE INDEX builds_project ON builds (project_id, id);
CREATE INDEX builds_commit ON builds (project_id, commit_id);
CREATE INDEX builds_comparison ON builds (project_id, reference, base) WHERE kind = 'comparison';

CREATE TABLE tasks (
    id {id},
    build_id {int} NOT NULL REFERENCES builds (id),
    place {int} NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    command TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    exit_code {int},
    started_at {int},
    ended_at {int},
    output_bytes {int} NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX tasks_build ON tasks (build_id, place);

-- What tasks wrote, in pieces, as it came.
CREATE TABLE outputs (
    task_id {int} NOT NULL REFERENCES tasks (id),
    piece {int} NOT NULL,
    bytes {bytes} NOT NULL,
    PRIMARY KEY (task_id, piece)
);

-- What a build leaves: reports, stored runs. Deflated where that helps.
CREATE TABLE files (
    build_id {int} NOT NULL REFERENCES builds (id),
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes {int} NOT NULL,
    deflated {int} NOT NULL,
    bytes {bytes} NOT NULL,
    PRIMARY KEY (build_id, name)
);

-- One metric of one cell of one variant of one project on one kind of machine.
CREATE TABLE series (
    id {id},
    project_id {int} NOT NULL REFERENCES projects (id),
    variant TEXT NOT NULL,
    cell TEXT NOT NULL,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    is_better_high {int} NOT NULL,
    fingerprint TEXT NOT NULL,
    UNIQUE (project_id, variant, cell, metric, fingerprint)
);

-- A point of a series: what one build said.
CREATE TABLE results (
    build_id {int} NOT NULL REFERENCES builds (id),
    series_id {int} NOT NULL REFERENCES series (id),
    value {real},
    low {real},
    high {real},
    runs {int} NOT NULL,
    samples {int} NOT NULL,
    is_valid {int} NOT NULL,
    note TEXT,
    -- Those of a series lie together: its history is read often, and in one piece.
    PRIMARY KEY (series_id, build_id)
) {compact};
CREATE INDEX results_build ON results (build_id);

-- What the study file of the newest build of a project demands, or the result of what it demanded.
CREATE TABLE thresholds (
    build_id {int} NOT NULL REFERENCES builds (id),
    place {int} NOT NULL,
    words TEXT NOT NULL,
    cell TEXT NOT NULL,
    metric TEXT NOT NULL,
    value {real},
    is_met {int},
    PRIMARY KEY (build_id, place)
);

CREATE TABLE changes (
    id {id},
    series_id {int} NOT NULL REFERENCES series (id),
    build_id {int} NOT NULL REFERENCES builds (id),
    last_before_id {int} NOT NULL REFERENCES builds (id),
    state TEXT NOT NULL,
    before {real} NOT NULL,
    after {real} NOT NULL,
    p {real} NOT NULL,
    found_at {int} NOT NULL,
    -- What it is told by, together with other series that changed with it.
    alert_id {int},
    comparison_id {int} REFERENCES builds (id),
    UNIQUE (series_id, build_id)
);
CREATE INDEX changes_build ON changes (build_id);
CREATE INDEX changes_alert ON changes (alert_id) WHERE alert_id IS NOT NULL;
CREATE INDEX changes_comparison ON changes (comparison_id) WHERE comparison_id IS NOT NULL;

CREATE TABLE alerts (
    id {id},
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    project_id {int} REFERENCES projects (id),
    series_id {int} REFERENCES series (id),
    build_id {int} REFERENCES builds (id),
    monitor_id {int},
    comparison_id {int} REFERENCES builds (id),
    words TEXT NOT NULL,
    verdict TEXT,
    state TEXT NOT NULL,
    opened_at {int} NOT NULL,
    changed_at {int} NOT NULL,
    changed_by TEXT NOT NULL,
    silenced_until {int},
    note TEXT
);
CREATE UNIQUE INDEX alerts_open ON alerts (kind, subject) WHERE state IN ('active', 'acknowledged', 'silenced');
CREATE INDEX alerts_subject ON alerts (kind, subject, id);
CREATE INDEX alerts_state ON alerts (state, id);
CREATE INDEX alerts_comparison ON alerts (comparison_id) WHERE comparison_id IS NOT NULL;

CREATE TABLE notes (
    id {id},
    build_id {int} NOT NULL REFERENCES builds (id),
    author TEXT NOT NULL,
    at {int} NOT NULL,
    words TEXT NOT NULL
);

CREATE TABLE monitors (
    id {id},
    name TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    every_ms {int} NOT NULL,
    timeout_ms {int} NOT NULL,
    fail_after {int} NOT NULL,
    expected_status {int},
    email TEXT,
    created_by TEXT NOT NULL,
    created_at {int} NOT NULL,
    removed_at {int}
);

CREATE TABLE checks (
    monitor_id {int} NOT NULL REFERENCES monitors (id),
    at {int} NOT NULL,
    is_good {int} NOT NULL,
    status {int},
    latency_us {int},
    error TEXT,
    PRIMARY KEY (monitor_id, at)
);

-- What happened, for who watches and for who is told.
CREATE TABLE events (
    id {id},
    at {int} NOT NULL,
    kind TEXT NOT NULL,
    build_id {int},
    body TEXT NOT NULL
);
CREATE INDEX events_build ON events (build_id, id);

CREATE TABLE hooks (
    id {id},
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    kinds TEXT NOT NULL,
    project_id {int} REFERENCES projects (id),
    created_by TEXT NOT NULL,
    created_at {int} NOT NULL,
    removed_at {int}
);

-- What is still to be told to whom: a row goes when it was told, or given up.
CREATE TABLE deliveries (
    id {id},
    hook_id {int} REFERENCES hooks (id),
    mail_to TEXT,
    event_id {int} NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts {int} NOT NULL DEFAULT 0,
    next_at {int} NOT NULL,
    last_error TEXT
);
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'waiting';

CREATE TABLE idempotency (
    actor TEXT NOT NULL,
    key TEXT NOT NULL,
    request {bytes} NOT NULL,
    build_id {int} NOT NULL,
    at {int} NOT NULL,
    PRIMARY KEY (actor, key)
);
CREATE INDEX idempotency_at ON idempotency (at);

-- The lab's own settings, such as the target policy, as JSON.
CREATE TABLE settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
