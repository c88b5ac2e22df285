"""Runs the tests of a Go module, each package by itself; goes on after a test that ends the whole program (a panic, a time-out).

    go_tests.py RESULTS FILTER PACKAGES...

RESULTS takes the events of `go test -json`, of all rounds. A package is run again, without the tests that have ended and without the one
that ended the program, until none of its tests is left; a test that ended the program has failed.
"""

import json
import re
import subprocess
import sys

ROUNDS = 20


def listed(package, only):
    """The tests and examples of a package, in no order."""
    run = subprocess.run(["go", "test", "-list", only, package], capture_output=True, text=True, errors="replace")
    sys.stderr.write(run.stderr)
    return {line for line in run.stdout.splitlines() if re.match(r"(Test|Example)\w*$", line)}


def events(text):
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if "Test" in event:
            yield event["Test"].split("/")[0], event, line


def main():
    results, only, packages = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(results, "w", encoding="utf-8") as out:
        for package in packages:
            left = listed(package, only)
            for _ in range(ROUNDS):
                if not left:
                    break
                # By name: an example without output is listed nowhere, and is only compiled.
                command = ["go", "test", "-json", "-timeout", "600s", "-run", "^(" + "|".join(sorted(left)) + ")$"]
                run = subprocess.run(command + [package], capture_output=True, text=True, errors="replace")
                sys.stderr.write(run.stderr)
                ended, last = set(), None
                for top, event, _ in events(run.stdout):
                    if event["Action"] in ("run", "cont"):
                        last = top
                    elif event["Action"] in ("pass", "fail", "skip") and top == event["Test"]:
                        ended.add(top)
                for top, _, line in events(run.stdout):
                    # Of a crash only the test that caused it keeps its events: the others run
                    # again.
                    if top in ended or top == last:
                        out.write(line + "\n")
                if last is None:
                    sys.stderr.write(f"{package}: {len(left)} tests do not run: {' '.join(sorted(left))}\n{run.stdout[-2000:]}\n")
                    break
                left -= ended | {last}
            else:
                sys.stderr.write(f"{package}: {len(left)} tests are left after {ROUNDS} rounds: {' '.join(sorted(left))}\n")


main()
