"""Counts the results of a suite and sorts its failures into causes.

    sort.py junit|go RESULTS CAUSES GOAL

A line of CAUSES is `kind | pattern | cause`: the first line whose regular expression is found in a failure's name and text is its cause.
Kinds: `later` waits for a part of T-SQL that the server does not have yet; `server` is wrong in the server; `not` does not apply (it tests
something else than a server of ours, or wants what no server at hand has). Failures that no line matches are listed as they are.
Exit code 0 when at least GOAL percent of the tests that apply have passed: all that ran but those of kind `not` and `later`.
"""

import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree


def junit(path):
    """(name, passed | failed | skipped, text) of each test in a file, or in the files of a folder.
    A file that was not written to its end, as its program ended, counts as one test that failed."""
    files = sorted(pathlib.Path(path).glob("*.xml")) if pathlib.Path(path).is_dir() else [path]
    for file in files:
        try:
            tree = xml.etree.ElementTree.parse(file)
        except xml.etree.ElementTree.ParseError as error:
            yield str(file), "failed", f"its tests did not end: {error}"
            continue
        yield from cases(tree)


def cases(tree):
    for test in tree.iter("testcase"):
        name = test.get("classname", "").split(".")[-1].split("_mssql")[0] + "." + test.get("name", "")
        result, text = "passed", ""
        for part in test:
            if part.tag in ("failure", "error"):
                result, text = "failed", (part.get("message") or "") + "\n" + (part.text or "")
            elif part.tag == "skipped" and result == "passed":
                result, text = "skipped", part.get("message") or ""
        yield name, result, text


def go(path):
    """Tests and their subtests; a test that has subtests is told by them."""
    results, texts = {}, collections.defaultdict(str)
    for line in open(path, encoding="utf-8", errors="replace"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if "Test" not in event:
            continue
        name = event["Package"].split("/")[-1] + "." + event["Test"]
        if event["Action"] == "output":
            texts[name] += event["Output"]
        elif event["Action"] in ("pass", "fail", "skip"):
            results[name] = {"pass": "passed", "fail": "failed", "skip": "skipped"}[event["Action"]]
    for name in texts:
        # It never ended: the program did.
        results.setdefault(name, "failed")
    parents = {name.rsplit("/", 1)[0] for name in results if "/" in name}
    for name, result in results.items():
        if name not in parents:
            yield name, result, texts[name]


def summary(text):
    """The line of a failure that says most."""
    found = re.findall(r"\((\d{2,5}), b?['\"](.{0,160})", text) or re.findall(r"\[SQL Server\](.{0,160}?\((\d+)\))", text)
    if found:
        return " ".join(found[0])[:170]
    lines = [line.strip() for line in text.splitlines() if re.search(r"^E  |mssql: |Error|_test\.go:\d+", line)]
    return (lines or text.strip().splitlines() or ["no output"])[0][:170]


def main():
    kind, path, causes_file, goal = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
    causes = []
    for line in open(causes_file, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            causes.append([part.strip() for part in line.split(" | ")])
    totals, by_cause, unknown = collections.Counter(), collections.Counter(), {}
    for name, result, text in {"junit": junit, "go": go}[kind](path):
        totals[result] += 1
        if result != "failed":
            continue
        for cause in causes:
            if re.search(cause[1], name + "\n" + text, re.S):
                by_cause[(cause[0], cause[2])] += 1
                break
        else:
            by_cause[("server", "not sorted yet")] += 1
            unknown.setdefault(summary(text), []).append(name)
    of_kind = collections.Counter()
    for (which, _), count in by_cause.items():
        of_kind[which] += count
    applies = totals["passed"] + of_kind["server"]
    share = 100 * totals["passed"] / max(applies, 1)
    for (which, cause), count in sorted(by_cause.items(), key=lambda item: (item[0][0], -item[1])):
        print(f"{count:6}  {which:6}  {cause}")
    for text, names in sorted(unknown.items(), key=lambda item: -len(item[1])):
        print(f"        {len(names)} x {text}\n            {names[0]}")
    print(
        f"{totals['passed']} of {applies} that apply = {share:.1f} % (goal {goal:.0f} %); "
        f"{of_kind['later']} wait for T-SQL that is not there yet, {of_kind['not']} do not apply, {totals['skipped']} skipped by the suite"
    )
    return 0 if share >= goal else 1


sys.exit(main())
