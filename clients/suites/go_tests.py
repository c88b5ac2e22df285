"""Runs the tests of a Go module, each package by itself; goes on after a test that ends the whole program (a panic, a time-out).

    go_tests.py RESULTS FILTER PACKAGES...

RESULTS takes the events of `go test -json`, of all rounds; a test that ended the program has no end among them.
"""

import json
import re
import subprocess
import sys

ROUNDS = 20


def main():
    results, only, packages = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(results, "w", encoding="utf-8") as out:
        for package in packages:
            done = []
            for _ in range(ROUNDS):
                command = ["go", "test", "-json", "-timeout", "600s", "-run", only]
                if done:
                    command += ["-skip", "^(" + "|".join(re.escape(name) for name in done) + ")$"]
                run = subprocess.run(command + [package], capture_output=True, text=True, errors="replace")
                ended, last = set(), None
                for line in run.stdout.splitlines():
                    try:
                        event = json.loads(line)
                    except ValueError:
                        continue
                    name = event.get("Test")
                    if name is None:
                        continue
                    top = name.split("/")[0]
                    if event["Action"] in ("run", "cont"):
                        last = top
                    elif event["Action"] in ("pass", "fail", "skip") and top == name:
                        ended.add(name)
                crashed = last is not None and last not in ended
                for line in run.stdout.splitlines():
                    # Of a crash only the test that caused it keeps its events: the others run again.
                    name = json.loads(line).get("Test", "").split("/")[0] if line.startswith("{") else ""
                    if name in ended or name == last:
                        out.write(line + "\n")
                if run.stderr:
                    sys.stderr.write(run.stderr)
                if not crashed:
                    break
                done += sorted(ended) + [last]


main()
