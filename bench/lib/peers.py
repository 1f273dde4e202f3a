"""The other tools: where they are, how they get here, which version they are.

From the distribution: wrk, ab, nginx, Erlang, Node, PostgreSQL. Built once into `bench/.cache`: oha by cargo, hey, bombardier, vegeta and k6 by
go (pinned in `bench/peers`; k6 in a module of its own, whose dependencies would change those of the others). zrk and wrk2 are in no registry: `sources.py` builds them from checkouts.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
CACHE = BENCH / ".cache"
OHA_VERSION = "1.16.0"
PACKAGES = {"wrk": "wrk", "ab": "apache2-utils", "h2load": "nghttp2-client", "nginx": "nginx-light", "erl": "erlang-base", "npm": "npm", "node": "nodejs"}
# It says its version to nobody but itself.
ERLANG_VERSION = ["-noinput", "-eval", 'io:format("~s", [erlang:system_info(version)]), halt().']
MODULES = {
    "hey": "github.com/rakyll/hey",
    "bombardier": "github.com/codesenberg/bombardier",
    "vegeta": "github.com/tsenart/vegeta/v12",
    "k6": "go.k6.io/k6",
}
# oha is a large build on a small machine.
BUILD_LIMIT_S = 3600


def path(name):
    """The program, or None."""
    cached = CACHE / "bin" / name
    return str(cached) if cached.exists() else shutil.which(name)


def provide(names, install):
    """Those of `names` that are here, after installing what is missing where `install` says so."""
    for name in names:
        if path(name) is None and install:
            print(f"{name} is missing: installing it (leave it out with --without {name})", file=sys.stderr)
            _install(name)
    missing = [name for name in names if path(name) is None]
    for name in missing:
        print(f"{name} is left out: {_advice(name)}", file=sys.stderr)
    return [name for name in names if name not in missing]


def version(name):
    """The version that the program, or the program that built it, states."""
    program = path(name)
    if name in MODULES:
        text = _output(["go", "version", "-m", program])
        found = re.search(rf"\t{re.escape(MODULES[name])}\tv(\S+)", text)
    else:
        arguments = {"ab": ["-V"], "nginx": ["-v"], "wrk": ["--version"], "erl": ERLANG_VERSION}.get(name, ["--version"])
        found = re.search(r"\d+\.\d+(?:\.\d+)*", _output([program, *arguments]))
    return found.group(found.lastindex or 0) if found else "unknown"


def _install(name):
    CACHE.mkdir(exist_ok=True)
    if name in PACKAGES:
        if os.geteuid() == 0:
            _try(["apt-get", "install", "-y", "--no-install-recommends", PACKAGES[name]])
    elif name == "oha":
        _build_oha()
    elif name in MODULES:
        # By the pinned module file, not `go install …@version`: that asks for the list of all versions too.
        own = BENCH / "peers" / name
        _try(["go", "build", "-o", f"{CACHE}/bin/", MODULES[name]], own if own.exists() else BENCH / "peers")


def _build_oha():
    # A target folder of its own: in that of Prony it would build again what both need. It is of no use afterwards.
    target = CACHE / "oha-target"
    features = ["--no-default-features", "--features", "rustls"]
    command = ["nice", "cargo", "install", "oha", "--locked", "--version", OHA_VERSION, "--root", str(CACHE), *features]
    _try([*command, "--target-dir", str(target)])
    if path("oha"):
        shutil.rmtree(target, ignore_errors=True)


def _try(command, directory=None):
    try:
        subprocess.run(command, cwd=directory, check=True, timeout=BUILD_LIMIT_S, stdout=sys.stderr)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{command[0]} failed: {error}", file=sys.stderr)


def _advice(name):
    if name in PACKAGES:
        return f"apt-get install {PACKAGES[name]}"
    return f"run again without --no-install; it needs {'cargo' if name == 'oha' else 'go'}"


def _output(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr
