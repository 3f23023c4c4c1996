"""Dynamically quantized products: what becomes one group, and that the numbers stay those of the single operators."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from explained import assert_explained_as_taken
from graphs import Graph, Quantized, Weights, add_product, add_quantizer, random_weights
from octet_sessions import (
    OCTET,
    Level,
    Run,
    assert_same_bits,
    cpu_session,
    octet_session,
    run_compared,
)

FUSED = "MatMulIntegerToFloat"
CPU_FUSIONS = {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"}


def check(graph: Graph, feeds: dict[str, np.ndarray], folder: Path, level: Level = Level.ORT_ENABLE_ALL) -> Run:
    assert_explained_as_taken(graph.model(), folder)
    return run_compared(graph.model(), feeds, folder, level)


def activations(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(0, 3, shape).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("with_zero_point", [False, True])
@pytest.mark.parametrize("bias_shape", [None, (48,), (1, 48)])
@pytest.mark.parametrize("swapped", [False, True])
def test_chain_becomes_one_operator(
    rng: np.random.Generator,
    tmp_path: Path,
    dtype: type,
    per_column: bool,
    with_zero_point: bool,
    bias_shape: tuple[int, ...] | None,
    swapped: bool,
) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 40]))
    weights = random_weights(rng, (40, 48), dtype, per_column, with_zero_point)
    bias = None if bias_shape is None else activations(rng, *bias_shape)
    graph.output(add_product(graph, a, weights, bias, swapped)[-1], np.float32)
    run = check(graph, {"x": activations(rng, 7, 40)}, tmp_path)
    assert run.nodes == {(OCTET, "group"): 1}
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 1}


@pytest.mark.parametrize("level", [Level.ORT_DISABLE_ALL, Level.ORT_ENABLE_BASIC])
def test_every_optimization_level(rng: np.random.Generator, tmp_path: Path, level: Level) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [3, 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)))[-1], np.float32)
    run = check(graph, {"x": activations(rng, 3, 16)}, tmp_path, level)
    assert run.nodes == {(OCTET, "group"): 1}


@pytest.mark.parametrize("a_shape", [(24,), (5, 24), (2, 3, 24), (1, 1, 1, 24)])
def test_ranks_of_a(rng: np.random.Generator, tmp_path: Path, a_shape: tuple[int, ...]) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [None] * len(a_shape)))
    values = add_product(graph, a, random_weights(rng, (24, 32)), activations(rng, 32))
    graph.output(values[-1], np.float32)
    run = check(graph, {"x": activations(rng, *a_shape)}, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 1}


def test_unknown_rank_of_a(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, None))
    values = add_product(graph, a, random_weights(rng, (24, 32)), activations(rng, 32))
    graph.output(values[-1], np.float32)
    run = check(graph, {"x": activations(rng, 2, 5, 24)}, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 1}


def test_batched_weights(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [2, 5, 24]))
    graph.output(add_product(graph, a, random_weights(rng, (2, 24, 32)))[-1], np.float32)
    run = check(graph, {"x": activations(rng, 2, 5, 24)}, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 1}


def test_products_share_their_quantizer(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 64]))
    for columns in (64, 64, 192):
        weights = random_weights(rng, (64, columns), per_column=columns == 192)
        graph.output(add_product(graph, a, weights, activations(rng, columns))[-1], np.float32)
    run = check(graph, {"x": activations(rng, 9, 64)}, tmp_path)
    assert run.nodes == {(OCTET, "group"): 1}
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 3}


def test_groups_in_a_row(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    x = graph.input("x", np.float32, ["rows", 32])
    for _ in range(6):
        values = add_product(graph, add_quantizer(graph, x), random_weights(rng, (32, 32)))
        (x,) = graph.add("Relu", [values[-1]])
    graph.output(x, np.float32)
    run = check(graph, {"x": activations(rng, 4, 32)}, tmp_path)
    assert run.groups == 6
    assert run.on_cpu() == {"Relu": 6}


@pytest.mark.parametrize("value", ["y", "scale", "zero_point"])
@pytest.mark.parametrize("used_by", ["output", "node", "both"])
def test_quantizer_outputs_used_elsewhere(
    rng: np.random.Generator, tmp_path: Path, value: str, used_by: str
) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [3, 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)))[-1], np.float32)
    name = getattr(a, value)
    if used_by in ("output", "both"):
        graph.output(name, np.float32 if value == "scale" else np.uint8)
    if used_by in ("node", "both"):
        (cast,) = graph.add("Cast", [name], to=TensorProto.DOUBLE)
        graph.output(cast, np.float64)
    run = check(graph, {"x": activations(rng, 3, 16)}, tmp_path)
    assert run.groups == 1
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 1}


@pytest.mark.parametrize(
    ("index", "octet_operator"),
    [(0, "MatMulInteger"), (1, "MatMulInteger"), (2, "MatMulInteger"), (3, FUSED), (4, FUSED)],
    ids=["scale product", "sums", "cast sums", "scaled sums", "biased"],
)
@pytest.mark.parametrize("used_by", ["output", "node"])
def test_inner_values_used_elsewhere(
    rng: np.random.Generator, tmp_path: Path, index: int, octet_operator: str, used_by: str
) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [3, 16]))
    values = add_product(graph, a, random_weights(rng, (16, 8)), activations(rng, 8))
    graph.output(values[-1], np.float32)
    if used_by == "node":
        graph.output(graph.add("Neg", [values[index]])[0], np.int32 if index == 1 else np.float32)
    elif index < 4:
        graph.output(values[index], np.int32 if index == 1 else np.float32)
    run = check(graph, {"x": activations(rng, 3, 16)}, tmp_path)
    assert run.groups == 1
    assert run.operators() == {"DynamicQuantizeLinear": 1, octet_operator: 1}
    assert not CPU_FUSIONS & run.on_cpu().keys()


def test_shared_scale_product(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [3, 16]))
    (scale,) = graph.add("Mul", [a.scale, graph.constant(np.float32(0.013))])
    for _ in range(2):
        weights = graph.constant(rng.integers(-128, 128, (16, 8), np.int8))
        (acc,) = graph.add("MatMulInteger", [a.y, weights, a.zero_point])
        (real,) = graph.add("Cast", [acc], to=TensorProto.FLOAT)
        graph.output(graph.add("Mul", [real, scale])[0], np.float32)
    run = check(graph, {"x": activations(rng, 3, 16)}, tmp_path)
    assert run.nodes == {(OCTET, "group"): 1}
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 2}


@pytest.mark.parametrize("bias_shape", [(), (1,), (3, 8), (3, 1), (1, 1, 8)])
def test_bias_of_another_form_stays(
    rng: np.random.Generator, tmp_path: Path, bias_shape: tuple[int, ...]
) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [3, 16]))
    bias = activations(rng, *bias_shape)
    values = add_product(graph, a, random_weights(rng, (16, 8)), np.asarray(bias))
    graph.output(values[-1], np.float32)
    run = check(graph, {"x": activations(rng, 3, 16)}, tmp_path)
    assert run.on_cpu() == {"Add": 1}
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 1}


def test_bias_that_raises_the_rank(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [16]))
    values = add_product(graph, a, random_weights(rng, (16, 8)), activations(rng, 1, 8))
    graph.output(values[-1], np.float32)
    run = check(graph, {"x": activations(rng, 16)}, tmp_path)
    assert run.on_cpu() == {"Add": 1}


@pytest.mark.parametrize("scale_shape", [(1, 8), (3, 1), (1, 1)])
def test_scale_of_another_rank_stays(
    rng: np.random.Generator, tmp_path: Path, scale_shape: tuple[int, ...]
) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [3, 16]))
    scale = rng.uniform(0.001, 0.1, scale_shape).astype(np.float32)
    weights = Weights(rng.integers(-128, 128, (16, 8), np.int8), scale)
    graph.output(add_product(graph, a, weights)[-1], np.float32)
    run = check(graph, {"x": activations(rng, 3, 16)}, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 1, "MatMulInteger": 1}
    assert not CPU_FUSIONS & run.on_cpu().keys()


@pytest.mark.parametrize("to", [TensorProto.DOUBLE, TensorProto.FLOAT16])
def test_cast_to_another_type_stays(rng: np.random.Generator, tmp_path: Path, to: int) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [3, 16]))
    weights = graph.constant(rng.integers(-128, 128, (16, 8), np.int8))
    (acc,) = graph.add("MatMulInteger", [a.y, weights, a.zero_point])
    (real,) = graph.add("Cast", [acc], to=to)
    graph.output(real, helper.tensor_dtype_to_np_dtype(to))
    run = check(graph, {"x": activations(rng, 3, 16)}, tmp_path)
    assert run.on_cpu() == {"Cast": 1}


def test_activations_quantized_statically(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    x = graph.input("x", np.float32, ["rows", 16])
    a = Quantized("", graph.constant(np.float32(0.05)), graph.constant(np.uint8(117)))
    (a.y,) = graph.add("QuantizeLinear", [x, a.scale, a.zero_point])
    scale = graph.input("b_scale", np.float32, [8])
    values = [graph.constant(rng.integers(-128, 128, (16, 8), np.int8))]
    (acc,) = graph.add("MatMulInteger", [a.y, values[0], a.zero_point])
    (real,) = graph.add("Cast", [acc], to=TensorProto.FLOAT)
    (both,) = graph.add("Mul", [scale, a.scale])
    graph.output(graph.add("Mul", [both, real])[0], np.float32)
    feeds = {"x": activations(rng, 5, 16), "b_scale": activations(rng, 8)}
    run = check(graph, feeds, tmp_path)
    assert run.nodes == {(OCTET, "QuantizeLinear"): 1, (OCTET, "group"): 1}
    assert run.operators() == {"QuantizeLinear": 1, FUSED: 1}


def add_dynamic_product(graph: Graph, a: Quantized, b: Quantized) -> str:
    """Both operands are quantized in the graph, as in attention."""
    (acc,) = graph.add("MatMulInteger", [a.y, b.y, a.zero_point, b.zero_point])
    (real,) = graph.add("Cast", [acc], to=TensorProto.FLOAT)
    (scale,) = graph.add("Mul", [a.scale, b.scale])
    return graph.add("Mul", [real, scale])[0]


def test_both_operands_quantized_in_the_graph(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [2, 3, 16]))
    b = add_quantizer(graph, graph.input("w", np.float32, [2, 16, 8]))
    graph.output(add_dynamic_product(graph, a, b), np.float32)
    feeds = {"x": activations(rng, 2, 3, 16), "w": activations(rng, 2, 16, 8)}
    run = check(graph, feeds, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 2, FUSED: 1}


def test_groups_that_would_need_each_other(rng: np.random.Generator, tmp_path: Path) -> None:
    """Each quantizer with its product would be fed by the other group."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [8, 8]))
    b = add_quantizer(graph, graph.input("w", np.float32, [8, 8]))
    graph.output(add_dynamic_product(graph, a, b), np.float32)
    graph.output(add_dynamic_product(graph, b, a), np.float32)
    run = check(graph, {"x": activations(rng, 8, 8), "w": activations(rng, 8, 8)}, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 2, FUSED: 2}
    assert not run.on_cpu()


def test_product_of_a_value_with_itself(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [8, 8]))
    graph.output(add_dynamic_product(graph, a, a), np.float32)
    run = check(graph, {"x": activations(rng, 8, 8)}, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 1}


def test_path_that_leaves_and_returns(rng: np.random.Generator, tmp_path: Path) -> None:
    """The second product's weights come from the first one's result, by way of another provider."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [8, 8]))
    first = add_product(graph, a, random_weights(rng, (8, 8)))[-1]
    (outside,) = graph.add("Tanh", [first])
    b = add_quantizer(graph, outside)
    graph.output(add_dynamic_product(graph, a, b), np.float32)
    run = check(graph, {"x": activations(rng, 8, 8)}, tmp_path)
    assert run.operators() == {"DynamicQuantizeLinear": 2, FUSED: 2}
    assert run.on_cpu() == {"Tanh": 1}


@pytest.mark.parametrize("second_first", [False, True])
def test_product_that_is_another_products_scale(
    rng: np.random.Generator, tmp_path: Path, second_first: bool
) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [8]))
    weights = graph.constant(rng.integers(-128, 128, (8, 8), np.int8))
    sums = graph.add("MatMulInteger", [a.y, weights, a.zero_point]) if second_first else []
    first = add_product(graph, a, random_weights(rng, (8, 8)))[-1]
    sums = sums or graph.add("MatMulInteger", [a.y, weights, a.zero_point])
    (real,) = graph.add("Cast", sums, to=TensorProto.FLOAT)
    (scale,) = graph.add("Mul", [a.scale, first])
    graph.output(graph.add("Mul", [real, scale])[0], np.float32)
    run = check(graph, {"x": activations(rng, 8)}, tmp_path)
    assert run.nodes == {(OCTET, "group"): 1}
    assert run.operators() == {"DynamicQuantizeLinear": 1, FUSED: 2}


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(tmp_path: Path, seed: int) -> None:
    """Quantizers, products and float operators wired at random."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    size = 8
    reals = [graph.input("x", np.float32, [size, size])]
    quantized: list[Quantized] = []
    for _ in range(int(rng.integers(4, 25))):
        kind = rng.integers(5)
        if kind == 0 or not quantized:
            quantized.append(add_quantizer(graph, str(rng.choice(reals))))
        elif kind == 1:
            a, b = rng.integers(len(quantized), size=2)
            reals.append(add_dynamic_product(graph, quantized[a], quantized[b]))
        elif kind == 2:
            a = quantized[rng.integers(len(quantized))]
            bias = activations(rng, size) if rng.random() < 0.5 else None
            weights = random_weights(rng, (size, size), per_column=bool(rng.integers(2)))
            reals.append(add_product(graph, a, weights, bias, bool(rng.integers(2)))[-1])
        elif kind == 3:
            reals += graph.add("Tanh", [str(rng.choice(reals))])
        else:
            reals += graph.add("Add", [str(v) for v in rng.choice(reals, 2)])
    outputs = rng.choice(len(reals), size=min(3, len(reals)), replace=False)
    for value in {reals[i] for i in outputs if reals[i] != "x"} | {reals[-1]} - {"x"}:
        graph.output(value, np.float32)
    if not graph.outputs:
        graph.output(graph.add("Tanh", ["x"])[0], np.float32)
    run = check(graph, {"x": activations(rng, size, size)}, tmp_path)
    assert not (CPU_FUSIONS | {"DynamicQuantizeLinear", "MatMulInteger"}) & run.on_cpu().keys()


def test_group_follows_changing_shapes(rng: np.random.Generator) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["batch", "rows", 24]))
    weights = random_weights(rng, (24, 40), per_column=True)
    graph.output(add_product(graph, a, weights, activations(rng, 40))[-1], np.float32)
    model = graph.model()
    octet, cpu = octet_session(model), cpu_session(model)
    for _ in range(60):
        batch, rows = rng.integers(1, 20, 2)
        feeds = {"x": activations(rng, batch, rows, 24)}
        assert_same_bits(octet.run(None, feeds), cpu.run(None, feeds))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("bias_shape", [None, (48,), (1, 48)])
def test_rowwise_rows_do_not_know_each_other(
    rng: np.random.Generator, dtype: type, per_column: bool, bias_shape: tuple[int, ...] | None
) -> None:
    """With rowwise=1 a group is one DynamicQuantizeMatMul; a row alone has one range by either option."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 40]))
    weights = random_weights(rng, (40, 48), dtype, per_column)
    bias = None if bias_shape is None else activations(rng, *bias_shape)
    graph.output(add_product(graph, a, weights, bias)[-1], np.float32)
    model, x = graph.model(), activations(rng, 7, 40) * np.logspace(-2, 2, 7, dtype=np.float32)[:, None]
    rowwise = octet_session(model, {"rowwise": "1", "min_coverage": "1"})
    by_tensor = octet_session(model)
    (together,) = rowwise.run(None, {"x": x})
    assert (together != by_tensor.run(None, {"x": x})[0]).any()
    for i in range(len(x)):
        (alone,) = by_tensor.run(None, {"x": x[i : i + 1]})
        assert (together[i] == alone[0]).all()


def test_rowwise_for_several_products_of_one_quantizer(rng: np.random.Generator) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["batch", "rows", 40]))
    for i in range(3):
        values = add_product(graph, a, random_weights(rng, (40, 24)), activations(rng, 24))
        graph.output(values[-1], np.float32)
    model, x = graph.model(), activations(rng, 2, 5, 40)
    rowwise, by_tensor = octet_session(model, {"rowwise": "1"}), octet_session(model)
    together = rowwise.run(None, {"x": x})
    for i, j in np.ndindex(2, 5):
        alone = by_tensor.run(None, {"x": x[i : i + 1, j : j + 1]})
        for found, expected in zip(together, alone, strict=True):
            assert (found[i, j] == expected[0, 0]).all()


def test_rowwise_leaves_a_quantizer_that_others_use(rng: np.random.Generator) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 40]))
    graph.output(add_product(graph, a, random_weights(rng, (40, 24)))[-1], np.float32)
    graph.output(a.scale, np.float32)
    model, feeds = graph.model(), {"x": activations(rng, 7, 40)}
    found = octet_session(model, {"rowwise": "1"}).run(None, feeds)
    for y, expected in zip(found, octet_session(model).run(None, feeds), strict=True):
        assert (y == expected).all()
