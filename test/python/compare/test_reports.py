"""The forms of the report, speed and baseline."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import numpy as np
import onnxruntime_ep_octet.compare
import pytest
from conftest import LSTM_DIMS, Compare
from onnxruntime_ep_octet.compare.models import Batch, load_model
from onnxruntime_ep_octet.compare.speed import measure_speed


def test_json_is_of_its_schema(compare: Compare, product: Path, lstm: Path, no_sequences: Path, tmp_path: Path) -> None:
    package = Path(onnxruntime_ep_octet.compare.__file__).parent
    schema = json.loads((package / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    _, report = compare(product, lstm, no_sequences, *LSTM_DIMS, "--per-node", "--speed", "--runs", "5")
    jsonschema.validate(report, schema)
    assert schema["properties"]["schema"]["const"] == report["schema"]
    old = (tmp_path / "report.json").rename(tmp_path / "old.json")
    _, operators = compare("--operators", "--cases", "1", "--only", "*not_finite*", "--baseline", old)
    jsonschema.validate(operators, schema)
    assert any(node["max_abs"] == "Infinity" for model in operators["models"] for node in model["nodes"])
    for change in ({"seed": "7"}, {"colour": "blue"}, {"schema": "octet-compare/0"}, {"models": []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(report | change, schema)


def test_junit(compare: Compare, product: Path, lstm: Path, tmp_path: Path) -> None:
    compare(product, lstm, *LSTM_DIMS, "--per-node", "--junit", tmp_path / "junit.xml")
    suites = {suite.get("name"): suite for suite in ElementTree.parse(tmp_path / "junit.xml").getroot()}
    assert {name: suite.get("failures") for name, suite in suites.items()} == {"product": "0", "lstm": "4"}
    assert suites["product"].get("tests") == "5"  # the model, two outputs, two nodes
    failed = [case.get("name") for case in suites["lstm"] if case.find("failure") is not None]
    assert failed == ["lstm", "y [seed 7]", "y [seed 8]", "lstm"]


def test_markdown(compare: Compare, product: Path, lstm: Path, tmp_path: Path) -> None:
    compare(product, lstm, *LSTM_DIMS, "--markdown", tmp_path / "summary.md")
    lines = (tmp_path / "summary.md").read_text().splitlines()
    rows = [line.split("|")[1:4] for line in lines if line.startswith("| ") and not line.startswith("| model")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["product", "passed", "2 of 2"],
        ["lstm", "differs", "0 of 2"],
    ]
    assert sum(line.startswith("- output 'y'") for line in lines) == 2


def test_page_is_one_file(compare: Compare, lstm: Path, tmp_path: Path) -> None:
    compare(lstm, *LSTM_DIMS, "--per-node", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for outside in ("src=", "<link", "@import", "url(http"):
        assert outside not in page
    assert page.count("<svg") == 2  # errors, coverage
    assert "prefers-color-scheme: dark" in page and "width=device-width" in page


def test_page_escapes_what_models_bring(compare: Compare, product: Path, tmp_path: Path) -> None:
    path = product.rename(tmp_path / 'a&<b>"$x.onnx')
    np.save(tmp_path / "<i>.npy", np.ones((1, 16), np.float32))
    compare(path, "--html", tmp_path / "page.html", "--inputs", tmp_path / "<i>.npy")
    page = (tmp_path / "page.html").read_text()
    assert "<b>" not in page and "<i>" not in page
    assert "a&amp;&lt;b&gt;" in page


def test_speed(compare: Compare, product: Path) -> None:
    status, report = compare(product, "--speed", "--runs", "10", "--threads", "1,2")
    assert status == 0
    timings = report["models"][0]["timings"]
    assert [(t["threads"], t["side"]) for t in timings] == [
        (1, "onnxruntime"), (1, "octet"), (2, "onnxruntime"), (2, "octet"),
    ]  # fmt: skip
    for timing in timings:
        assert 0 < timing["median"] <= timing["p95"]
        assert timing["first"] > 0 and timing["peak_memory_mb"] > 10 and len(timing["blocks"]) == 5


def test_peak_memory_is_that_of_the_session(product: Path, tmp_path: Path) -> None:
    """Not of the process that started the measurement, which holds more here."""
    held = np.ones(500_000_000, np.uint8)
    (octet, onnxruntime) = measure_speed(
        load_model(product), Batch("", {"x": np.ones((1, 16), np.float32)}), "all", [1], 5, tmp_path
    )
    assert 10 < octet.peak_memory_mb < 400 and 10 < onnxruntime.peak_memory_mb < 400
    assert held.all()


def changed(path: Path, change: str) -> Path:
    """An older report that was better in one way, or of another machine."""
    report = json.loads(path.read_text())
    model = report["models"][0]
    if "accuracy" in change:
        for output in model["outputs"]:
            output["measure"]["max_abs"], output["status"] = 0.0, "equal"
    if "speed" in change:
        for timing in model["timings"]:
            factor = 1e-3 if timing["side"] == "octet" else 1
            timing["median"] *= factor
            timing["blocks"] = [timing["median"]] * 5
    if "cpu" in change:
        report["environment"]["cpu"] = "another"
    target = path.with_name("old.json")
    target.write_text(json.dumps(report))
    return target


def test_baseline_of_accuracy(compare: Compare, lstm: Path, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("default: {float: {atol: 1.0}}")
    arguments = (lstm, *LSTM_DIMS, "--tolerances", tmp_path / "t.yaml")
    assert compare(*arguments)[0] == 0
    old = changed(tmp_path / "report.json", "nothing")
    assert compare(*arguments, "--baseline", old)[0] == 0
    old = changed(tmp_path / "report.json", "accuracy")
    status, report = compare(*arguments, "--baseline", old)
    assert status == 1
    assert "baseline: output 'y'" in report["models"][0]["problems"][0]


@pytest.mark.parametrize(("change", "status"), [("speed", 1), ("speed cpu", 0)])
def test_baseline_of_speed(compare: Compare, product: Path, tmp_path: Path, change: str, status: int) -> None:
    arguments = (product, "--speed", "--runs", "20")
    compare(*arguments)
    found, report = compare(*arguments, "--baseline", changed(tmp_path / "report.json", change))
    assert found == status
    (line,) = report["models"][0]["baseline"]
    assert ("not judged, another cpu" in line) == ("cpu" in change)
