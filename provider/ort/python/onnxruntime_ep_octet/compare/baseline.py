"""This report against an older one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema

from .models import BadArgument
from .results import DIFFERENT, SCHEMA, ModelResult, Report, Timing

_FORM = Path(__file__).with_name("report.schema.json")
LEAST_BOUND = 0.05  # what two measurements of one thing differ by on a quiet machine


def read_baseline(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadArgument(f"{path}: {error}") from None
    form = content.get("schema") if isinstance(content, dict) else None
    if form != SCHEMA:
        raise BadArgument(f"{path} is {f'of the form {form}' if form else 'no report'}, expected {SCHEMA}")
    try:
        jsonschema.validate(content, json.loads(_FORM.read_text()))
    except jsonschema.ValidationError as error:
        raise BadArgument(f"{path}: {error.json_path}: {error.message[:200]}") from None
    return dict(content)


def compare_with_baseline(report: Report, old: dict[str, Any]) -> None:
    """What became less accurate fails; so does what became slower, on a machine where that can be told."""
    known = {model["name"]: model for model in old["models"]}
    unlike = [key for key in ("cpu", "onnxruntime") if old["environment"].get(key) != report.environment[key]]
    for model in report.models:
        if model.name not in known:
            model.baseline.append("not in the baseline")
            continue
        _compare_accuracy(model, known[model.name])
        _compare_speed(model, known[model.name], unlike)


def _compare_accuracy(model: ModelResult, old: dict[str, Any]) -> None:
    before = {(output["batch"], output["name"]): output for output in old["outputs"]}
    if model.outputs and not any((output.batch, output.name) in before for output in model.outputs):
        model.baseline.append("accuracy is not judged: the baseline has other inputs")
    for output in model.outputs:
        then = before.get((output.batch, output.name))
        if then is None or then["measure"] is None or output.measure is None:
            continue
        error = float(then["measure"]["max_abs"])  # "Infinity" is a text in JSON
        if output.measure.max_abs > error and (output.status == DIFFERENT or then["status"] == "equal"):
            _regressed(model, f"output '{output.name}' differs by up to {output.measure.max_abs:.3g}, was {error:.3g}")
    nodes = {node["name"]: node for node in old["nodes"]}
    for node in model.nodes:
        then = nodes.get(node.name)
        if then and then["status"] == "equal" and node.differing:
            _regressed(model, f"node '{node.name}' was equal and differs by up to {node.max_abs:.3g}")


def _regressed(model: ModelResult, text: str) -> None:
    model.baseline.append(text)
    model.fail(f"baseline: {text}")


def _compare_speed(model: ModelResult, old: dict[str, Any], unlike: list[str]) -> None:
    """The measure is the ratio to onnxruntime in the same run, so that a slower day of the machine does not count."""
    before = _ratios([Timing(**{k: v for k, v in t.items() if k != "noise"}) for t in old["timings"]])
    for threads, (ratio, noise) in _ratios(model.timings).items():
        if threads not in before:
            continue
        then, noise_then = before[threads]
        change = ratio / then - 1
        bound = max(LEAST_BOUND, noise + noise_then)
        text = f"{threads} threads: {ratio:.2f} of onnxruntime's time, was {then:.2f} (noise bound {bound:.0%})"
        if unlike:
            model.baseline.append(f"{text}; not judged, another {' and '.join(unlike)}")
        elif change > bound:
            _regressed(model, text)
        else:
            model.baseline.append(text)


def _ratios(timings: list[Timing]) -> dict[int, tuple[float, float]]:
    """By threads: Octet's time in onnxruntime's, and the noise of it."""
    by_side = {(timing.side, timing.threads): timing for timing in timings}
    result = {}
    for (side, threads), ours in by_side.items():
        theirs = by_side.get(("onnxruntime", threads))
        if side == "octet" and theirs:
            result[threads] = (ours.median / theirs.median, ours.noise + theirs.noise)
    return result
