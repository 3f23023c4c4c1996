"""Published detectors in 8 bits: every element-wise operator gives the bytes that onnxruntime's CPU provider gives."""

import gc
import json
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from scripts.models import ddddocr, detectors

from explained import assert_explained_as_taken
from octet_sessions import CPU, Level, session_options

OPERATORS = {"QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearConcat"}
ROUNDS = 5


def models() -> dict[str, tuple[Path, dict[str, np.ndarray]]]:
    found = {n: (detectors.model(n), {"images": detectors.picture(n, 77)}) for n in detectors.DETECTORS}
    found["ddddocr"] = ddddocr.model("qop_dynlstm"), {"input1": ddddocr.picture("30519")}
    return found


# Sigmoid and product of one tensor, fused to a table; the LSTM runs as a group too.
GROUPS = {"text": 74, "nudenet": 57, "ddddocr": 12}


def sessions(model: onnx.ModelProto | Path, report: Path, level: Level) -> list[ort.InferenceSession]:
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    ours = session_options({"report": str(report)}, level)
    return [
        ort.InferenceSession(source, session_options(None, level), providers=[CPU]),
        ort.InferenceSession(source, ours, enable_fallback=False),
    ]


def with_each_node_alone(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str], list[str]]:
    """A model of the element-wise nodes only, each with inputs of its own; those inputs, and the outputs, by name."""
    constants = {tensor.name for tensor in model.graph.initializer}
    nodes = [node for node in model.graph.node if node.op_type in OPERATORS]
    outputs = [node.output[0] for node in nodes]
    inputs: list[str] = []
    for node in nodes:
        for i, name in enumerate(node.input):
            if name and name not in constants:
                inputs.append(name)
                node.input[i] = f"fed_{name}"
    types = {f"fed_{name}": TensorProto.UINT8 for name in inputs}
    graph = helper.make_graph(
        nodes,
        "nodes",
        [helper.make_tensor_value_info(name, kind, None) for name, kind in types.items()],
        [helper.make_tensor_value_info(name, TensorProto.UINT8, None) for name in outputs],
        model.graph.initializer,
    )
    alone = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return alone, list(dict.fromkeys(inputs)), outputs


@pytest.mark.parametrize("name", list(GROUPS))
def test_each_node_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    path, feeds = models()[name]
    model = onnx.load(path)
    alone, inputs, outputs = with_each_node_alone(onnx.load(path))
    for value in inputs:
        model.graph.output.append(helper.make_tensor_value_info(value, TensorProto.UINT8, None))
    options = session_options(None, Level.ORT_DISABLE_ALL)
    whole = ort.InferenceSession(model.SerializeToString(), options, providers=[CPU])
    tensors = whole.run(inputs, feeds)
    fed = {f"fed_{value}": tensor for value, tensor in zip(inputs, tensors, strict=True)}
    theirs, ours = sessions(alone, tmp_path / "report.json", Level.ORT_DISABLE_ALL)
    for output, expected, found in zip(outputs, theirs.run(outputs, fed), ours.run(outputs, fed), strict=True):
        assert np.array_equal(expected, found), output
    del ours
    gc.collect()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["quantized_taken"] == report["quantized_nodes"] == len(outputs)


@pytest.mark.parametrize("name", list(GROUPS))
def test_explained_as_taken(name: str, tmp_path: Path) -> None:
    path, _ = models()[name]
    assert len(assert_explained_as_taken(onnx.load(path), tmp_path)) > 10


@pytest.mark.parametrize("name", list(GROUPS))
def test_whole_model(name: str, tmp_path: Path) -> None:
    """The tables change nothing; the time on both sides is printed."""
    path, feeds = models()[name]
    report = tmp_path / "report.json"
    theirs, ours = sessions(path, report, Level.ORT_ENABLE_BASIC)
    expected, found = theirs.run(None, feeds), ours.run(None, feeds)
    if name != "ddddocr":  # whose LSTM is quantized row by row
        for e, f in zip(expected, found, strict=True):
            assert np.array_equal(e, f)
    times = []
    for _ in range(ROUNDS):
        for session in (theirs, ours):
            start = time.process_time_ns()
            session.run(None, feeds)
            times.append((time.process_time_ns() - start) / 1e6)
    print(f"{name}: {np.median(times[0::2]):.1f} ms, with Octet {np.median(times[1::2]):.1f} ms")
    del ours, session
    gc.collect()
    assert json.loads(report.read_text())["groups"] == GROUPS[name]
