"""octet-compare on whole models and on their nodes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from conftest import LSTM_DIMS, Compare, save
from onnx import TensorProto, helper, numpy_helper
from onnxruntime_ep_octet.compare.program import compare_file
from onnxruntime_ep_octet.compare.results import ModelResult


def test_equal_models_pass(compare: Compare, product: Path) -> None:
    status, report = compare(product, "--dim", "batch=4", "--per-node")
    assert (status, report["status"], report["schema"]) == (0, "passed", "octet-compare/1")
    (model,) = report["models"]
    assert report["seed"] == 7
    assert [batch["shapes"] for batch in model["batches"]] == [{"x": [4, 16]}] * 2
    for output in model["outputs"]:
        assert (output["status"], output["measure"]["differing"], output["measure"]["elements"]) == ("equal", 0, 32)
        assert output["measure"]["cosine"] == pytest.approx(1)
        assert output["measure"]["top1"] == 1
        assert output["verdict"]["nearer"] == "both alike"
    assert model["coverage"]["share"] == 1
    assert model["coverage"]["time_share"] > 0
    assert [(node["name"], node["status"]) for node in model["nodes"]] == [("quantize", "equal"), ("product", "equal")]
    assert all(node["backend"] and node["implementation"] for node in model["nodes"])


def test_differences_are_told_judged_and_saved(compare: Compare, lstm: Path, tmp_path: Path) -> None:
    status, report = compare(lstm, *LSTM_DIMS, "--per-node", "--save", tmp_path / "saved")
    assert (status, report["status"]) == (1, "differs")
    (model,) = report["models"]
    assert {output["status"] for output in model["outputs"]} == {"different"}
    assert {output["verdict"]["nearer"] for output in model["outputs"]} == {"octet"}
    (node,) = model["nodes"]
    assert (node["name"], node["operator"], node["status"]) == (
        "lstm",
        "com.microsoft.DynamicQuantizeLSTM",
        "different",
    )
    assert node["attributes"] == {"hidden_size": "8"}
    assert node["as_defined"] is True
    assert node["backend"] and node["implementation"]
    assert node["verdict"]["nearer"] == "octet"
    assert model["problems"][-1].startswith(
        f"node lstm: com.microsoft.DynamicQuantizeLSTM hidden_size=8, {node['backend']} {node['implementation']} differs"
    )
    stale = Path(model["saved"]).parent / "test_data_set_0" / "input_7.pb"
    stale.touch()
    assert compare(lstm, *LSTM_DIMS, "--per-node", "--save", tmp_path / "saved")[0] == 1 and not stale.exists()
    # What was saved shows the difference by itself, with the inputs that were saved with it.
    saved = Path(model["saved"])
    status, again = compare(saved, "--inputs", saved.parent / "test_data_set_0")
    assert status == 1
    assert again["models"][0]["outputs"][0]["measure"]["max_abs"] == pytest.approx(node["max_abs"])


def batches_of_nested(folder: Path, *conditions: bool) -> list[object]:
    """Words of the command line; contents of their own in each batch."""
    words: list[object] = []
    for i, condition in enumerate(conditions):
        generator = np.random.default_rng(20 + i)
        feeds = {
            "x": generator.normal(size=(5, 3, 6)).astype(np.float32),
            "c": np.bool_(condition),
            "u": generator.integers(0, 256, (2, 2)).astype(np.uint8),
        }
        np.savez(folder / f"batch{i}.npz", **feeds)
        words += ["--inputs", folder / f"batch{i}.npz"]
    return words


LSTM, PRODUCT = "if.then_branch/lstm", "loop.body/product"
QUANTIZE, BACK = "if.else_branch/QuantizeLinear_0", "if.else_branch/lstm"


def test_nodes_of_subgraphs(compare: Compare, nested: Path, tmp_path: Path) -> None:
    status, report = compare(nested, "--per-node", *batches_of_nested(tmp_path, True, False))
    assert status == 1
    (model,) = report["models"]
    nodes = {node["name"]: node for node in model["nodes"]}
    assert list(nodes) == [LSTM, PRODUCT, QUANTIZE, BACK]
    assert {name: node["status"] for name, node in nodes.items() if name != LSTM} == dict.fromkeys(
        [PRODUCT, QUANTIZE, BACK], "equal"
    )
    assert nodes[LSTM]["status"] == "different" and nodes[LSTM]["as_defined"] is True
    assert nodes[PRODUCT]["elements"] == 2 * 4  # of the first round, with each batch
    assert model["notes"] == []
    # What was saved shows the difference by itself.
    saved = Path(model["saved"])
    assert saved == Path("octet-differences/nested/if.then_branch_lstm/model.onnx")
    status, again = compare(saved, "--inputs", saved.parent / "test_data_set_0")
    assert again["models"][0]["outputs"][0]["measure"]["max_abs"] == pytest.approx(nodes[LSTM]["max_abs"])


def test_nodes_of_subgraphs_that_are_not_compared_are_told(
    compare: Compare, nested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batches_of_nested(tmp_path, False)
    _, report = compare(nested, "--per-node", *batch)
    (model,) = report["models"]
    assert [node["name"] for node in model["nodes"]] == [QUANTIZE, BACK, PRODUCT]
    assert model["notes"] == ["1 of 4 nodes in subgraphs are not compared by themselves: no batch comes to them"]
    _, report = compare(nested, "--per-node", "--no-judge", *batch)
    (model,) = report["models"]
    assert model["nodes"] == []
    assert model["notes"] == ["4 of 4 nodes in subgraphs are not compared by themselves: that takes the judge"]


def test_nodes_of_functions(compare: Compare, product: Path) -> None:
    """They are nodes like all others, for the judge too."""
    model = onnx.load(product)
    graph, opsets = model.graph, list(model.opset_import)
    scale = helper.make_node("Constant", [], ["w_scale"], value=numpy_helper.from_array(np.float32(0.02)))
    function = helper.make_function("mine", "Linear", ["x", "w"], ["y"], [scale, *graph.node], opsets)
    del graph.node[:]
    graph.node.append(helper.make_node("Linear", ["x", "w"], ["y"], name="linear", domain="mine"))
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    onnx.save(model, product)
    status, report = compare(product, "--per-node")
    (found,) = report["models"]
    assert (status, found["notes"]) == (0, [])
    assert [(node["operator"], node["status"]) for node in found["nodes"]] == [
        ("DynamicQuantizeLinear", "equal"),
        ("MatMulInteger", "equal"),
    ]
    assert {output["verdict"]["nearer"] for output in found["outputs"]} == {"both alike"}


def test_each_node_meets_every_batch(compare: Compare, lstm: Path, tmp_path: Path) -> None:
    """Of zeros both sides make the same; only the second batch shows the difference, and is saved."""
    arrays = [np.zeros((5, 3, 6), np.float32), np.random.default_rng(5).normal(size=(4, 3, 6)).astype(np.float32)]
    alone = []
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
        alone.append(compare(lstm, "--per-node", "--inputs", tmp_path / f"{i}.npy")[1]["models"][0]["nodes"][0])
    assert [node["status"] for node in alone] == ["equal", "different"]
    for order in ((0, 1), (1, 0)):
        files = [word for i in order for word in ("--inputs", tmp_path / f"{i}.npy")]
        status, report = compare(lstm, "--per-node", *files)
        (node,) = report["models"][0]["nodes"]
        assert (status, node["status"], node["max_abs"]) == (1, "different", alone[1]["max_abs"])
        assert node["differing"] == alone[1]["differing"]
        assert node["elements"] == 8 * 3 * (5 + 4)
        (file,) = Path(report["models"][0]["saved"]).parent.glob("test_data_set_0/*.pb")
        assert np.array_equal(numpy_helper.to_array(onnx.load_tensor(file)), arrays[1])


def test_the_option_of_the_other_definition_takes_the_difference_away(
    compare: Compare, lstm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTET_LSTM_QUANTIZATION", "per_tensor")
    assert compare(lstm, *LSTM_DIMS)[0] == 0


@pytest.mark.parametrize(
    ("text", "status", "standing"),
    [
        ("default: {float: {atol: 1.0}}", 0, "within tolerance"),
        ("rules: [{output: y, float: {atol: 1.0}}]", 0, "within tolerance"),
        ("rules: [{output: 'y*', float: {atol: 1.0}}, {model: lstm, float: {atol: 0}}]", 1, "different"),
        ("rules: [{output: z, float: {atol: 1.0}}]", 1, "different"),
        ("rules: [{output: [z, y], onnxruntime: '1.*', float: {atol: 1.0}}]", 0, "within tolerance"),
        ("rules: [{onnxruntime: '0.*', float: {atol: 1.0}}]", 1, "different"),
        ("known_differences: [{name: rows, model: lstm, reason: 'each row by itself'}]", 0, "known difference"),
    ],
)
def test_tolerances(compare: Compare, lstm: Path, tmp_path: Path, text: str, status: int, standing: str) -> None:
    (tmp_path / "tolerances.yaml").write_text(text)
    found, report = compare(lstm, *LSTM_DIMS, "--tolerances", tmp_path / "tolerances.yaml")
    assert found == status
    assert {output["status"] for output in report["models"][0]["outputs"]} == {standing}
    if standing == "known difference":
        assert report["models"][0]["outputs"][0]["note"] == "rows: each row by itself"


def test_inputs_of_files(compare: Compare, product: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(2, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x[:1])
    (tmp_path / "set").mkdir()
    onnx.save_tensor(numpy_helper.from_array(x), tmp_path / "set" / "input_0.pb")
    files = [tmp_path / name for name in ("x.npy", "x.npz", "set")]
    status, report = compare(product, *(word for file in files for word in ("--inputs", file)))
    assert status == 0
    assert [batch["shapes"]["x"][0] for batch in report["models"][0]["batches"]] == [2, 1, 2]
    assert [batch["source"] for batch in report["models"][0]["batches"]] == [str(file) for file in files]


def test_the_seed_makes_the_inputs(compare: Compare, lstm: Path) -> None:
    errors = [compare(lstm, *LSTM_DIMS)[1]["models"][0]["outputs"][0]["measure"] for _ in range(2)]
    assert errors[0] == errors[1]
    assert compare(lstm, *LSTM_DIMS, "--seed", "8")[1]["models"][0]["outputs"][0]["measure"] != errors[0]


def test_coverage(compare: Compare, tmp_path: Path) -> None:
    """A quantized operator that Octet has no kernel for passes by default, and fails where all are asked for."""
    weights = np.ones((2, 3, 1, 1), np.uint8)
    node = helper.make_node("ConvInteger", ["x", "w"], ["y"], name="conv")
    add = helper.make_node("MatMulInteger", ["x", "v"], ["p"], name="product")
    inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 3, 4, 4])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.INT32, None) for name in ("y", "p")]
    path = save(tmp_path / "conv.onnx", [node, add], inputs, outputs, {"w": weights, "v": np.ones((4, 4), np.uint8)})
    status, report = compare(path)
    assert (status, report["models"][0]["coverage"]["share"]) == (0, 0.5)
    status, report = compare(path, "--min-coverage", "1")
    assert status == 1
    assert "1 of 2 quantized nodes" in report["models"][0]["problems"][0]


def test_nothing_on_octet_fails(compare: Compare, product: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTET_BACKEND", "cuda")
    status, report = compare(product)
    assert (status, report["status"]) == (2, "could not run")
    assert "octet:" in report["models"][0]["problems"][0] and "cuda" in report["models"][0]["problems"][0]


def test_onnxruntime_may_end_its_process(
    compare: Compare, no_sequences: Path, product: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, report = compare(no_sequences, product)
    assert (status, [model["status"] for model in report["models"]]) == (2, ["could not run", "passed"])
    (problem,) = report["models"][0]["problems"]
    assert "onnxruntime ended the process by SIGABRT: terminate called" in problem
    assert "terminate called" not in capfd.readouterr().err


def is_at_fault(path: Path, *arguments: Any) -> ModelResult:
    if path.stem == "lstm":
        raise ZeroDivisionError("a fault")
    return compare_file(path, *arguments)


def test_a_fault_in_one_model_leaves_the_others(
    compare: Compare, lstm: Path, product: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("onnxruntime_ep_octet.compare.program.compare_file", is_at_fault)
    status, report = compare(lstm, product)
    assert (status, [model["status"] for model in report["models"]]) == (2, ["could not run", "passed"])
    assert report["models"][0]["problems"] == ["lstm.onnx: ZeroDivisionError: a fault"]
    assert "in is_at_fault" in capfd.readouterr().err


def test_outputs_that_tell_nothing_are_told(compare: Compare, tmp_path: Path) -> None:
    """Masks are generated as ones, since a transformer makes NaN of a row that is masked throughout."""
    inputs = [helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])]
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["m", "m"], ["y"]),
    ]
    path = save(tmp_path / "masked.onnx", nodes, inputs, outputs, {})
    assert "finite" not in str(compare(path)[1]["models"][0]["notes"])
    status, report = compare(path, "--range", "attention_mask=0:0", "--batches", "1")
    assert status == 0
    assert "output 'y' of seed 7 is finite nowhere: other inputs would tell more" in report["models"][0]["notes"]


def test_models_without_quantized_nodes(compare: Compare, tmp_path: Path) -> None:
    """They pass, since nothing differs, and the report says that Octet has no part in it."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy"]
    path = save(tmp_path / "float.onnx", [helper.make_node("Relu", ["x"], ["y"])], info[:1], info[1:], {})
    status, report = compare(path, "--per-node", "--min-coverage", "1", "--markdown", tmp_path / "summary.md")
    (model,) = report["models"]
    assert (status, model["nodes"], model["coverage"]["quantized_nodes"]) == (0, [], 0)
    assert model["notes"] == ["onnxruntime's optimizer leaves no quantized node for Octet to run"]
    assert "- onnxruntime's optimizer leaves no quantized node" in (tmp_path / "summary.md").read_text()
