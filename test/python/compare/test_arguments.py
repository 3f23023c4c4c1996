"""Exit status 2 and 3: what cannot run, and what is asked wrongly."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
from conftest import LSTM_DIMS, Compare
from onnx import numpy_helper


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
        (["MODEL", "--range", "x=2:1"], "finite numbers, the lower first"),
        (["MODEL", "--range", "x=-inf:inf"], "finite numbers, the lower first"),
        (["MODEL", "--range", "x=0:nan"], "finite numbers, the lower first"),
        (["MODEL", "--range", "x=0:1e39"], "input 'x' of float32[1, 16] cannot be generated"),
        (["MODEL", "--dim", "batch=99999999999999"], "input 'x' of float32[99999999999999, 16] cannot be generated"),
        (["MODEL", "--dim", "batch=²"], "whole number"),
        (["MODEL", "--batches", "0"], "'0' is not a whole number of at least 1"),
        (["MODEL", "--seed", "-1"], "'-1' is not a whole number of at least 0"),
        (["--operators", "--time-limit", "nan"], "'nan' is not a number from 0 to 1e+06"),
        (["MODEL", "--time-limit", "inf"], "'inf' is not a number from 0 to 1e+06"),
        (["MODEL", "--dim", "batch=1", "--dim", "batch=2"], "--dim batch is given more than once"),
        (["MODEL", "--range", "x=0:1", "--range", "x=0:2"], "--range x is given more than once"),
        (["MODEL", "--markdown", "page", "--html", "./page"], "page would replace the report of --"),
        (["MODEL", "--html", "product.onnx"], "--html product.onnx would replace the model"),
        (["MODEL", "--min-coverage", "nan"], "'nan' is not a number from 0 to 1"),
        (["MODEL", "--runs", "9"], "--runs has an effect only with --speed"),
        (["MODEL", "--save", "x"], "--save has an effect only with --per-node or --operators"),
        (["MODEL", "--inputs", "x.npy", "--dim", "batch=4"], "--dim has an effect only with inputs that are generated"),
        (["--operators", "--per-node"], "--per-node has an effect only with models"),
        (["MODEL", "--threads", "0"], "neither"),
        (["MODEL", "--min-coverage", "2"], "--min-coverage"),
        (["MODEL", "--level", "extreme"], "--level"),
        (["MODEL", "--inputs", "absent.npz"], "absent.npz"),
        (["MODEL", "--inputs", "x.txt"], "x.txt"),
        (["MODEL", "--inputs", "other.npz"], "holds ['other'], but the model's inputs are ['x']"),
        (["MODEL", "--inputs", "double.npz"], "input 'x' is float64[2, 16], expected float32[batch, 16]"),
        (["MODEL", "--inputs", "short.npz"], "input 'x' is float32[2, 15], expected float32[batch, 16]"),
        (["MODEL", "--inputs", "row.npz"], "input 'x' is float32[16], expected float32[batch, 16]"),
        (["MODEL", "--tolerances", "absent.yaml"], "absent.yaml"),
        (["MODEL", "--baseline", "absent.json"], "absent.json"),
        (["MODEL", "--baseline", "x.txt"], "no report, expected octet-compare/1"),
        (["MODEL", "--baseline", "other.json"], "no report, expected octet-compare/1"),
        (["MODEL", "--baseline", "newer.json"], "of the form octet-compare/2, expected octet-compare/1"),
        (["MODEL", "--baseline", "partial.json"], "partial.json: $: 'status' is a required property"),
        (["MODEL", "--json", "x.txt/report.json"], "File exists: 'x.txt'"),
        (["MODEL", "--html", "."], "no file that can be written"),
    ],
)  # fmt: skip
def test_wrong_arguments(
    compare: Compare, product: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], words: list[str], text: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    np.savez("other.npz", other=np.zeros(3))
    np.savez("double.npz", x=np.zeros((2, 16)))
    np.savez("short.npz", x=np.zeros((2, 15), np.float32))
    np.savez("row.npz", x=np.zeros(16, np.float32))
    Path("other.json").write_text("{}")
    Path("newer.json").write_text('{"schema": "octet-compare/2"}')
    Path("partial.json").write_text('{"schema": "octet-compare/1"}')
    Path("x.txt").write_text("1")
    assert compare(*(product if word == "MODEL" else word for word in words))[0] == 3
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("length", [0, 1, 20, 100])
@pytest.mark.parametrize("name", ["x.npz", "x.npy", "set/input_0.pb"])
def test_corrupt_inputs(
    compare: Compare, product: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, length: int
) -> None:
    x = np.ones((2, 16), np.float32)
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    {".npz": lambda: np.savez(file, x=x), ".npy": lambda: np.save(file, x),
     ".pb": lambda: onnx.save_tensor(numpy_helper.from_array(x, "x"), file)}[file.suffix]()  # fmt: skip
    file.write_bytes(file.read_bytes()[:length])
    given = file.parent if file.suffix == ".pb" else file
    assert compare(product, "--inputs", given)[0] == 3
    errors = capsys.readouterr().err
    assert errors.startswith(f"octet-compare: error: {given}") and "Traceback" not in errors


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("[1]", "keys and values"),
        ("defaults: {}", "'defaults'"),
        ("default: {float: {atol: -1}}", "default.float.atol is -1"),
        ("default: {float: {atol: small}}", "default.float.atol is 'small'"),
        ("default: {float: {absolute: 1}}", "'absolute'"),
        ("rules: {output: y}", "expected a list"),
        ("default: {operator: MatMulInteger, steps: 2}", "default has 'operator'"),
        ("rules: [{steps: 1}]", "rules[0] names none of"),
        ("rules: [{output: y}]", "rules[0] changes neither float nor steps"),
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
        errors = capsys.readouterr().err
        assert f"error: {name}: " in errors and "--inputs" in errors


def test_a_range_is_kept_whatever_the_type(tmp_path: Path) -> None:
    from conftest import save
    from onnx import TensorProto, helper
    from onnxruntime_ep_octet.compare.models import generated_batch, load_model

    kinds = [getattr(TensorProto, name) for name in ("FLOAT", "FLOAT16", "UINT8", "INT8", "INT64", "BOOL")]
    inputs = [helper.make_tensor_value_info(f"x{kind}", kind, [50]) for kind in kinds]
    nodes = [helper.make_node("Identity", [value.name], [f"y{value.name}"]) for value in inputs]
    model = load_model(save(tmp_path / "types.onnx", nodes, inputs, [], {}))
    ones = generated_batch(model, 1, {}, {value.name: (1.0, 1.0) for value in inputs}).feeds
    assert all((array == 1).all() for array in ones.values())
    assert all(len(np.unique(array)) > 1 for array in generated_batch(model, 1, {}, {}).feeds.values())


def test_a_fault_of_the_program_is_not_called_a_difference(
    compare: Compare, lstm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxruntime_ep_octet.compare.program.environment", lambda: 1 / 0)
    assert compare(lstm, *LSTM_DIMS)[0] == 2


@pytest.mark.parametrize(
    "package", ["rich", "yaml", "onnx", "jinja2", "jsonschema", "junitparser", "matplotlib", "onnxruntime"]
)
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


ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "ci"


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


def test_the_readme_calls_the_program_rightly(compare: Compare, product: Path) -> None:
    lines = [line.split("#")[0] for line in (ROOT / "README.md").read_text().splitlines()]
    on_models, on_operators = (line.split()[1:] for line in lines if line.startswith("octet-compare "))
    assert on_models[0] == "MODEL..."
    assert compare(product, *on_models[1:])[0] == 0
    assert Path("report.html").is_file()
    assert compare(*on_operators, "--time-limit", "0")[0] == 2  # nothing reached
