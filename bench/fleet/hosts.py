"""Hosts on one machine: a network namespace and a clock of its own for each, on one switch.

The switch is a bridge in a namespace of its own too, so that the machine's own network stays as it is. A host's
CLOCK_MONOTONIC, the only clock that agents and their controller compare, is off by whole seconds through a time namespace:
what the kernel adds is known exactly. Delay comes from `delay.py`, since netem is missing in many kernels; a partition is
a link of the switch that is down.
"""

import os
import shutil
import subprocess
import sys

NETWORK = "10.213.0"
HOSTS_MAX = 200


def check():
    """Ends the program where namespaces can't be made."""
    missing = [name for name in ("ip", "unshare") if shutil.which(name) is None]
    if missing:
        sys.exit(f"NOT MEASURED: {' and '.join(missing)} needed: apt-get install iproute2 util-linux")
    if os.geteuid() != 0:
        sys.exit("NOT MEASURED: network namespaces need root: run it with sudo")
    made = subprocess.run(["unshare", "--net", "--time", "--fork", "--monotonic", "5", "true"], capture_output=True, check=False)
    if made.returncode != 0:
        sys.exit(f"NOT MEASURED: no namespaces here: {made.stderr.decode().strip()}")


class Hosts:
    """Hosts with these names, whose clocks are ahead by so many seconds; gone at the end of the `with`.

    `addresses`: those that hosts have beside their own of the bench's network.
    """

    def __init__(self, ahead_s, addresses=None):
        if len(ahead_s) > HOSTS_MAX:
            raise ValueError(f"{len(ahead_s)} hosts are too many: {HOSTS_MAX} are the most")
        self.ahead_s = dict(ahead_s)
        self.addresses = addresses or {}
        self._prefix = f"prony-{os.getpid()}-"
        self._numbers = {name: number for number, name in enumerate(self.ahead_s, 1)}

    def address(self, name):
        """Of a host, as the others reach it."""
        return f"{NETWORK}.{self._numbers[name]}"

    def command(self, name, argv):
        """`argv` on a host."""
        clock = ["unshare", "--time", "--fork", "--kill-child=SIGKILL", "--monotonic", str(self.ahead_s[name])]
        return ["ip", "netns", "exec", self._namespace(name), *clock, *argv]

    def cut(self, name):
        """Takes a host's cable out, at the switch: the host sees no link go down, only silence."""
        self._in("switch", "ip", "link", "set", self._port(name), "nomaster")

    def heal(self, name):
        """Puts it in again."""
        self._in("switch", "ip", "link", "set", self._port(name), "master", "bridge")

    def __enter__(self):
        try:
            _ip("netns", "add", self._namespace("switch"))
            self._in("switch", "ip", "link", "add", "bridge", "type", "bridge")
            self._in("switch", "ip", "link", "set", "bridge", "up")
            for name in self._numbers:
                self._add(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in [*self._numbers, "switch"]:
            subprocess.run(["ip", "netns", "del", self._namespace(name)], capture_output=True, check=False)

    def _add(self, name):
        namespace, switch = self._namespace(name), self._namespace("switch")
        _ip("netns", "add", namespace)
        # Both ends are made where they belong.
        _ip("link", "add", self._port(name), "netns", switch, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        self._in("switch", "ip", "link", "set", self._port(name), "master", "bridge")
        self._in("switch", "ip", "link", "set", self._port(name), "up")
        self._in(name, "ip", "link", "set", "lo", "up")
        self._in(name, "ip", "address", "add", f"{self.address(name)}/24", "dev", "eth0")
        self._in(name, "ip", "link", "set", "eth0", "up")
        if name in self.addresses:
            self._in(name, "ip", "address", "add", f"{self.addresses[name]}/32", "dev", "eth0")
        if self.addresses:
            # All of them are on one wire.
            self._in(name, "ip", "route", "add", "default", "dev", "eth0")

    def _in(self, name, *argv):
        _ip("netns", "exec", self._namespace(name), *argv)

    def _namespace(self, name):
        return self._prefix + name

    def _port(self, name):
        return f"port{self._numbers[name]}"


def _ip(*words):
    subprocess.run(["ip", *words], check=True)
