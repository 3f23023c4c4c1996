"""Operators followed by a function of their bytes, or by DequantizeLinear, run as one group."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from explained import assert_explained_as_taken
from graphs import MICROSOFT
from octet_sessions import OCTET, assert_same_bits, octet_session, run_profiled
from test_byte_functions import Elementwise

Head = Callable[[Elementwise], str]
K, N = 16, 24


def add(graph: Elementwise) -> str:
    return graph.add_two("x", "b")


def mul(graph: Elementwise) -> str:
    return graph.mul("x", "b")


def weights_of(graph: Elementwise, shape: tuple[int, int]) -> list[str]:
    limits = np.iinfo(graph.dtype)
    values = graph.rng.integers(limits.min, limits.max, shape, graph.dtype, endpoint=True)
    return [graph.constant(values), *graph.parameters_of("weights")]


def gemm(graph: Elementwise) -> str:
    inputs = ["x", *graph.parameters_of("x"), *weights_of(graph, (N, K)), "", *graph.parameters_of("y")]
    return graph.add("QGemm", inputs, ["y"], MICROSOFT, transB=1)[0]


def matmul(graph: Elementwise) -> str:
    inputs = ["x", *graph.parameters_of("x"), *weights_of(graph, (K, N)), *graph.parameters_of("y")]
    return graph.add("QLinearMatMul", inputs, ["y"])[0]


def model_of(head: Head, tail: str, dtype: type, keep_all: bool = False) -> onnx.ModelProto:
    graph = Elementwise(dtype, np.random.default_rng(3))
    graph.input("x", dtype, ["rows", K])
    if head in (add, mul):
        graph.input("b", dtype, ["rows", K])
    y = head(graph)
    if tail in ("DequantizeLinear", "com.microsoft.DequantizeLinear"):
        domain = MICROSOFT if "." in tail else ""
        graph.output(graph.add("DequantizeLinear", [y, *graph.parameters_of(y)], domain=domain)[0], np.float32)
    else:
        graph.output(graph.quantized(tail, y), dtype)
    if keep_all:
        graph.output(y, dtype)
    return graph.model()


def feeds_for(model: onnx.ModelProto, dtype: type, rows: int) -> dict[str, np.ndarray]:
    limits, rng = np.iinfo(dtype), np.random.default_rng(1)
    return {
        value.name: rng.integers(limits.min, limits.max, (rows, K), dtype, endpoint=True)
        for value in model.graph.input
    }


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("tail", ["QLinearSigmoid", "QLinearLeakyRelu", "DequantizeLinear", "com.microsoft.DequantizeLinear"])
@pytest.mark.parametrize("head", [add, mul, gemm, matmul])
def test_one_group(head: Head, tail: str, dtype: type, tmp_path: Path) -> None:
    model = model_of(head, tail, dtype)
    assert len(assert_explained_as_taken(model, tmp_path)) == 1
    for rows in (5, 1, 0):
        feeds = feeds_for(model, dtype, rows)
        run = run_profiled(model, feeds, tmp_path, {"min_coverage": "1"})
        assert run.nodes == {(OCTET, "group"): 1}
        apart = octet_session(model_of(head, tail, dtype, keep_all=True)).run(None, feeds)
        assert_same_bits(run.outputs, apart[:1])


def test_trace_names_the_nodes_of_a_group(capfd: pytest.CaptureFixture[str]) -> None:
    model = model_of(add, "QLinearSigmoid", np.uint8)
    octet_session(model, {"verbose": "dispatch"})
    members = ", ".join(f"{node.op_type} '{node.name}'" for node in model.graph.node)
    assert all(node.name for node in model.graph.node)
    assert f"octet: taken together: {members}\n" in capfd.readouterr().err


def test_a_wanted_result_stays(tmp_path: Path) -> None:
    model = model_of(add, "QLinearSigmoid", np.uint8, keep_all=True)
    run = run_profiled(model, feeds_for(model, np.uint8, 3), tmp_path)
    assert run.nodes == {(OCTET, "QLinearAdd"): 1, (OCTET, "QLinearSigmoid"): 1}


def test_tables_come_first(tmp_path: Path) -> None:
    """A chain behind a sum is one table; a sum of one tensor is part of it."""
    graph = Elementwise(np.uint8, np.random.default_rng(3))
    for name in ("x", "b"):
        graph.input(name, np.uint8, [4, K])
    graph.output(graph.sigmoid(graph.leaky_relu(graph.add_two("x", "b"))), np.uint8)
    graph.output(graph.sigmoid(graph.add_two("x", "x")), np.uint8)
    feeds = feeds_for(graph.model(), np.uint8, 4)
    run = run_profiled(graph.model(), feeds, tmp_path)
    assert run.nodes == {(OCTET, "group"): 2, (OCTET, "QLinearAdd"): 1}
