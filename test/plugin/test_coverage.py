"""min_coverage: no session where too few of the quantized nodes would run on Octet."""

from collections.abc import Callable

import numpy as np
import onnx
import pytest

from graphs import MICROSOFT, Graph, add_product, add_quantizer, add_unsupported, random_weights
from octet_sessions import Level, octet_session

RNG = np.random.default_rng(0)


def add_product_group(graph: Graph) -> None:
    a = add_quantizer(graph, graph.input("x", np.float32, [4, 16]))
    graph.output(add_product(graph, a, random_weights(RNG, (16, 8)))[-1], np.float32)


def add_choice(graph: Graph) -> None:
    graph.output(add_unsupported(graph, graph.input("bytes", np.uint8, [4])), np.uint8)


def add_4_bit_product(graph: Graph) -> None:
    packed = graph.constant(RNG.integers(0, 256, (8, 1, 16), np.uint8))
    inputs = [graph.input("a", np.float32, [4, 32]), packed, graph.constant(np.ones(8, np.float32))]
    sizes = {"K": 32, "N": 8, "bits": 4, "block_size": 32}
    graph.output(graph.add("MatMulNBits", inputs, domain=MICROSOFT, **sizes)[0], np.float32)


def add_float_node(graph: Graph) -> None:
    graph.output(graph.add("Tanh", [graph.input("f", np.float32, [3])])[0], np.float32)


def model_of(*parts: Callable[[Graph], None]) -> onnx.ModelProto:
    graph = Graph()
    for part in parts:
        part(graph)
    return graph.model()


ALL = model_of(add_product_group)
TWO_OF_THREE = model_of(add_product_group, add_choice)
NONE_SUPPORTED = model_of(add_choice)
NO_8_BIT = model_of(add_4_bit_product)
NONE_QUANTIZED = model_of(add_float_node)


@pytest.mark.parametrize(
    ("model", "least"),
    [(ALL, "1"), (ALL, "0.5"), (TWO_OF_THREE, "0.66"), (TWO_OF_THREE, "0"), (NONE_SUPPORTED, "0"), (NONE_QUANTIZED, "0")],
)
def test_enough(model: onnx.ModelProto, least: str) -> None:
    octet_session(model, {"min_coverage": least})


@pytest.mark.parametrize(
    ("model", "least", "found"),
    [
        (TWO_OF_THREE, "0.67", "2 of the model's 3"),
        (TWO_OF_THREE, "1", "2 of the model's 3"),
        (NONE_SUPPORTED, "0.01", "0 of the model's 1"),
        (NO_8_BIT, "0.01", "0 of the model's 1"),
        (NONE_QUANTIZED, "0.5", "0 of the model's 0"),
    ],
)
@pytest.mark.parametrize("level", [Level.ORT_ENABLE_ALL, Level.ORT_DISABLE_ALL])
def test_too_little(model: onnx.ModelProto, least: str, found: str, level: Level) -> None:
    with pytest.raises(Exception) as failure:
        octet_session(model, {"min_coverage": least}, level)
    assert f"option 'min_coverage' is {least}, but {found} quantized nodes run on" in str(failure.value)


def test_too_little_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTET_MIN_COVERAGE", "1")
    octet_session(ALL)
    with pytest.raises(Exception, match="min_coverage"):
        octet_session(TWO_OF_THREE)


def test_sessions_after_a_refused_one() -> None:
    for _ in range(3):
        with pytest.raises(Exception, match="min_coverage"):
            octet_session(NONE_SUPPORTED, {"min_coverage": "1"})
        octet_session(ALL, {"min_coverage": "1"})


def branch_model(supported: bool) -> onnx.ModelProto:
    """The quantized node stands in the branch of an If."""
    inner = Graph("inner")
    if supported:
        a, b = inner.constant(np.ones((2, 2), np.uint8)), inner.constant(np.ones((2, 2), np.int8))
        a_scale, zero = inner.constant(np.float32(1)), inner.constant(np.uint8(0))
        b_zero = inner.constant(np.int8(0))
        inner.output(
            inner.add("QLinearMatMul", ["q", a_scale, zero, b, a_scale, b_zero, a_scale, zero])[0],
            np.uint8,
            [2, 2],
        )
    else:
        inner.output(add_unsupported(inner, "q"), np.uint8, [2, 2])
    other = Graph("other")
    other.output(other.add("Identity", ["q"])[0], np.uint8, [2, 2])
    graph = Graph()
    graph.input("q", np.uint8, [2, 2])
    condition = graph.input("condition", np.bool_, [])
    (y,) = graph.add("If", [condition], then_branch=inner.graph(), else_branch=other.graph())
    graph.output(y, np.uint8)
    return graph.model()


def test_subgraphs_count() -> None:
    octet_session(branch_model(True), {"min_coverage": "1"})
    with pytest.raises(Exception, match="0 of the model's 1 quantized nodes"):
        octet_session(branch_model(False), {"min_coverage": "1"})


@pytest.mark.parametrize("supported", [False, True])
def test_functions_count_by_their_nodes(supported: bool) -> None:
    """onnxruntime asks once before it puts a function's nodes in its place, and once after."""
    body = Graph("body")
    if supported:
        body.add("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero_point"])
    else:
        a = add_quantizer(body, "x")
        body.nodes.append(onnx.helper.make_node("Identity", [a.y], ["q"]))
        body.nodes += where_nodes("q", "y")
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    graph = Graph()
    graph.output(graph.add("Part", [graph.input("x", np.float32, [4])], ["y"], "local")[0], np.uint8)
    model = graph.model({"local": 1})
    model.functions.append(
        onnx.helper.make_function("local", "Part", ["x"], ["y"], body.nodes, opsets)
    )
    if supported:
        octet_session(model, {"min_coverage": "1"})
    else:
        with pytest.raises(Exception, match="1 of the model's 2 quantized nodes"):
            octet_session(model, {"min_coverage": "1"})


def where_nodes(x: str, y: str) -> list[onnx.NodeProto]:
    """QLinearWhere with constants as nodes: a function has no initializers."""
    constants = {
        "condition": np.array(True),
        "s": np.array(0.1, np.float32),
        "z": np.array(3, np.uint8),
    }
    nodes = [
        onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(value))
        for name, value in constants.items()
    ]
    inputs = ["condition", x, "s", "z", x, "s", "z", "s", "z"]
    nodes.append(onnx.helper.make_node("QLinearWhere", inputs, [y], domain="com.microsoft"))
    return nodes
