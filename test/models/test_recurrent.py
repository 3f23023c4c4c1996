"""Published recurrent models in 8 bits: the same text and the same decisions as onnxruntime's CPU provider."""

import gc
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from scripts.models import ddddocr, silero

from octet_sessions import CPU, session_options

DIGITS = ("30519", "8024", "196", "55", "7461", "902838")


def cpu(path: Path) -> ort.InferenceSession:
    return ort.InferenceSession(str(path), session_options(), providers=[CPU])


def octet(path: Path, report: Path) -> ort.InferenceSession:
    options = session_options({"report": str(report)})
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, enable_fallback=False)


def lstm_runs(report: Path) -> int:
    operators = json.loads(report.read_text())["operators"]
    return sum(operator["runs"] for operator in operators if operator["op_type"] == "DynamicQuantizeLSTM")


def ratio(theirs: Callable[[], object], ours: Callable[[], object]) -> float:
    """How many times faster; turns are taken, so that both meet the same machine."""
    pairs = []
    for turn in range(9):
        times = {}
        for run in (theirs, ours) if turn % 2 == 0 else (ours, theirs):
            run()
            start = time.process_time_ns()
            run()
            times[run] = time.process_time_ns() - start
        pairs.append(times[theirs] / times[ours])
    return float(np.median(pairs))


@pytest.mark.parametrize("recipe", ddddocr.RECIPES)
def test_text_is_read(recipe: str, tmp_path: Path) -> None:
    path, report = ddddocr.model(recipe), tmp_path / "report.json"
    theirs, ours = cpu(path), octet(path, report)
    for digits in DIGITS:
        feeds = {"input1": ddddocr.picture(digits)}
        (expected,), (found,) = theirs.run(None, feeds), ours.run(None, feeds)
        assert found.shape == expected.shape
        assert ddddocr.classes(found) == ddddocr.classes(expected)
        assert len(ddddocr.classes(found)) == len(digits)
        if recipe == "shipped":
            assert ddddocr.text(found) == digits
    faster = ratio(lambda: theirs.run(None, feeds), lambda: ours.run(None, feeds))
    print(f"ddddocr {recipe}: {faster:.2f} times as fast")
    del ours
    gc.collect()
    assert lstm_runs(report) >= len(DIGITS)


def test_voice_is_found(tmp_path: Path) -> None:
    path, report = silero.model(), tmp_path / "report.json"
    theirs, ours = cpu(path), octet(path, report)
    feeds = silero.inputs(silero.speech())
    exact = cpu(silero.float_model()).run(None, feeds)[0]
    expected, found = theirs.run(None, feeds)[0], ours.run(None, feeds)[0]
    assert 40 < int(np.sum(exact > 0.5)) < len(exact) - 40
    assert np.array_equal(found > 0.5, expected > 0.5)
    assert np.array_equal(found > 0.5, exact > 0.5)
    errors = [float(np.sqrt(np.mean(np.square(result - exact)))) for result in (found, expected)]
    print("silero: root mean square error {:.2g}, onnxruntime {:.2g}".format(*errors))
    assert errors[0] <= 1.1 * errors[1]
    print(f"silero: {ratio(lambda: theirs.run(None, feeds), lambda: ours.run(None, feeds)):.2f} times as fast")
    del ours
    gc.collect()
    assert lstm_runs(report) >= 1
