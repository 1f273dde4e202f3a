"""The floor: a bare io_uring loop that records nothing (bench/throughput/floor). Keep-alive and one thread only."""

import json
import urllib.parse

from lib.load import Said, Unreadable


class Floor:
    name = "floor"

    def __init__(self, program):
        self.program = program

    def argv(self, load):
        return [self.program, urllib.parse.urlsplit(load.url).netloc, str(load.connections), str(load.seconds)]

    def read(self, finished):
        try:
            said = json.loads(finished.stdout)
        except json.JSONDecodeError as error:
            raise Unreadable(f"{error}: {finished.stderr[-300:]}") from error
        return Said(answered=said["answered"], per_s=said["answered"] / said["seconds"])
