"""Forms of models around the operators: functions, branches, loops, external data, initializers that can be overridden."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from graphs import (
    OPSETS,
    Graph,
    Quantized,
    Weights,
    add_product,
    add_quantizer,
    random_weights,
)
from octet_sessions import (
    IS_ORT_1_24,
    OCTET,
    Level,
    assert_same_bits,
    cpu_session,
    octet_session,
    run_compared,
    run_profiled,
    session_options,
)

F32 = np.float32


def test_model_local_function(rng: np.random.Generator, tmp_path: Path) -> None:
    """onnxruntime inlines it before it asks; called twice, once with other weights."""
    body = Graph("body")
    a = add_quantizer(body, "x")
    (acc,) = body.add("MatMulInteger", [a.y, "w", a.zero_point])
    (real,) = body.add("Cast", [acc], to=TensorProto.FLOAT)
    (scale,) = body.add("Mul", [a.scale, "w_scale"])
    body.add("Mul", [real, scale], ["y"])
    opsets = [helper.make_opsetid("", 21)]
    function = helper.make_function("local", "Product", ["x", "w", "w_scale"], ["y"], body.nodes, opsets)
    graph = Graph()
    x = graph.input("x", F32, [4, 16])
    for _ in range(2):
        weights = random_weights(rng, (16, 16))
        inputs = [x, graph.constant(weights.values), graph.constant(weights.scale)]
        (x,) = graph.add("Product", inputs, domain="local")
    graph.output(x, F32)
    model = graph.model({"local": 1})
    model.functions.append(function)
    feeds = {"x": rng.normal(0, 1, (4, 16)).astype(F32)}
    run = run_profiled(model, feeds, tmp_path, {"min_coverage": "1"})
    assert_same_bits(run.outputs, cpu_session(model).run(None, feeds))
    assert run.nodes == {(OCTET, "group"): 2}
    assert run.report["quantized_taken"] == run.report["quantized_nodes"] == 4


def branch(name: str, a: Quantized, weights: Weights) -> onnx.GraphProto:
    graph = Graph(name)
    graph.output(add_product(graph, a, weights)[-1], F32, [3, 8])
    return graph.graph()


def test_groups_in_subgraphs(rng: np.random.Generator, tmp_path: Path) -> None:
    """The quantizer stands outside, its products in the branches of an If.

    onnxruntime 1.24 cannot have fused groups in more than one graph: there the branches stay on the CPU provider.
    """
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", F32, [3, 16]))
    condition = graph.input("condition", np.bool_, [])
    (y,) = graph.add(
        "If",
        [condition],
        then_branch=branch("then", a, random_weights(rng, (16, 8))),
        else_branch=branch("else", a, random_weights(rng, (16, 8), np.uint8, per_column=True)),
    )
    graph.output(y, F32)
    for value in (True, False):
        feeds = {"x": rng.normal(0, 3, (3, 16)).astype(F32), "condition": np.array(value)}
        run = run_compared(graph.model(), feeds, tmp_path)
        assert run.report["quantized_nodes"] == 3
        if IS_ORT_1_24:
            assert run.operators() == {"DynamicQuantizeLinear": 1}
            assert run.report["quantized_taken"] == 1
        else:
            assert run.operators() == {"DynamicQuantizeLinear": 1, "MatMulIntegerToFloat": 1}
            assert run.on_cpu() == {"If": 1}
            assert run.report["quantized_taken"] == 3


def test_outer_constants_in_subgraphs(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    x = graph.input("x", F32, [3, 16])
    weights = graph.constant(rng.integers(-128, 128, (16, 8), np.int8))
    body = Graph("body")
    a = add_quantizer(body, x)
    body.output(body.add("MatMulInteger", [a.y, weights, a.zero_point])[0], np.int32, [3, 8])
    other = Graph("other")
    other.output(other.add("Identity", [other.constant(np.zeros((3, 8), np.int32))])[0], np.int32)
    condition = graph.input("condition", np.bool_, [])
    (y,) = graph.add("If", [condition], then_branch=body.graph(), else_branch=other.graph())
    graph.output(y, np.int32)
    run = run_compared(graph.model(), {"x": rng.normal(0, 3, (3, 16)).astype(F32), "condition": np.array(True)}, tmp_path)
    if not IS_ORT_1_24:
        assert run.operators() == {"DynamicQuantizeLinear": 1, "MatMulInteger": 1}


def test_loop(rng: np.random.Generator, tmp_path: Path) -> None:
    body = Graph("body")
    body.input("iteration", np.int64, [])
    condition = body.input("condition", np.bool_, [])
    x = body.input("state", F32, [4, 16])
    product = add_product(body, add_quantizer(body, x), random_weights(rng, (16, 16)))[-1]
    body.output(body.add("Identity", [condition])[0], np.bool_, [])
    body.output(body.add("Tanh", [product])[0], F32, [4, 16])
    graph = Graph()
    inputs = [graph.constant(np.int64(5)), "", graph.input("x", F32, [4, 16])]
    graph.output(graph.add("Loop", inputs, body=body.graph())[0], F32)
    model = graph.model()
    feeds = {"x": rng.normal(0, 1, (4, 16)).astype(F32)}
    run = run_profiled(model, feeds, tmp_path)
    assert_same_bits(run.outputs, cpu_session(model).run(None, feeds))
    if not IS_ORT_1_24:
        assert run.operators() == {"DynamicQuantizeLinear": 5, "MatMulIntegerToFloat": 5}


def test_external_data(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", F32, ["rows", 64]))
    weights = random_weights(rng, (64, 64), np.uint8, per_column=True)
    graph.output(add_product(graph, a, weights, rng.normal(0, 1, 64).astype(F32))[-1], F32)
    zero = graph.constant(np.uint8(0))
    one = graph.constant(F32(1))
    b = [graph.constant(weights.values), one, zero]
    graph.output(graph.add("QLinearMatMul", [a.y, one, zero, *b, one, zero])[0], np.uint8)
    model = graph.model()
    file = tmp_path / "model.onnx"
    onnx.save(model, file, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").stat().st_size > 2 * 64 * 64
    session = ort.InferenceSession(str(file), session_options({"min_coverage": "1"}))
    feeds = {"x": rng.normal(0, 1, (3, 64)).astype(F32)}
    expected = ort.InferenceSession(
        str(file), session_options(None, Level.ORT_DISABLE_ALL), providers=["CPUExecutionProvider"]
    ).run(None, feeds)
    assert_same_bits(session.run(None, feeds), expected)


@pytest.mark.parametrize("overridden", [False, True])
def test_initializers_that_are_inputs(
    rng: np.random.Generator, tmp_path: Path, overridden: bool
) -> None:
    """Such weights are no constants: a run may bring its own."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", F32, [3, 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)))[-1], F32)
    weights = next(t for t in graph.initializers if list(t.dims) == [16, 8])
    graph.input(weights.name, np.int8, [16, 8])
    model = graph.model()
    feeds = {"x": rng.normal(0, 1, (3, 16)).astype(F32)}
    if overridden:
        feeds[weights.name] = rng.integers(-128, 128, (16, 8), np.int8)
    run = run_profiled(model, feeds, tmp_path)
    assert_same_bits(run.outputs, cpu_session(model).run(None, feeds))
    assert run.nodes == {(OCTET, "group"): 1}


def test_same_constant_for_octet_and_others(rng: np.random.Generator, tmp_path: Path) -> None:
    """A constant that Octet packs stays for the other nodes that use it."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", F32, [3, 16]))
    weights = graph.constant(rng.integers(-128, 128, (16, 8), np.int8))
    graph.output(graph.add("MatMulInteger", [a.y, weights, a.zero_point])[0], np.int32)
    (real,) = graph.add("Cast", [graph.add("Expand", [weights, graph.input("shape", np.int64, [2])])[0]], to=1)
    graph.output(real, F32)
    one, zero = graph.constant(F32(1)), graph.constant(np.int8(0))
    b = [weights, one, zero]
    inputs = [a.y, one, graph.constant(np.uint8(0)), *b, one, graph.constant(np.uint8(0))]
    graph.output(graph.add("QLinearMatMul", inputs)[0], np.uint8)
    model = graph.model()
    feeds = {"x": rng.normal(0, 1, (3, 16)).astype(F32), "shape": np.array([16, 8])}
    run = run_profiled(model, feeds, tmp_path)
    assert_same_bits(run.outputs, cpu_session(model).run(None, feeds))


def test_optimized_model_can_be_saved(rng: np.random.Generator, tmp_path: Path) -> None:
    """Where no group is fused. (onnxruntime does not save a model that has compiled nodes.)"""
    graph = Graph()
    one, zero = graph.constant(F32(1)), graph.constant(np.uint8(0))
    b = [graph.constant(rng.integers(-128, 128, (16, 8), np.int8)), one, graph.constant(np.int8(0))]
    x = graph.input("x", np.uint8, [3, 16])
    graph.output(graph.add("QLinearMatMul", [x, one, zero, *b, one, zero])[0], np.uint8)
    model = graph.model()
    options = session_options({})
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    session = ort.InferenceSession(model.SerializeToString(), options)
    saved = onnx.load(tmp_path / "optimized.onnx")
    assert [node.op_type for node in saved.graph.node] == ["QLinearMatMul"]
    feeds = {"x": rng.integers(0, 256, (3, 16), np.uint8)}
    assert_same_bits(octet_session(saved).run(None, feeds), session.run(None, feeds))


def test_newest_opset(rng: np.random.Generator, tmp_path: Path) -> None:
    """The operators of the newest opset that both this onnx and this onnxruntime know."""
    newest = min(onnx.defs.onnx_opset_version(), 24 if IS_ORT_1_24 else 26)
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", F32, [3, 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)), np.ones(8, F32))[-1], F32)
    model = graph.model({"": newest})
    assert newest > OPSETS[""]
    feeds = {"x": rng.normal(0, 1, (3, 16)).astype(F32)}
    run = run_profiled(model, feeds, tmp_path)
    assert_same_bits(run.outputs, cpu_session(model).run(None, feeds))
    assert run.nodes == {(OCTET, "group"): 1}
