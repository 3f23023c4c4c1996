"""Exit status 2 and 3: what cannot run, and what is asked wrongly."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import LSTM_DIMS, Compare


def test_what_is_no_model_cannot_run(compare: Compare, product: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(product.read_bytes()[:100])
    for path in (broken, tmp_path / "absent.onnx", tmp_path):
        status, report = compare(path)
        assert (status, report["models"][0]["status"]) == (2, "could not run")
        assert path.name in report["models"][0]["problems"][0]
    # The others are compared all the same.
    status, report = compare(broken, product)
    assert status == 2
    assert [model["status"] for model in report["models"]] == ["could not run", "passed"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "--operators"),
        (["MODEL", "--operators"], "--operators"),
        (["--operators", "--only", "*.Absent/*"], "no case"),
        (["MODEL", "--colour"], "--colour"),
        (["MODEL", "--dim", "batch"], "NAME=VALUE"),
        (["MODEL", "--dim", "batch=few"], "whole number"),
        (["MODEL", "--dim", "bacth=4"], "no such name, but batch"),
        (["MODEL", "--range", "y=0:1"], "no such name, but x"),
        (["MODEL", "--range", "x=2:1"], "above"),
        (["MODEL", "--threads", "0"], "neither"),
        (["MODEL", "--min-coverage", "2"], "--min-coverage"),
        (["MODEL", "--level", "extreme"], "--level"),
        (["MODEL", "--inputs", "absent.npz"], "absent.npz"),
        (["MODEL", "--inputs", "x.txt"], "x.txt"),
        (["MODEL", "--inputs", "other.npz"], "other"),
        (["MODEL", "--tolerances", "absent.yaml"], "absent.yaml"),
        (["MODEL", "--baseline", "absent.json"], "absent.json"),
        (["MODEL", "--baseline", "other.json"], "octet-compare/1"),
    ],
)  # fmt: skip
def test_wrong_arguments(
    compare: Compare, product: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], words: list[str], text: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    np.savez("other.npz", other=np.zeros(3))
    Path("other.json").write_text("{}")
    Path("x.txt").write_text("1")
    assert compare(*(product if word == "MODEL" else word for word in words))[0] == 3
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("[1]", "keys and values"),
        ("defaults: {}", "'defaults'"),
        ("default: {float: {atol: -1}}", "default.float.atol is -1"),
        ("default: {float: {atol: small}}", "default.float.atol is 'small'"),
        ("default: {float: {absolute: 1}}", "'absolute'"),
        ("rules: {output: y}", "expected a list"),
        ("rules: [{steps: 1}]", "rules[0] names none of"),
        ("rules: [{output: 3, steps: 1}]", "rules[0].output is 3"),
        ("rules: [{output: [y, 3], steps: 1}]", "rules[0].output is 3"),
        ("known_differences: [{output: y, reason: because}]", "has no name"),
        ("a: [", "tolerances.yaml"),
    ],
)
def test_wrong_tolerances(
    compare: Compare, product: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, text: str
) -> None:
    (tmp_path / "tolerances.yaml").write_text(content)
    assert compare(product, "--tolerances", tmp_path / "tolerances.yaml")[0] == 3
    assert text in capsys.readouterr().err


def test_inputs_that_cannot_be_generated(compare: Compare, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from conftest import save
    from onnx import TensorProto, helper

    node = helper.make_node("Identity", ["x"], ["y"])
    for name, kind, shape in (("rank", TensorProto.FLOAT, None), ("text", TensorProto.STRING, [2])):
        info = [helper.make_tensor_value_info(port, kind, shape) for port in ("x", "y")]
        path = save(tmp_path / f"{name}.onnx", [node], info[:1], info[1:], {})
        assert compare(path)[0] == 3
        assert "--inputs" in capsys.readouterr().err


def test_a_fault_of_the_program_is_not_called_a_difference(
    compare: Compare, lstm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxruntime_ep_octet.compare.program.environment", lambda: 1 / 0)
    assert compare(lstm, *LSTM_DIMS)[0] == 2


@pytest.mark.parametrize("package", ["rich", "yaml", "onnx", "jinja2", "junitparser", "matplotlib", "onnxruntime"])
def test_a_missing_package_is_named(package: str) -> None:
    code = f"""
import sys
sys.modules["{package}"] = None
from onnxruntime_ep_octet.compare.__main__ import main
sys.exit(main(["model.onnx"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert package in done.stderr and "pip install 'onnxruntime-ep-octet[compare]'" in done.stderr


EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "ci"


def commands(value: object) -> list[str]:
    """All texts of a workflow file that call the program."""
    if isinstance(value, dict):
        return [text for member in value.values() for text in commands(member)]
    if isinstance(value, list):
        return [text for member in value for text in commands(member)]
    return [value] if isinstance(value, str) and value.startswith("octet-compare ") else []


@pytest.mark.parametrize("file", ["github-actions.yml", "gitlab-ci.yml"])
def test_workflow_files_call_the_program_rightly(
    file: str, product: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnxruntime_ep_octet.compare.__main__ import main

    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    product.rename("models/product.onnx")
    on_models, on_operators = commands(yaml.safe_load((EXAMPLES / file).read_text()))
    assert main(on_models.replace("models/*.onnx", "models/product.onnx").split()[1:]) == 0
    assert Path("octet.json").is_file() and Path("octet.xml").is_file() and Path("octet.html").is_file()
    assert main([*on_operators.split()[1:], "--time-limit", "0"]) == 2  # nothing reached
