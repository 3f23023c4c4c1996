"""Models that Octet runs alone, through flat C, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from builder import GraphError, Library
from graphs import FLOAT, feeds, lstm_inputs, matmul_integer, session


def test_models_run_beside_onnxruntime(library: Library) -> None:
    """The LSTM of the builder: Octet's numbers by rows, and onnxruntime's by tensors, on one thread."""
    graph = library.create()
    for value, name in zip(graph.lstm(lstm_inputs(graph)), ("Y", "Y_h", "Y_c")):
        graph.output(value, name)
    x = feeds()["X"]
    expected = session(graph.serialize()).run(None, {"X": x})
    found = library.run(graph.serialize(), [x], "lstm_quantization=per_tensor,threads=1")
    assert list(found) == ["Y", "Y_h", "Y_c"]
    for name, wanted in zip(found, expected):
        np.testing.assert_allclose(found[name], wanted, atol=1e-6)
    by_row = library.run(graph.serialize(), [x])
    assert not np.array_equal(by_row["Y"], found["Y"])
    np.testing.assert_allclose(by_row["Y"], found["Y"], atol=0.02)


def test_every_option_arrives(library: Library) -> None:
    """rowwise gives each row the numbers that it has alone; the other options of one operator are test/c_api's."""
    rng = np.random.default_rng(1)
    graph = library.create()
    graph.output(graph.node("DynamicQuantizeMatMul", {
        "A": graph.input("a", FLOAT, ["M", 16]), "B": graph.constant(rng.integers(-127, 128, (16, 8), np.int8)),
        "b_scale": graph.constant(np.float32(0.01))})[0], "y")
    model, a = graph.serialize(), rng.standard_normal((3, 16)).astype(np.float32) * [[1], [10], [100]]
    a = a.astype(np.float32)
    alone = np.concatenate([library.run(model, [row[None].copy()])["y"] for row in a])
    np.testing.assert_array_equal(library.run(model, [a], "rowwise=1")["y"], alone)
    assert not np.array_equal(library.run(model, [a], "rowwise=0")["y"], alone)
    every = "threads=2,backend=vector,accuracy=fast,lstm_quantization=per_tensor,rowwise=1"
    np.testing.assert_array_equal(library.run(model, [a], every)["y"], alone)


def test_errors_of_models_that_run(library: Library) -> None:
    graph = library.create()
    graph.output(matmul_integer(graph)[0])
    model = graph.serialize()
    a = np.zeros((2, 4), np.uint8)
    for arguments, message in (
            (([a], "threads=0"), "option 'threads' is '0'"), (([a], "speed=1"), "option 'speed' is not known"),
            (([a], "rowwise=2"), "option 'rowwise' is '2', expected 0 or 1"),
            (([a], "backend"), "option 'backend' is '', expected auto, onednn, vector or eigen"),
            (([a.astype(np.int8)],), "input 'a' has type int8, expected uint8"),
            (([a[:, :3].copy()],), r"input 'a' has shape \[2,3\], expected \[M,4\]"), (([],), "input 'a' is missing"),
            (([a, a],), "there is no input 1")):
        with pytest.raises(GraphError, match=message):
            library.run(model, *arguments)
    relu = helper.make_model(helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", FLOAT, [1])],
        [helper.make_tensor_value_info("y", FLOAT, [1])]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(GraphError, match="1 nodes that Octet does not run: Relu"):
        library.run(relu.SerializeToString(), [a])
