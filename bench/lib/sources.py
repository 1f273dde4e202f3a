"""Tools that no registry has: built from a checkout of their source that is named, into `bench/.cache`.

The checkout itself is not written to. zrk needs Zig, which comes as the package `ziglang`; what zrk itself depends on
is fetched by Zig, or lies in the checkout's `zig-pkg`.
"""

import pathlib
import shutil
import subprocess
import sys
import venv

from lib import peers

ZIG_VERSION = "0.16.0"
NAMES = ("zrk", "wrk2")
# What a build leaves behind, and what is not needed for one.
LEFT_OUT = shutil.ignore_patterns(".git", ".zig-cache", "zig-out")


def flags(parser):
    """`--zrk-source` and the like."""
    for name in NAMES:
        parser.add_argument(f"--{name}-source", metavar="DIR", help=f"a checkout of {name}, to build it and take it along")


def provide(options, install=True):
    """Builds what checkouts are named for, and returns the names of those that are here."""
    for name in NAMES:
        source = getattr(options, f"{name}_source")
        if source and name not in options.without and install:
            build(name, pathlib.Path(source))
    return [name for name in NAMES if name not in options.without and peers.path(name)]


def build(name, source):
    """Builds a copy of `source`."""
    if not source.is_dir():
        raise SystemExit(f"--{name}-source: {source} is no folder: name a checkout of {name}")
    copy = peers.CACHE / f"{name}-source"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy, ignore=LEFT_OUT)
    (peers.CACHE / "bin").mkdir(parents=True, exist_ok=True)
    try:
        {"zrk": _zrk, "wrk2": _wrk2}[name](copy)
    except (OSError, subprocess.SubprocessError) as error:
        raise SystemExit(f"{name} could not be built from {source}: {error}") from error


def _zrk(copy):
    python = peers.CACHE / "zig" / "bin" / "python"
    if not python.exists():
        venv.create(peers.CACHE / "zig", with_pip=True)
        _run([python, "-m", "pip", "install", "--quiet", f"ziglang=={ZIG_VERSION}"], copy)
    _run([python, "-m", "ziglang", "build", "-Doptimize=ReleaseFast", "--prefix", peers.CACHE], copy)


def _wrk2(copy):
    _run(["make"], copy)
    shutil.copy2(copy / "wrk", peers.CACHE / "bin" / "wrk2")


def _run(command, folder):
    subprocess.run(command, cwd=folder, check=True, timeout=peers.BUILD_LIMIT_S, stdout=sys.stderr)
