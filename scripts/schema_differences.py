#!/usr/bin/env python3
"""Makes docs/schema-differences.md from test/schema/differences.json and test/schema/inference.json."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "schema-differences.md"
SCHEMA_TESTS = ROOT / "test" / "schema"


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def node(case: dict) -> str:
    inputs = ", ".join(text or "absent" for text in case["inputs"])
    attributes = "".join(f", {name}={json.dumps(value)}" for name, value in case.get("attributes", {}).items())
    version = f"-{case['opset']}" if "opset" in case else ""
    return code(f"{case['op']}{version}({inputs}{attributes})")


def octet_says(case: dict) -> str:
    return case["error"] if "error" in case else code("; ".join(case["outputs"]))


def onnxruntime_says(result: str) -> str:
    return "refuses it" if result == "error" else code(result)


def section(difference: dict, cases: dict[str, dict]) -> list[str]:
    lines = [f"## {difference['title']}", "",
             f"- **Octet**: {difference['octet']}",
             f"- **onnxruntime**: {difference['onnxruntime']}",
             f"- **Why**: {difference['reason']}", ""]
    if difference["cases"]:
        lines += ["| node | Octet | onnxruntime |", "|---|---|---|"]
        lines += [f"| {node(cases[name])} | {octet_says(cases[name])} | {onnxruntime_says(result)} |"
                  for name, result in difference["cases"].items()]
        lines.append("")
    return lines


def page() -> str:
    differences = json.loads((SCHEMA_TESTS / "differences.json").read_text())
    cases = {case["id"]: case for case in json.loads((SCHEMA_TESTS / "inference.json").read_text())["cases"]}
    lines = ["# Where Octet's schemas differ from onnxruntime's", "",
             "Made by `scripts/schema_differences.py` from `test/schema/differences.json`; do not edit.", "",
             f"Octet's definitions equal those of onnxruntime {differences['onnxruntime']} in every field (inputs, "
             "outputs, options, attributes, defaults, type constraints), and infer the same types and shapes, except "
             "for what follows. The tests ask both about every node below.", "",
             "ONNX's own operators (those with a version here) are registered by ONNX, so that a program's onnx "
             "library infers them as ONNX does; for them, what is said of Octet holds where Octet makes or runs an "
             "operator.", ""]
    for difference in differences["differences"]:
        lines += section(difference, cases)
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the page is out of date, and write nothing")
    arguments = parser.parse_args()
    text = page()
    if not arguments.check:
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    print(f"{PAGE} is out of date: run scripts/schema_differences.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
