"""Whole models on both sides: the same inputs, the same level, the outputs against each other and the judge."""

from __future__ import annotations

import numpy as np

from .. import library
from .cases import Array
from .judge import Judge, NoVerdict
from .measures import absolute_errors, measure, same_form
from .models import Batch, CannotRun, Model
from .results import DIFFERENT, EQUAL, KNOWN, WITHIN, ModelResult, OutputResult, Verdict
from .sessions import observed, open_session, run
from .tolerances import Place, Tolerances


def standing(found: Array, expected: Array, place: Place, tolerances: Tolerances) -> tuple[str, str]:
    """Status and the reason of one result that has the other's type and shape."""
    if not absolute_errors(found, expected).any():
        return EQUAL, ""
    if tolerances.at(place).accepts(found, expected):
        return WITHIN, ""
    known = tolerances.known_difference(place)
    return (KNOWN, known) if known else (DIFFERENT, "")


def verdict(truth: Array, octet: Array, onnxruntime: Array) -> Verdict | None:
    if truth.shape != octet.shape or truth.size == 0:
        return None
    return Verdict(float(absolute_errors(octet, truth).max()), float(absolute_errors(onnxruntime, truth).max()))


def compare_model(
    model: Model, batches: list[Batch], level: str, tolerances: Tolerances, min_coverage: float | None, with_judge: bool
) -> ModelResult:
    path = str(model.path) if model.path else ""
    result = ModelResult(model.name, path, model.sha256, level)
    judge = _judge(model, result) if with_judge else None
    quantized_types = {definition["name"] for definition in library.operators()}
    theirs = open_session(model, "onnxruntime", level)
    names = [value.name for value in theirs.get_outputs()]
    for batch in batches:
        result.batches.append({"source": batch.source, "shapes": batch.shapes})
        expected = run(theirs, model, "onnxruntime", batch.feeds)
        found, coverage = observed(model, level, batch.feeds, quantized_types)
        result.coverage = result.coverage or coverage
        truths = _truths(judge, batch, result)
        for i, name in enumerate(names):
            truth = truths[i] if truths else None
            _add_output(result, batch, name, found[i], expected[i], truth, tolerances)
    _check_coverage(result, min_coverage)
    return result


def _judge(model: Model, result: ModelResult) -> Judge | None:
    try:
        return Judge(model.proto)
    except NoVerdict as reason:
        result.remark(f"not judged: {reason}")
        return None


def _truths(judge: Judge | None, batch: Batch, result: ModelResult) -> list[Array] | None:
    try:
        return judge.run(batch.feeds) if judge else None
    except NoVerdict as reason:
        result.remark(f"not judged: {reason}")
        return None


def _add_output(
    result: ModelResult,
    batch: Batch,
    name: str,
    found: Array,
    expected: Array,
    truth: Array | None,
    tolerances: Tolerances,
) -> None:
    output = OutputResult(batch.source, name, found.dtype.name, list(found.shape), DIFFERENT)
    output.note = same_form(found, expected)
    if not output.note:
        place = Place(model=result.name, output=name)
        output.status, output.note = standing(found, expected, place, tolerances)
        output.measure = measure(found, expected)
        output.verdict = None if truth is None else verdict(truth, found, expected)
        if expected.size and not np.isfinite(expected.astype(np.float64)).any():
            result.remark(f"output '{name}' of {batch.source} is finite nowhere: other inputs would tell more")
    if output.status == DIFFERENT:
        worst = f"by up to {output.measure.max_abs:.3g}" if output.measure else output.note
        result.fail(f"output '{name}' of {batch.source} differs {worst}")
    result.outputs.append(output)


def _check_coverage(result: ModelResult, least: float | None) -> None:
    coverage = result.coverage
    if coverage is None:
        raise CannotRun(f"{result.name}: no batch was run")
    if not coverage.quantized_nodes:
        result.remark("onnxruntime's optimizer leaves no quantized node for Octet to run")
    ran = f"{coverage.quantized_on_octet} of {coverage.quantized_nodes} quantized nodes ran on Octet"
    if least is not None:
        if coverage.share < least:
            result.fail(f"{ran}, expected a share of {least:g}")
        return
    # Quantizers around float operators are left to onnxruntime, which fuses them.
    left = [name for name in coverage.left if name not in ("QuantizeLinear", "DequantizeLinear")]
    if left or (coverage.quantized_nodes and not coverage.quantized_on_octet):
        result.fail(f"{ran}, onnxruntime ran {', '.join(left or coverage.left)}")
