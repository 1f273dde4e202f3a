"""prony, with everything on as it is by default."""

import json

from lib.load import Said, Unreadable


class Prony:
    """One of its two drivers; `over`: against servers over "TLS" or "HTTP/2"."""

    def __init__(self, program, driver, label="prony", *, over=None):
        self.program = program
        self.driver = driver
        self.over = over
        self.name = f"{label} {driver} {over}" if over else f"{label} {driver}"

    def argv(self, load):
        target = [f"{load.scenario}.toml", "--base", load.url] if load.scenario else [load.url]
        command = [self.program, "run", *target, "--driver", self.driver, "-q", "-o", "json"]
        length = ["-n", str(load.requests)] if load.requests else ["-d", f"{load.seconds}s"]
        command += ["-c", str(load.connections), *length, "--warmup", "0s"]
        command += ["-t", str(load.threads)]
        if load.rate:
            command += ["-r", str(load.rate)]
        if not load.keepalive:
            command += ["--no-keepalive"]
        if load.authority:
            command += ["--cacert", load.authority]
        elif load.is_https:
            command += ["--insecure"]
        if load.http2 or self.over == "HTTP/2":
            command += ["--http2" if load.is_https else "--http2-prior-knowledge", "--streams", str(load.streams)]
        return command

    def read(self, finished):
        # A run that prony itself calls invalid ends with a code of its own, and is still reported whole.
        try:
            result = json.loads(finished.stdout)
        except json.JSONDecodeError as error:
            raise Unreadable(f"{error}: {finished.stderr[-300:]}") from error
        latency = result["latency"]["response"]
        requests = result["requests"]
        return Said(
            answered=requests["answered"],
            # Not what was in flight at the end: no other tool counts that, and the remark has it.
            failed=requests["failed"] + requests["never_sent"],
            per_s=result["rate"]["answered_per_s"],
            quantiles_ms=_printed(latency),
            # Results of older builds have none.
            kernel_quantiles_ms=_printed(result["latency"].get("kernel_response", {})),
            max_ms=latency["max_ms"],
            remark=_remark(result),
        )


def _printed(latency):
    return {float(q): value for q, value in latency.get("quantiles_ms", {}).items() if value is not None}


def _remark(result):
    codes = [f"{finding['code']} ({finding['severity']})" for finding in result["findings"]]
    verdict = result["verdict"] if isinstance(result["verdict"], str) else json.dumps(result["verdict"])
    return f"{verdict}: {', '.join(codes)}" if codes else verdict
