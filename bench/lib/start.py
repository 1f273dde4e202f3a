"""What both benchmarks do first: options, tools, limits; and last: store everything."""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

from lib import order, peers


def parser(description, *, rounds, seconds):
    """The options that both have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--prony", metavar="PROGRAM", help="the prony to measure [default: target/release/prony, built]")
    options.add_argument("--rounds", type=int, default=rounds, help=f"each run this often [default: {rounds}]")
    options.add_argument("--seconds", type=int, default=seconds, help=f"length of a run [default: {seconds}]")
    options.add_argument("--seed", type=int, help="seed of the order of the runs [default: from the system, and stored]")
    options.add_argument("--only", metavar="PART", action="append", help="this part alone; may be repeated")
    options.add_argument("--quick", action="store_true", help="few short runs: to see that all works, not to measure")
    options.add_argument("--without", metavar="TOOL", action="append", default=[], help="leave this tool out; may be repeated")
    options.add_argument("--no-install", action="store_true", help="leave out what is missing instead of installing it")
    options.add_argument("--json", metavar="FILE", help="where to keep every run [default: bench/results/…]")
    options.add_argument("--write-docs", action="store_true", help="put the tables into docs/measuring.md")
    return options


def prony(options):
    """The program to measure, built where it is not given."""
    if options.prony:
        return os.path.abspath(options.prony)
    root = peers.BENCH.parent
    subprocess.run(["cargo", "build", "--release", "-p", "prony"], cwd=root, check=True, stdout=sys.stderr)
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    return str(folder / "release" / "prony")


def floor():
    """The bare loop, built where it is not built yet."""
    target = peers.CACHE / "floor"
    manifest = peers.BENCH / "throughput" / "floor" / "Cargo.toml"
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", str(manifest), "--target-dir", str(target)]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return str(target / "release" / "floor")


def versions(program, names):
    """The version of each tool that takes part."""
    own = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout.split()
    return {"prony": own[1] if len(own) > 1 else "unknown"} | {name: peers.version(name) for name in names}


def seed(options):
    """Of the order of the runs."""
    return order.fresh_seed() if options.seed is None else options.seed


def store(options, name, facts, tool_versions, seed_used, parts):
    """Writes everything to one file and says where."""
    result = {"format": f"prony.bench.{name}", "version": 1, "machine": facts, "tools": tool_versions}
    result |= {"seed": seed_used, "options": _public(options), "parts": parts}
    path = pathlib.Path(options.json) if options.json else _default(name, facts["date"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, default=_plain) + "\n", encoding="utf-8")
    print(f"\nevery run is in {os.path.relpath(path)}")


def _default(name, date):
    return peers.BENCH / "results" / f"{name}-{date[:19].replace(':', '')}.json"


def _public(options):
    return {key: value for key, value in vars(options).items() if key not in ("prony", "json")}


def _plain(value):
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)
