"""Makes the table of `clients/phases` from what the drivers' programs have printed: Markdown, or JSON.

A mean is over all requests that the server counted while a statement was measured, also those that were
not in the phase: so the phases add up.
"""

import argparse
import json
import sys

PHASES = ["WAIT FOR WORKER", "RECEIVE", "DECODE", "FIND PLAN", "RUN", "WAIT FOR LOG", "ENCODE", "SEND"]
TOTAL = "TOTAL"
# What a request costs whatever way it came.
NOT_WIRE = ("RUN", "WAIT FOR LOG")


def parts_of(files):
    """(driver, statement) to its executions, their seconds, and its phases."""
    parts = {}
    for name in files:
        with open(name, encoding="utf-8") as lines:
            for line in lines:
                cells = line.rstrip("\n").split("\t")
                driver, statement, executions, seconds, phase, requests, elapsed_us, processor_us = cells
                part = parts.setdefault((driver, statement), (int(executions), float(seconds), {}))
                part[2][phase] = (int(requests), int(elapsed_us), int(processor_us))
    return parts


def row(driver, statement, executions, seconds, phases):
    what = f"{driver}, {statement}"
    lacking = [phase for phase in [*PHASES, TOTAL] if phase not in phases]
    if lacking:
        raise SystemExit(f"{what}: sys.dm_ringwood_request_phases does not show {', '.join(lacking)}")
    requests = phases[TOTAL][0]
    if requests < executions:
        raise SystemExit(f"{what}: the server timed {requests} of {executions} requests")
    # One more is the program's own reading of the view.
    if requests - 1 > executions * 1.01:
        print(f"{what}: {requests} requests for {executions} executions", file=sys.stderr)
    elapsed, processor = ({phase: phases[phase][kind] / requests for phase in PHASES} for kind in (1, 2))
    return {
        "driver": driver,
        "statement": statement,
        "executions": executions,
        "requests": requests,
        "mean_us": rounded(elapsed),
        "wire_overhead_us": overhead(elapsed),
        "mean_cpu_us": rounded(processor),
        "wire_overhead_cpu_us": overhead(processor),
        "round_trip_us": round(seconds * 1e6 / executions, 3),
    }


def rounded(means):
    return {phase.lower(): round(mean, 3) for phase, mean in means.items()}


def overhead(means):
    return round(sum(mean for phase, mean in means.items() if phase not in NOT_WIRE), 3)


def markdown(server, rows):
    names = [phase.lower() for phase in PHASES]
    heads = ["driver", "statement", "requests", "time", *names, "wire overhead", "round trip"]
    yield f"{server}: mean microseconds of a request, those that passed and those of the server's processor"
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---:|---|" + "---:|" * (len(heads) - 4)
    for each in rows:
        begin = [each["driver"], each["statement"], f"{each['requests']:,}"]
        elapsed = [*each["mean_us"].values(), each["wire_overhead_us"], each["round_trip_us"]]
        processor = [*each["mean_cpu_us"].values(), each["wire_overhead_cpu_us"]]
        for kind, times in (("elapsed", elapsed), ("processor", processor)):
            cells = [*begin, kind, *(f"{us:,.2f}" for us in times)]
            yield f"| {' | '.join(cells + [''] * (len(heads) - len(cells)))} |"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--json", action="store_true")
    options.add_argument("--server", required=True)
    options.add_argument("files", nargs="+")
    given = options.parse_args()
    rows = [row(*key, *part) for key, part in parts_of(given.files).items()]
    if given.json:
        print(json.dumps({"server": given.server, "rows": rows}, indent=2))
    else:
        print("\n".join(markdown(given.server, rows)))


main()
