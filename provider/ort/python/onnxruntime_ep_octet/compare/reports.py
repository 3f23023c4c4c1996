"""The report as files: JSON, JUnit XML, Markdown, HTML."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
import junitparser

from . import plots
from .results import DIFFERENT, NOT_RUN, PASSED, ModelResult, NodeResult, OutputResult, Report


def write_json(report: Report, path: Path) -> None:
    path.write_text(json.dumps(report.as_json(), indent=2, allow_nan=False) + "\n")


def write_junit(report: Report, path: Path) -> None:
    """A suite for each model; a case for each output and node, and one for the model as a whole."""
    document = junitparser.JUnitXml("octet-compare")
    for model in report.models:
        suite = junitparser.TestSuite(_in_xml(model.name))
        suite.add_testcase(_junit_case(model.name, "model", model.status != PASSED, model.problems, model.status))
        for output in model.outputs:
            _add(suite, f"{output.name} [{output.batch}]", "output", output)
        for node in model.nodes:
            _add(suite, node.name, node.operator, node)
        document.add_testsuite(suite)
    document.write(str(path), pretty=True)


def _add(suite: junitparser.TestSuite, name: str, kind: str, result: OutputResult | NodeResult) -> None:
    suite.add_testcase(_junit_case(name, kind, result.status == DIFFERENT, [result.status, _remark(result)], ""))


def _junit_case(name: str, kind: str, failed: bool, lines: list[str], status: str) -> junitparser.TestCase:
    case = junitparser.TestCase(_in_xml(name), classname=_in_xml(kind))
    if failed:
        text = _in_xml("\n".join(line for line in lines if line))
        make = junitparser.Error if status == NOT_RUN else junitparser.Failure
        case.result = [make(text.splitlines()[0] if text else status)]
        case.result[0].text = text
    return case


def _in_xml(text: str) -> str:
    """XML has no form for some characters, which the names in a model may have."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _percent(value: float) -> str:
    return f"{value:.0%}" if value in (0, 1) else f"{value:.1%}"


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _speedup(model: ModelResult) -> dict[int, float]:
    """By threads: how many times faster Octet is."""
    times = {(timing.side, timing.threads): timing.median for timing in model.timings}
    return {count: times["onnxruntime", count] / time for (side, count), time in times.items() if side == "octet"}


def _remark(result: OutputResult | NodeResult) -> str:
    refusal = result.refusal if isinstance(result, NodeResult) else ""
    return "; ".join(text for text in (result.note, refusal and f"compared with the definition: {refusal}") if text)


def render(report: Report, template: str, **extra: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("onnxruntime_ep_octet.compare"),
        autoescape=template.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _number,
        "percent": _percent,
        "cell": _cell,
        "line": _line,
        "remark": _remark,
        "threads": _threads,
    }
    environment.globals |= {"speedup": _speedup}
    return environment.get_template(template).render(report=report, **extra)


def _line(text: str) -> str:
    """Text that neither ends a line of Markdown nor is taken for HTML."""
    return html.escape(" ".join(text.split()), quote=False)


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def write_markdown(report: Report, path: Path) -> None:
    _write_text(path, render(report, "report.md"))


def write_html(report: Report, path: Path) -> None:
    _write_text(path, render(report, "report.html", plots=plots))


def _write_text(path: Path, text: str) -> None:
    """Names of files need not be text."""
    path.write_text(text, encoding="utf-8", errors="replace")


WRITERS: dict[str, Callable[[Report, Path], None]] = {
    "json": write_json,
    "junit": write_junit,
    "markdown": write_markdown,
    "html": write_html,
}
