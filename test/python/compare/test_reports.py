"""The forms of the report, speed and baseline."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import onnxruntime_ep_octet.compare
import pytest
from conftest import LSTM_DIMS, Compare
from onnxruntime_ep_octet.compare.__main__ import main
from onnxruntime_ep_octet.compare.models import Batch, load_model
from onnxruntime_ep_octet.compare.reports import write_markdown
from onnxruntime_ep_octet.compare.results import ModelResult, Report, environment
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


def test_markdown_fits_a_job_summary(tmp_path: Path) -> None:
    """However much there is to tell (GitHub takes 1 MiB)."""
    models = [ModelResult(f"model {i}", "", "", "basic") for i in range(20)]
    for model in models:
        for i in range(5000):
            model.fail(f"output {i} differs " + 100 * "x")
            model.baseline.append(f"output {i} differs " + 100 * "x")
    write_markdown(Report(models, environment(), 0), tmp_path / "summary.md")
    text = (tmp_path / "summary.md").read_text()
    assert len(text.encode()) < 2**20 and text.count("- and 9980 more") == 20


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


def test_baseline_brings_its_seed(lstm: Path, tmp_path: Path) -> None:
    """Without it, the inputs would be others, and nothing could be told of accuracy."""
    (tmp_path / "t.yaml").write_text("default: {float: {atol: 1.0}}")
    arguments = [str(lstm), *LSTM_DIMS, "--tolerances", str(tmp_path / "t.yaml"), "--json", str(tmp_path / "new.json")]
    main([*arguments, "--seed", "7"])
    old = changed(tmp_path / "new.json", "accuracy")
    assert main([*arguments, "--baseline", str(old)]) == 1
    assert json.loads((tmp_path / "new.json").read_text())["seed"] == 7
    assert main([*arguments, "--baseline", str(old), "--seed", "9"]) == 0
    (line,) = json.loads((tmp_path / "new.json").read_text())["models"][0]["baseline"]
    assert line == "accuracy is not judged: the baseline has other inputs"


NAMES = {
    "markup": "a[red]&<b>|`x` $\\frac$",
    "controls": "a\x01\x1b[31m\nb\x7f\ufffe",
    "path": "../../a/b",
    "other letters": "模型 ü",
    "no text": "a\udcff",
    "long": "n模" * 300,
    "nothing": "",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_with_odd_characters(compare: Compare, lstm: Path, tmp_path: Path, name: str) -> None:
    """Of a node, an output and the file: all reports are written, and can be read."""
    model = onnx.load(lstm)
    inside = name.encode(errors="replace").decode()  # ONNX allows UTF-8 only
    model.graph.node[0].name = inside
    model.graph.output[0].name = model.graph.node[0].output[0] = inside or "y"
    path = tmp_path / f"{name.replace('/', '_')[:60]}.onnx"
    onnx.save(model, path)
    files = [tmp_path / f"report.{form}" for form in ("junit", "markdown", "html")]
    status, report = compare(
        path, *LSTM_DIMS, "--per-node", *(word for file in files for word in (f"--{file.suffix[1:]}", file))
    )
    (found,) = report["models"]
    assert found["name"] == path.stem
    page, lines = (file.read_text("utf-8") for file in (files[2], files[1]))
    if name == NAMES["no text"]:
        assert status == 2 and "not UTF-8" in page and "not UTF-8" in lines
        assert ElementTree.parse(files[0]).getroot()[0].get("errors") == "1"
        return
    assert status == 1
    assert found["outputs"][0]["name"] == (inside or "y")
    assert found["nodes"][0]["name"] == (inside or "DynamicQuantizeLSTM_0")
    saved = Path(found["saved"])
    assert len(saved.parts) == 4 and saved.parts[0] == "octet-differences" and saved.is_file()
    assert len(ElementTree.parse(files[0]).getroot()[0]) == 1 + 2 + 1
    assert lines.count("\n- output ") == 2
    assert page.count("<svg") == 2


def test_files_of_one_name(compare: Compare, lstm: Path, tmp_path: Path) -> None:
    """They are told apart, and so are the nodes that are saved of them."""
    paths = [tmp_path / folder / "model.onnx" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(lstm.read_bytes())
    _, report = compare(*paths, paths[0], *LSTM_DIMS, "--per-node")
    assert [model["name"] for model in report["models"]] == [str(path) for path in paths]
    assert len({model["saved"] for model in report["models"]}) == 2


def test_a_folder_that_cannot_be_written_hides_nothing(compare: Compare, lstm: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments in ([lstm, *LSTM_DIMS, "--per-node"], ["--operators", "--only", "*/activations/Affine_f"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OCTET_LSTM_QUANTIZATION", "per_tensor" if "--operators" in arguments else "per_row")
            status, report = compare(*arguments, "--save", tmp_path / "file" / "folder")
        (model,) = report["models"]
        assert (status, model["nodes"][-1]["status"], model["saved"]) == (1, "different", "")
        assert "cannot be saved: [Errno 20] Not a directory" in " ".join(model["problems"])


@pytest.mark.parametrize(
    ("environment", "reader"),
    [({"PYTHONIOENCODING": "ascii"}, "cat"), ({"LC_ALL": "C"}, "cat"), ({}, "head -n 1"), ({}, ":")],
)
def test_who_reads_the_terminal_does_not_change_the_status(
    product: Path, lstm: Path, tmp_path: Path, environment: dict[str, str], reader: str
) -> None:
    for path, status in ((product, 0), (lstm, 1)):
        odd = path.rename(tmp_path / f"{path.stem} 模型.onnx")
        command = f'"{sys.executable}" -m onnxruntime_ep_octet.compare "{odd}" --seed 7 --batches 9 --html page.html'
        if path == lstm:
            command += " " + " ".join(LSTM_DIMS)
        done = subprocess.run(
            ["bash", "-c", f"{command} | {reader}; exit ${{PIPESTATUS[0]}}"],
            env=os.environ | environment, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (status, "")
        assert "模型" in (tmp_path / "page.html").read_text("utf-8")
