"""Element-wise operators on one tensor run as one table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from explained import assert_explained_as_taken
from graphs import MICROSOFT, Graph
from octet_sessions import OCTET, Run, assert_same_bits, octet_session, run_profiled

Build = Callable[["Elementwise"], list[str]]


class Elementwise(Graph):
    """A graph of element-wise operators, each with a scale and a zero point of its own."""

    def __init__(self, dtype: type, rng: np.random.Generator) -> None:
        super().__init__()
        self.dtype, self.rng = dtype, rng
        self.parameters: dict[str, tuple[str, str]] = {}

    def parameters_of(self, value: str) -> tuple[str, str]:
        if value not in self.parameters:
            limits = np.iinfo(self.dtype)
            scale = self.constant(np.float32(self.rng.uniform(0.005, 0.05)))
            zero_point = self.rng.integers(limits.min, limits.max, (), self.dtype, endpoint=True)
            self.parameters[value] = scale, self.constant(np.asarray(zero_point))
        return self.parameters[value]

    def quantized(self, op: str, *tensors: str, **attributes: float) -> str:
        name = f"y{len(self.nodes)}"
        inputs = [part for tensor in tensors for part in (tensor, *self.parameters_of(tensor))]
        inputs += self.parameters_of(name)
        return self.add(op, inputs, [name], MICROSOFT, **attributes)[0]

    def sigmoid(self, x: str) -> str:
        return self.quantized("QLinearSigmoid", x)

    def leaky_relu(self, x: str) -> str:
        return self.quantized("QLinearLeakyRelu", x, alpha=0.2)

    def mul(self, a: str, b: str) -> str:
        return self.quantized("QLinearMul", a, b)

    def add_two(self, a: str, b: str) -> str:
        return self.quantized("QLinearAdd", a, b)


def swish(graph: Elementwise) -> list[str]:
    return [graph.mul("x", graph.sigmoid("x"))]


def chain(graph: Elementwise) -> list[str]:
    return [graph.sigmoid(graph.leaky_relu(graph.leaky_relu("x")))]


def diamond(graph: Elementwise) -> list[str]:
    left, right = graph.sigmoid("x"), graph.leaky_relu("x")
    return [graph.leaky_relu(graph.add_two(graph.mul(left, right), left))]


def with_a_scalar(graph: Elementwise) -> list[str]:
    scalar = graph.constant(np.asarray(graph.dtype(100)))
    return [graph.mul(scalar, graph.sigmoid(graph.add_two("x", scalar)))]


def two(graph: Elementwise) -> list[str]:
    """Two functions of x, and one of another input."""
    return [*swish(graph), *chain(graph), graph.leaky_relu(graph.sigmoid("b"))]


def of_two_tensors(graph: Elementwise) -> list[str]:
    """What follows the sum is a table, the sum is not."""
    return [graph.sigmoid(graph.leaky_relu(graph.add_two("x", "b")))]


def used_twice(graph: Elementwise) -> list[str]:
    """The inner result is wanted too."""
    inner = graph.sigmoid("x")
    return [graph.leaky_relu(inner), inner]


def with_a_vector(graph: Elementwise) -> list[str]:
    vector = graph.constant(np.arange(5).astype(graph.dtype))
    return [graph.mul(graph.sigmoid("x"), vector)]


def with_a_scale_of_the_run(graph: Elementwise) -> list[str]:
    graph.parameters["y0"] = graph.input("scale", np.float32, []), graph.constant(np.asarray(graph.dtype(3)))
    return [graph.leaky_relu(graph.sigmoid("x"))]


def model_of(build: Build, dtype: type, shape: list, keep_all: bool) -> onnx.ModelProto:
    """With `keep_all` every result is an output, so that nothing can be fused."""
    graph = Elementwise(dtype, np.random.default_rng(7))
    for name in ("x", "b"):
        graph.input(name, dtype, shape)
    outputs = build(graph)
    inner = [node.output[0] for node in graph.nodes if keep_all]
    for name in [*outputs, *(name for name in inner if name not in outputs)]:
        graph.output(name, dtype)
    model = graph.model()
    used = {name for node in model.graph.node for name in node.input}
    for value in [value for value in model.graph.input if value.name not in used]:
        model.graph.input.remove(value)
    return model


def feeds_for(model: onnx.ModelProto, dtype: type, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """x takes every value where there is room."""
    limits, rng = np.iinfo(dtype), np.random.default_rng(1)
    every = np.arange(limits.min, limits.max + 1).astype(dtype)
    values = {
        "x": np.resize(every, shape),
        "b": rng.integers(limits.min, limits.max, shape, dtype, endpoint=True),
        "scale": np.array(0.02, np.float32),
    }
    return {value.name: values[value.name] for value in model.graph.input}


def run_both(build: Build, dtype: type, shape: tuple[int, ...], folder: Path) -> Run:
    symbolic = [f"d{i}" for i in range(len(shape))]
    model = model_of(build, dtype, symbolic, keep_all=False)
    assert_explained_as_taken(model, folder)
    feeds = feeds_for(model, dtype, shape)
    run = run_profiled(model, feeds, folder, {"min_coverage": "1"})
    one_by_one = octet_session(model_of(build, dtype, symbolic, keep_all=True)).run(None, feeds)
    assert_same_bits(run.outputs, one_by_one[: len(run.outputs)])
    return run


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize(
    ("build", "groups", "single_nodes"),
    [
        (swish, 1, 0),
        (chain, 1, 0),
        (diamond, 1, 0),
        (with_a_scalar, 1, 0),
        (two, 3, 0),
        (of_two_tensors, 1, 1),
        (used_twice, 0, 2),
        (with_a_vector, 0, 2),
        (with_a_scale_of_the_run, 0, 2),
    ],
)
def test_groups(build: Build, groups: int, single_nodes: int, dtype: type, tmp_path: Path) -> None:
    run = run_both(build, dtype, (3, 100, 5), tmp_path)
    assert run.groups == groups
    assert sum(count for op, count in run.on_octet().items() if op != "group") == single_nodes
    assert all(record["runs"] == 1 and record["backend"] for record in run.report["operators"])


@pytest.mark.parametrize("shape", [(), (1,), (0,), (255,), (2, 0, 3), (1, 3, 224, 224)])
def test_shapes(shape: tuple[int, ...], tmp_path: Path) -> None:
    run = run_both(swish, np.uint8, shape, tmp_path)
    assert run.nodes == {(OCTET, "group"): 1}


def test_trace(capfd: pytest.CaptureFixture[str]) -> None:
    octet_session(model_of(swish, np.uint8, [4], keep_all=False), {"verbose": "dispatch"})
    assert "a table for 2 operators on one tensor" in capfd.readouterr().err


@pytest.mark.parametrize("rank", [0, 1])
def test_a_scalar_with_a_constant_of_rank_1(rank: int, tmp_path: Path) -> None:
    """The sum then has rank 1: it is computed, and only what follows is a table."""

    def build(graph: Elementwise) -> list[str]:
        return [graph.sigmoid(graph.add_two("x", graph.constant(np.full([1] * rank, 5, graph.dtype))))]

    model = model_of(build, np.uint8, [], keep_all=False)
    run = run_profiled(model, {"x": np.array(9, np.uint8)}, tmp_path)
    assert run.outputs[0].shape == (1,) * rank
    assert ("table" in run.report["operators"][0]["implementation"]) == (rank == 0)
