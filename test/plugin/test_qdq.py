"""QuantizeLinear and DequantizeLinear: what only marks a float operator as quantized stays with onnxruntime's fusions."""

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from explained import assert_explained_as_taken
from graphs import Graph
from octet_sessions import (
    CPU,
    IS_ORT_1_24,
    Level,
    assert_same_bits,
    executed_nodes,
    run_profiled,
    session_options,
)

F32 = np.float32
Arrays = dict[str, np.ndarray]


def mark(graph: Graph, x: str, scale: float = 0.05, zero_point: int = 120) -> str:
    """QuantizeLinear, DequantizeLinear."""
    parameters = [graph.constant(F32(scale)), graph.constant(np.uint8(zero_point))]
    (y,) = graph.add("QuantizeLinear", [x, *parameters])
    return graph.add("DequantizeLinear", [y, *parameters])[0]


def marked_weights(graph: Graph, rng: np.random.Generator, *shape: int) -> str:
    weights = graph.constant(rng.integers(-128, 128, shape, np.int8))
    return graph.add("DequantizeLinear", [weights, graph.constant(F32(0.01)), graph.constant(np.int8(0))])[0]


def matmul(graph: Graph, rng: np.random.Generator, x: str) -> str:
    (y,) = graph.add("MatMul", [mark(graph, x), marked_weights(graph, rng, 8, 8)])
    return mark(graph, y)


def matmul_to_float(graph: Graph, rng: np.random.Generator, x: str) -> str:
    return graph.add("MatMul", [mark(graph, x), marked_weights(graph, rng, 8, 8)])[0]


def gemm(graph: Graph, rng: np.random.Generator, x: str) -> str:
    (flat,) = graph.add("Reshape", [x, graph.constant(np.array([-1, 8], np.int64))])
    bias = graph.constant(rng.integers(-1000, 1000, 8, np.int32))
    (real_bias,) = graph.add(
        "DequantizeLinear", [bias, graph.constant(F32(0.0005)), graph.constant(np.int32(0))]
    )
    (y,) = graph.add("Gemm", [mark(graph, flat), marked_weights(graph, rng, 8, 8), real_bias])
    return mark(graph, y)


def convolution(graph: Graph, rng: np.random.Generator, x: str) -> str:
    (y,) = graph.add("Conv", [mark(graph, x), marked_weights(graph, rng, 3, 3, 1, 1)])
    return mark(graph, y)


def addition(graph: Graph, _: np.random.Generator, x: str) -> str:
    (y,) = graph.add("Add", [mark(graph, x), mark(graph, graph.add("Tanh", [x])[0], 0.01, 128)])
    return mark(graph, y)


def softmax(graph: Graph, _: np.random.Generator, x: str) -> str:
    (y,) = graph.add("Softmax", [mark(graph, x)])
    return mark(graph, y, 1 / 256, 0)


def transposed(graph: Graph, rng: np.random.Generator, x: str) -> str:
    (y,) = graph.add("Transpose", [mark(graph, x)], perm=[0, 1, 3, 2])
    return matmul(graph, rng, mark(graph, y))


def run_on_cpu(model: onnx.ModelProto, feeds: Arrays, folder: Path) -> tuple[list[np.ndarray], Counter]:
    options = session_options(None, Level.ORT_ENABLE_ALL)
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "cpu")
    session = ort.InferenceSession(model.SerializeToString(), options, providers=[CPU])
    outputs = session.run(None, feeds)
    return outputs, executed_nodes(Path(session.end_profiling()))


@pytest.mark.parametrize(
    "unit", [matmul, matmul_to_float, gemm, convolution, addition, softmax, transposed]
)
@pytest.mark.parametrize("count", [1, 3])
def test_units_stay_whole(rng: np.random.Generator, tmp_path: Path, unit: object, count: int) -> None:
    """Node for node what onnxruntime makes of the model without Octet."""
    graph = Graph()
    x = graph.input("x", F32, [1, 3, 8, 8])
    for _ in range(count):
        (x,) = graph.add("Relu", [unit(graph, rng, x)])
        (x,) = graph.add("Reshape", [x, graph.constant(np.array([1, 3, 8, 8], np.int64))])
    graph.output(x, F32)
    model, feeds = graph.model(), {"x": rng.normal(0, 2, (1, 3, 8, 8)).astype(F32)}
    expected, nodes = run_on_cpu(model, feeds, tmp_path)
    assert_explained_as_taken(model, tmp_path)
    run = run_profiled(model, feeds, tmp_path)
    assert run.nodes == nodes
    assert_same_bits(run.outputs, expected)


def test_borders_of_integer_operators_are_taken(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    scale, zero_point = graph.constant(F32(0.05)), graph.constant(np.uint8(120))
    (q,) = graph.add("QuantizeLinear", [graph.input("x", F32, [4, 8]), scale, zero_point])
    for _ in range(2):
        weights = graph.constant(rng.integers(-128, 128, (8, 8), np.int8))
        b = [weights, graph.constant(F32(0.01)), graph.constant(np.int8(0))]
        (q,) = graph.add("QLinearMatMul", [q, scale, zero_point, *b, scale, zero_point])
    (y,) = graph.add("DequantizeLinear", [q, scale, zero_point])
    graph.output(graph.add("Softmax", [y])[0], F32)
    model, feeds = graph.model(), {"x": rng.normal(0, 2, (4, 8)).astype(F32)}
    expected, _ = run_on_cpu(model, feeds, tmp_path)
    assert_explained_as_taken(model, tmp_path)
    run = run_profiled(model, feeds, tmp_path)
    # The last product and what makes floats of it are one group.
    assert run.on_octet() == {"QuantizeLinear": 1, "QLinearMatMul": 1, "group": 1}
    assert run.on_cpu() == {"Softmax": 1}
    assert_same_bits(run.outputs, expected)


def random_node(graph: Graph, rng: np.random.Generator, reals: list[str], bytes_: list[str]) -> None:
    """Appends to the values of either kind, all of [1, 3, 8, 8]."""

    def real() -> str:
        return str(rng.choice(reals))

    parameters = [graph.constant(F32(rng.choice([0.02, 0.05]))), graph.constant(np.uint8(rng.choice([0, 120])))]
    kind = rng.integers(7)
    if kind < 2:
        bytes_ += graph.add("QuantizeLinear", [real(), *parameters])
    elif kind < 4 and bytes_:
        reals += graph.add("DequantizeLinear", [str(rng.choice(bytes_)), *parameters])
    elif kind == 4:
        op = str(rng.choice(["Relu", "Sigmoid", "LeakyRelu", "Softmax", "Identity", "Transpose", "Neg"]))
        reals += graph.add(op, [real()], **({"perm": [0, 1, 3, 2]} if op == "Transpose" else {}))
    elif kind == 5:
        reals += graph.add(str(rng.choice(["Add", "Mul", "MatMul"])), [real(), real()])
    else:
        weights = marked_weights(graph, rng, *((3, 3, 1, 1) if rng.random() < 0.5 else (8, 8)))
        op = "Conv" if len(graph.initializers[-3].dims) == 4 else "MatMul"
        reals += graph.add(op, [real(), weights])


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_their_fusions(tmp_path: Path, seed: int) -> None:
    """Claiming changes nothing of what onnxruntime fuses, and nothing claimed is taken away."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    reals, bytes_ = [graph.input("x", F32, [1, 3, 8, 8])], [graph.input("q", np.uint8, [1, 3, 8, 8])]
    for _ in range(int(rng.integers(5, 40))):
        random_node(graph, rng, reals, bytes_)
    for name in {str(n) for n in rng.choice(reals + bytes_, 3)} | {reals[-1], bytes_[-1]}:
        if name not in ("x", "q"):
            graph.output(name, np.uint8 if name in bytes_ else F32)
    if not graph.outputs:
        graph.output(graph.add("Neg", ["x"])[0], F32)
    model = graph.model()
    feeds = {
        "x": rng.normal(0, 2, (1, 3, 8, 8)).astype(F32),
        "q": rng.integers(0, 256, (1, 3, 8, 8), np.uint8),
    }
    try:
        expected, nodes = run_on_cpu(model, feeds, tmp_path)
    except Exception as failure:
        if not IS_ORT_1_24:
            raise
        pytest.skip(f"onnxruntime 1.24 cannot run this graph, with or without Octet: {failure}")
    assert_explained_as_taken(model, tmp_path)
    run = run_profiled(model, feeds, tmp_path)
    assert run.report["nodes_taken"] == sum(run.on_octet().values())
    merged: Counter[str] = Counter()
    for (_, op), count in run.nodes.items():
        merged[op] += count
    assert merged == Counter({op: count for (_, op), count in nodes.items()})
    assert_same_bits(run.outputs, expected)
