"""Models small enough to compare in a moment, and the program as a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime_ep_octet.compare.__main__ import main

Compare = Callable[..., tuple[int, dict[str, Any]]]


def save(
    path: Path, nodes: list[onnx.NodeProto], inputs: list, outputs: list, constants: dict[str, np.ndarray]
) -> Path:
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A dynamically quantized product as quantizers write it; float in and out."""
    weights = np.random.default_rng(1).integers(-128, 128, (16, 8)).astype(np.int8)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], name="quantize"),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["sums"], name="product"),
        helper.make_node("Cast", ["sums"], ["floats"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "w_scale"], ["scale"], name="scales"),
        helper.make_node("Mul", ["floats", "scale"], ["y"], name="scaled"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 8])]
    return save(tmp_path / "product.onnx", nodes, inputs, outputs, {"w": weights, "w_scale": np.float32(0.02)})


@pytest.fixture
def lstm(tmp_path: Path) -> Path:
    """Octet quantizes the rows of X each by itself, onnxruntime all at once: the results differ."""
    generator = np.random.default_rng(2)
    constants = {
        "w": generator.integers(-128, 128, (1, 6, 32)).astype(np.int8),
        "r": generator.integers(-128, 128, (1, 8, 32)).astype(np.int8),
        "scale": np.float32([0.02]),
        "zero": np.int8([0]),
    }
    names = ["x", "w", "r", "", "", "", "", "", "scale", "zero", "scale", "zero"]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["y"], name="lstm", domain="com.microsoft", hidden_size=8)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["steps", "batch", 6])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["steps", 1, "batch", 8])]
    return save(tmp_path / "lstm.onnx", [node], inputs, outputs, constants)


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """The LSTM in one branch, a product in the other, with constants of the branch and of the graph around it; and a
    product in a loop, whose input is another one in each of its rounds."""
    generator = np.random.default_rng(4)
    around = {
        "r": generator.integers(-128, 128, (1, 6, 24)).astype(np.int8),
        "scale": np.float32([0.02]),
        "zero": np.int8([0]),
        "times": np.int64(3),
        "go": np.bool_(True),
        "one": np.uint8(1),
    }
    weights = numpy_helper.from_array(generator.integers(-128, 128, (1, 6, 24)).astype(np.int8), "w")
    names = ["x", "w", "r", "", "", "", "", "", "scale", "zero", "scale", "zero"]
    lstm = helper.make_node("DynamicQuantizeLSTM", names, ["h"], name="lstm", domain="com.microsoft", hidden_size=6)
    value = helper.make_tensor_value_info
    floats = [value(name, TensorProto.FLOAT, None) for name in ("h", "f")]
    then = helper.make_graph([lstm], "then", [], floats[:1], [weights])
    half = numpy_helper.from_array(np.float32(0.5), "half")
    quantize = helper.make_node("QuantizeLinear", ["x", "half"], ["q"])
    back = helper.make_node("DequantizeLinear", ["q", "half"], ["f"], name="lstm")
    otherwise = helper.make_graph([quantize, back], "else", [], floats[1:], [half])
    ports = [
        value("i", TensorProto.INT64, []),
        value("on", TensorProto.BOOL, []),
        value("a", TensorProto.UINT8, [2, 2]),
    ]
    loop = [
        helper.make_node("MatMulInteger", ["a", "a"], ["sums"], name="product"),
        helper.make_node("Cast", ["sums"], ["low"], to=TensorProto.UINT8),
        helper.make_node("Add", ["low", "one"], ["b"]),
        helper.make_node("Identity", ["on"], ["still"]),
    ]
    results = [value("still", TensorProto.BOOL, []), value("b", TensorProto.UINT8, [2, 2])]
    body = helper.make_graph(loop, "body", ports, results)
    nodes = [
        helper.make_node("If", ["c"], ["y"], name="if", then_branch=then, else_branch=otherwise),
        helper.make_node("Loop", ["times", "go", "u"], ["v"], name="loop", body=body),
    ]
    inputs = [
        value("x", TensorProto.FLOAT, [5, 3, 6]),
        value("c", TensorProto.BOOL, []),
        value("u", TensorProto.UINT8, [2, 2]),
    ]
    outputs = [value("y", TensorProto.FLOAT, None), value("v", TensorProto.UINT8, [2, 2])]
    return save(tmp_path / "nested.onnx", nodes, inputs, outputs, around)


@pytest.fixture
def no_sequences(tmp_path: Path) -> Path:
    """onnxruntime's kernel ends the process."""
    constants = {name: np.zeros((1, 2, 8), np.uint8) for name in ("w", "r")}
    constants |= {"scale": np.float32([0.02]), "zero": np.uint8([0])}
    names = ["x", "w", "r", "", "", "", "", "", "scale", "zero", "scale", "zero"]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["y"], name="lstm", domain="com.microsoft", hidden_size=2)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 0, 2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 1, 0, 2])]
    return save(tmp_path / "no_sequences.onnx", [node], inputs, outputs, constants)


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """Exit status and JSON report of a call."""
    monkeypatch.chdir(tmp_path)  # where the first differing node is saved

    def call(*arguments: object) -> tuple[int, dict[str, Any]]:
        path = tmp_path / "report.json"
        path.unlink(missing_ok=True)
        status = main(["--seed", "7", "--json", str(path), *map(str, arguments)])
        return status, json.loads(path.read_text()) if path.exists() else {}

    return call


LSTM_DIMS = ("--dim", "steps=5", "--dim", "batch=3")
