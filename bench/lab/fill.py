"""A lab with years behind it: builds, tasks, outputs and results that were never measured, written by the database
itself. The tables are made by the lab; what is written here are rows."""

import contextlib
import hashlib
import os
import pathlib
import sqlite3
import subprocess

# Each build has a result in so many series, and each series one of every tenth build.
RESULTS_OF_BUILD = 100
KINDS_OF_BUILD = 10
# Builds, the newest ones, that still have their outputs.
WITH_OUTPUT = 1_000
TASKS = ("checkout", "compile", "study")
PROJECT = "bench"
DEFINITION = """title = "Rows to measure pages on: nothing of it was ever run"
folder = "/var/empty"
study = "prony.toml"

[[task]]
name = "compile"
command = "make"
always = true

# All of it lies years back, and none of it is to be removed while pages are measured.
[keep]
files = "876000h"
"""
# Of a user that this database alone knows; it is gone with it.
TOKEN_ID = "00000000000000ff"
SECRET = bytes(range(32))
TOKEN = f"lab_{TOKEN_ID}_{SECRET.hex()}"
OUTPUT = "one line of what a compiler says\n" * 60
HOUR_MS = 3_600_000
FIRST_MS = 1_400_000_000_000
FILL_LIMIT_S = 3600


def statements(numbers, hexadecimal, is_sqlite, builds):
    """What fills the tables. `numbers(n)` is a table of 1 to n, `hexadecimal(x)` a digest-like text of a number."""
    definition = DEFINITION.replace("'", "''")
    digest = hashlib.sha256(SECRET).hexdigest()
    token_hash = f"X'{digest}'" if is_sqlite else f"'\\x{digest}'::bytea"
    text = "'" + OUTPUT + "'"
    output = f"CAST({text} AS BLOB)" if is_sqlite else f"convert_to({text}, 'UTF8')"
    ended = f"{FIRST_MS} + b.i * {HOUR_MS} + 60000"
    yield (
        f"INSERT INTO users (id, name, role, password, created_at) VALUES (1, 'bench', 'runner', NULL, {FIRST_MS})"
    )
    yield (
        f"INSERT INTO tokens (id, user_id, name, role, hash, created_at) VALUES ('{TOKEN_ID}', 1, 'bench', 'runner', {token_hash}, {FIRST_MS})"
    )
    yield (
        f"INSERT INTO projects (id, name, revision, definition, created_at) VALUES (1, '{PROJECT}', 1, '{definition}', {FIRST_MS})"
    )
    yield f"""INSERT INTO builds (id, kind, project_id, reference, branch, commit_id, commit_author, commit_subject, variant,
        priority, state, verdict, attempt, requested_by, requested_at, expires_at, started_at, ended_at)
        SELECT b.i, 'project', 1, 'main', 'main', {hexadecimal('b.i')}, 'Author ' || (b.i % 40), 'Change number ' || b.i, 'default', 0,
        CASE WHEN b.i % 7 = 3 THEN 'failed' ELSE 'completed' END, CASE WHEN b.i % 7 = 3 THEN NULL ELSE 'no-difference' END, 1,
        'bench', {FIRST_MS} + b.i * {HOUR_MS}, {FIRST_MS} + (b.i + 24) * {HOUR_MS}, {FIRST_MS} + b.i * {HOUR_MS} + 1000, {ended}
        FROM {numbers(builds)} b"""
    for place, name in enumerate(TASKS):
        kind = "command" if name == "compile" else name
        yield f"""INSERT INTO tasks (id, build_id, place, name, kind, command, state, exit_code, started_at, ended_at, output_bytes)
            SELECT (b.i - 1) * {len(TASKS)} + {place + 1}, b.i, {place}, '{name}', '{kind}', 'make', 'success', 0,
            {ended} - 50000, {ended} - 40000, 0 FROM {numbers(builds)} b"""
    first = (builds - WITH_OUTPUT) * len(TASKS)
    yield f"INSERT INTO outputs (task_id, piece, bytes) SELECT t.id, 1, {output} FROM tasks t WHERE t.id > {first}"
    yield f"UPDATE tasks SET output_bytes = {len(OUTPUT)} WHERE id > {first}"
    yield f"""INSERT INTO series (id, project_id, variant, cell, metric, unit, is_better_high, fingerprint)
        SELECT s.i, 1, 'default', 'load=' || (s.i / 10), 'metric-' || (s.i % 10), 'ms', 0, 'bench'
        FROM {numbers(RESULTS_OF_BUILD * KINDS_OF_BUILD)} s"""
    yield f"""INSERT INTO results (build_id, series_id, value, low, high, runs, samples, is_valid)
        SELECT b.i, (b.i % {KINDS_OF_BUILD}) * {RESULTS_OF_BUILD} + s.i,
        1.0 + ((b.i * 7919 + s.i * 104729) % 1000) / 10000.0, 0.95 + ((b.i * 7919 + s.i * 104729) % 1000) / 10000.0,
        1.05 + ((b.i * 7919 + s.i * 104729) % 1000) / 10000.0, 6, 60000, 1
        FROM {numbers(builds)} b CROSS JOIN {numbers(RESULTS_OF_BUILD)} s ORDER BY 2, 1"""


def sqlite(template, path, builds):
    """Makes the database `path` from the empty one that the lab made."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with contextlib.closing(sqlite3.connect(template)) as empty:
            # Also what stands in its log still.
            empty.backup(connection)
        _fill_sqlite(connection, builds)


def _fill_sqlite(connection, builds):
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")
    index = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'results_build'").fetchone()
    if index:
        # Ten million rows are sorted once faster than they are put in their places one by one.
        connection.execute("DROP INDEX results_build")

    def numbers(most):
        return f"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {most}) SELECT i FROM n)"

    connection.execute("BEGIN")
    for statement in statements(numbers, lambda number: f"printf('%040x', {number} * 2654435761)", True, builds):
        connection.execute(statement)
    connection.execute("COMMIT")
    if index:
        connection.execute(index[0])
    connection.executescript("ANALYZE; PRAGMA journal_mode = WAL")


def postgres(url, builds):
    """Fills the database `url`, whose tables the lab made."""

    def numbers(most):
        return f"(SELECT i FROM generate_series(1::bigint, {most}) AS n(i))"

    # Rows that refer to others do so rightly: without their triggers ten million are written in a third of the time.
    lines = ["SET synchronous_commit = off;", "SET session_replication_role = replica;", "BEGIN;", "DROP INDEX IF EXISTS results_build;"]
    lines += [f"{line};" for line in statements(numbers, lambda number: f"lpad(to_hex({number}::bigint * 2654435761), 40, '0')", False, builds)]
    lines.append("CREATE INDEX results_build ON results (build_id);")
    lines += [
        f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT MAX(id) FROM {table}));"
        for table in ("users", "projects", "builds", "tasks", "series")
    ]
    # What the database would otherwise do by itself while pages are measured.
    lines += ["COMMIT;", "VACUUM ANALYZE;", "CHECKPOINT;"]
    subprocess.run(
        ["psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null", url],
        input="\n".join(lines),
        text=True,
        check=True,
        timeout=FILL_LIMIT_S,
    )


def cached(folder, template, builds):
    """A SQLite database of so many builds, made once for each shape of tables."""
    shape = hashlib.sha256()
    with contextlib.closing(sqlite3.connect(template)) as connection:
        for (text,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"):
            shape.update(text.encode())
    shape.update(pathlib.Path(__file__).read_bytes())
    path = pathlib.Path(folder) / f"lab-{builds}-{shape.hexdigest()[:12]}.sqlite"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        sqlite(template, unfinished, builds)
        os.replace(unfinished, path)
    return path
