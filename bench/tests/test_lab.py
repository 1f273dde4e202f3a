"""The tables of the lab's benchmark, and what fills its databases."""

import contextlib
import pathlib
import sqlite3
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "lab")]
import fill
import measures
import tables

CRATE = pathlib.Path(__file__).resolve().parents[2] / "crates" / "prony-lab-store"
# As `spelled` in prony-lab-store/src/migrate.rs has them for SQLite.
WORDS = {"{id}": "INTEGER PRIMARY KEY AUTOINCREMENT", "{int}": "INTEGER", "{real}": "REAL", "{bytes}": "BLOB", "{compact}": "WITHOUT ROWID", "{bytewise}": ""}


def said(**changes):
    return {"runs": [], "own_ms": {}, "changed_ms": {}, "queued_ms": {}, "flush_ms": (0.1, 0.5)} | changes


def migrated(path):
    """A database as the lab makes it."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for step in sorted((CRATE / "src" / "migrations").glob("*.sql")):
            text = step.read_text(encoding="utf-8")
            for word, meaning in WORDS.items():
                text = text.replace(word, meaning)
            connection.executescript(text)


class Tables(unittest.TestCase):
    def rows(self, **changes):
        return {row[0]: row[2:] for row in tables.targets(said(**changes))}

    def test_targets_are_met_or_missed_or_not_measured(self):
        own = {"/": (0.1, 0.9, 200), "/build/1": (1, 1.5, 200), "/build/2": (1, 2.5, 200), "/add_job": (None, None, 500)}
        rows = self.rows(own_ms=own | {"POST /add_job": (0.2, 1.4, 303)}, queued_ms={"/": (1, 13, 200)}, queued=40_001)
        self.assertEqual(rows["/ p99"], ["0.900 ms", "met"])
        self.assertEqual(rows["/build/{id} p99"], ["2.500 ms", "missed"])
        self.assertEqual(rows["/add_job p99"], ["not measured", ""])
        self.assertEqual(rows["/ p99 with 40,001 queued"], ["13.000 ms", "missed"])
        self.assertEqual(rows["/ p99 after a change"], ["not measured", ""])
        self.assertEqual(rows["POST /add_job p99 beyond the flush's"], ["0.900 ms", "met"])
        run = measures.Run("POST /add_job", 64, answered=30_000, per_s=6_000.0)
        self.assertEqual(self.rows(runs=[run])["accepted per second, 64 clients"], ["6,000", "met"])

    def test_what_broke_off_has_its_tables_too(self):
        broken = measures.Run("/", 1, problem="no result")
        text = tables.all_of(said(runs=[broken], own_ms={"/": (None, None, 503)}))
        self.assertIn("not measured", text)
        self.assertIn("no result (no result)", tables.run_line(broken))
        self.assertIn("HTTP 503", tables.own_line("/", "asked for again", (None, None, 503)))


class Fill(unittest.TestCase):
    def test_a_database_is_filled_once_and_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            template = pathlib.Path(folder, "empty.sqlite")
            migrated(template)
            path = fill.cached(folder, template, 1_200)
            made = path.stat().st_mtime_ns
            self.assertEqual(fill.cached(folder, template, 1_200).stat().st_mtime_ns, made)
            with contextlib.closing(sqlite3.connect(path)) as connection:
                one = lambda statement: connection.execute(statement).fetchone()[0]
                self.assertEqual(one("SELECT COUNT(*) FROM results"), 120_000)
                self.assertEqual(one("SELECT COUNT(*) FROM tasks WHERE output_bytes > 0"), 3 * fill.WITH_OUTPUT)
                self.assertEqual(one("SELECT COUNT(*) FROM sqlite_master WHERE name = 'results_build'"), 1)
                self.assertEqual(one("PRAGMA integrity_check"), "ok")
                self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
            left = {each.name for each in pathlib.Path(folder).iterdir()}
            self.assertEqual(left, {template.name, path.name}, "nothing has it open any more")
