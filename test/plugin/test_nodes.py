"""Single operators by the provider's kernels: forms that onnxruntime's own kernels get wrong or refuse included."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from graphs import MICROSOFT, Graph, add_unsupported
from octet_sessions import (
    OCTET,
    Level,
    assert_same_bits,
    cpu_session,
    octet_session,
    run_profiled,
)

Arrays = dict[str, np.ndarray]


class NodeModel:
    """A model of one node, each of its inputs either fed or constant."""

    def __init__(self, op: str, domain: str = "") -> None:
        self.graph = Graph()
        self.op, self.domain = op, domain
        self.inputs: list[str] = []
        self.feeds: Arrays = {}

    def feed(self, array: np.ndarray, shape: list[int | str | None] | None = None) -> "NodeModel":
        name = f"input{len(self.inputs)}"
        self.graph.input(name, array.dtype, [None] * array.ndim if shape is None else shape)
        self.feeds[name] = array
        self.inputs.append(name)
        return self

    def hold(self, array: np.ndarray) -> "NodeModel":
        self.inputs.append(self.graph.constant(np.asarray(array)))
        return self

    def leave_out(self) -> "NodeModel":
        self.inputs.append("")
        return self

    def give(self, *dtypes: type, **attributes: object) -> onnx.ModelProto:
        outputs = self.graph.add(self.op, self.inputs, len(dtypes), self.domain, **attributes)
        for name, dtype in zip(outputs, dtypes, strict=True):
            self.graph.output(name, dtype)
        return self.graph.model()


def full_range(rng: np.random.Generator, dtype: type, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def run_alone(model: onnx.ModelProto, feeds: Arrays, folder: Path) -> list[np.ndarray]:
    """Every node runs on Octet."""
    run = run_profiled(model, feeds, folder, entries={"session.disable_cpu_ep_fallback": "1"})
    assert {provider for provider, _ in run.nodes} == {OCTET}
    return run.outputs


F32 = np.float32


def qlinear_matmul(rng: np.random.Generator, m: int, k: int, n: int, constant: bool) -> NodeModel:
    node = NodeModel("QLinearMatMul")
    node.feed(full_range(rng, np.uint8, m, k)).hold(F32(0.02)).hold(np.uint8(113))
    add = node.hold if constant else node.feed
    add(full_range(rng, np.int8, k, n))
    add(rng.uniform(0.001, 0.01, n).astype(F32))
    add(full_range(rng, np.int8, n))
    return node.hold(F32(0.7)).hold(np.uint8(101))


@pytest.mark.parametrize("constant", [False, True])
def test_qlinear_matmul(rng: np.random.Generator, tmp_path: Path, constant: bool) -> None:
    node = qlinear_matmul(rng, 5, 70, 33, constant)
    model = node.give(np.uint8)
    outputs = run_alone(model, node.feeds, tmp_path)
    assert_same_bits(outputs, cpu_session(model).run(None, node.feeds))


def test_kernels_run_by_name(rng: np.random.Generator, tmp_path: Path) -> None:
    node = qlinear_matmul(rng, 5, 70, 33, True)
    run = run_profiled(node.give(np.uint8), node.feeds, tmp_path)
    assert run.nodes == {(OCTET, "QLinearMatMul"): 1}


def matmul_integer_to_float(
    rng: np.random.Generator, constant: bool, a: type, b: type, bias: bool
) -> NodeModel:
    node = NodeModel("MatMulIntegerToFloat", MICROSOFT)
    add = node.hold if constant else node.feed
    node.feed(full_range(rng, a, 2, 6, 40))
    add(full_range(rng, b, 40, 24))
    node.feed(np.array(0.013, F32))
    add(rng.uniform(0.001, 0.01, 24).astype(F32))
    node.feed(full_range(rng, a)) if rng.random() < 0.5 else node.leave_out()
    add(full_range(rng, b, 24))
    if bias:
        add(rng.normal(0, 1, 24).astype(F32))
    return node


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("a", "b"), [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)])
@pytest.mark.parametrize("bias", [False, True])
def test_matmul_integer_to_float(
    rng: np.random.Generator, tmp_path: Path, constant: bool, a: type, b: type, bias: bool
) -> None:
    node = matmul_integer_to_float(rng, constant, a, b, bias)
    model = node.give(F32)
    outputs = run_alone(model, node.feeds, tmp_path)
    assert_same_bits(outputs, cpu_session(model).run(None, node.feeds))


@pytest.mark.parametrize("constant", [False, True])
def test_dynamic_quantize_matmul(rng: np.random.Generator, tmp_path: Path, constant: bool) -> None:
    node = NodeModel("DynamicQuantizeMatMul", MICROSOFT)
    add = node.hold if constant else node.feed
    node.feed(rng.normal(0, 2, (7, 40)).astype(F32))
    add(full_range(rng, np.int8, 40, 24))
    add(rng.uniform(0.001, 0.01, 24).astype(F32))
    node.leave_out()
    add(rng.normal(0, 1, 24).astype(F32))
    model = node.give(F32)
    outputs = run_alone(model, node.feeds, tmp_path)
    assert_same_bits(outputs, cpu_session(model).run(None, node.feeds))


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("with_c", [False, True])
def test_qgemm(
    rng: np.random.Generator, tmp_path: Path, quantized: bool, transposed: int, with_c: bool
) -> None:
    node = NodeModel("QGemm", MICROSOFT)
    node.feed(full_range(rng, np.uint8, 5, 40)).hold(F32(0.02)).hold(np.uint8(7))
    shape = (24, 40) if transposed else (40, 24)
    node.hold(full_range(rng, np.int8, *shape)).hold(F32(0.003)).hold(np.int8(0))
    if with_c:
        node.hold(rng.integers(-1000, 1000, 24, np.int32))
    elif quantized:
        node.leave_out()
    if quantized:
        node.hold(F32(0.3)).hold(np.uint8(128))
    model = node.give(np.uint8 if quantized else F32, transB=transposed)
    outputs = run_alone(model, node.feeds, tmp_path)
    assert_same_bits(outputs, cpu_session(model).run(None, node.feeds))


def test_types_that_onnxruntime_refuses(rng: np.random.Generator, tmp_path: Path) -> None:
    """int8 activations with uint8 weights."""
    node = NodeModel("MatMulIntegerToFloat", MICROSOFT)
    a, b = full_range(rng, np.int8, 3, 30), full_range(rng, np.uint8, 30, 9)
    node.feed(a).hold(b).hold(F32(0.5)).hold(F32(0.25))
    expected = (a.astype(np.int64) @ b.astype(np.int64)).astype(F32) * F32(0.125)
    assert_same_bits(run_alone(node.give(F32), node.feeds, tmp_path), [expected])


def test_zero_points_by_row(rng: np.random.Generator, tmp_path: Path) -> None:
    """MatMulInteger allows them; onnxruntime's kernel does not."""
    a, b = full_range(rng, np.uint8, 4, 30), full_range(rng, np.int8, 30, 9)
    zero_points = full_range(rng, np.uint8, 4)
    node = NodeModel("MatMulInteger").feed(a).hold(b).hold(zero_points)
    expected = (a.astype(np.int64) - zero_points[:, None].astype(np.int64)) @ b.astype(np.int64)
    outputs = run_alone(node.give(np.int32), node.feeds, tmp_path)
    assert_same_bits(outputs, [expected.astype(np.int32)])


def no_rows(rng: np.random.Generator) -> tuple[NodeModel, onnx.ModelProto, np.ndarray]:
    node = matmul_integer_to_float(rng, True, np.uint8, np.int8, True)
    node.feeds["input0"] = np.empty((2, 0, 40), np.uint8)
    return node, node.give(F32), np.empty((2, 0, 24), F32)


def no_sum_with_bias(rng: np.random.Generator) -> tuple[NodeModel, onnx.ModelProto, np.ndarray]:
    bias = rng.normal(0, 1, 5).astype(F32)
    node = NodeModel("MatMulIntegerToFloat", MICROSOFT)
    node.feed(np.empty((3, 0), np.uint8)).hold(np.empty((0, 5), np.int8)).hold(F32(1)).hold(F32(1))
    node.leave_out().leave_out().hold(bias)
    return node, node.give(F32), np.tile(bias, (3, 1))


def no_sum_quantized(rng: np.random.Generator) -> tuple[NodeModel, onnx.ModelProto, np.ndarray]:
    node = qlinear_matmul(rng, 3, 0, 5, True)
    return node, node.give(np.uint8), np.full((3, 5), 101, np.uint8)


def no_sum_integer(_: np.random.Generator) -> tuple[NodeModel, onnx.ModelProto, np.ndarray]:
    node = NodeModel("MatMulInteger").feed(np.empty((3, 0), np.uint8)).hold(np.empty((0, 5), np.int8))
    return node, node.give(np.int32), np.zeros((3, 5), np.int32)


def nothing_to_quantize(_: np.random.Generator) -> tuple[NodeModel, onnx.ModelProto, np.ndarray]:
    node = NodeModel("QuantizeLinear").feed(np.empty((0, 4), F32)).hold(F32(1)).hold(np.uint8(3))
    return node, node.give(np.uint8), np.empty((0, 4), np.uint8)


@pytest.mark.parametrize(
    "build", [no_rows, no_sum_with_bias, no_sum_quantized, no_sum_integer, nothing_to_quantize]
)
def test_empty(rng: np.random.Generator, tmp_path: Path, build: object) -> None:
    node, model, expected = build(rng)
    assert_same_bits(run_alone(model, node.feeds, tmp_path), [expected])


def test_empty_then_full_then_empty(rng: np.random.Generator) -> None:
    node = matmul_integer_to_float(rng, True, np.uint8, np.int8, True)
    full, empty = node.feeds["input0"], np.empty((2, 0, 40), np.uint8)
    model = node.give(F32)
    session, expected = octet_session(model), cpu_session(model).run(None, node.feeds)
    for a in (empty, full, empty, full):
        (y,) = session.run(None, {**node.feeds, "input0": a})
        if a.size:
            assert_same_bits([y], expected)
        else:
            assert y.shape == (2, 0, 24)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize(
    ("opset", "per_axis"),
    [(10, False), *((opset, per_axis) for opset in (13, 19, 21, 23) for per_axis in (False, True))],
)
@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_quantize_and_dequantize(
    rng: np.random.Generator, tmp_path: Path, dtype: type, opset: int, per_axis: bool, op: str
) -> None:
    parameters = (6,) if per_axis else ()
    real = op == "QuantizeLinear"
    x = rng.normal(0, 40, (3, 6, 5)).astype(F32) if real else full_range(rng, dtype, 3, 6, 5)
    node = NodeModel(op).feed(x).hold(rng.uniform(0.1, 1, parameters).astype(F32))
    node.hold(full_range(rng, dtype, *parameters))
    model = node.give(dtype if real else F32, **({"axis": 1} if per_axis else {}))
    model.opset_import[0].version = opset
    outputs = run_alone(model, node.feeds, tmp_path)
    assert_same_bits(outputs, cpu_session(model).run(None, node.feeds))


def test_dynamic_quantize_linear(rng: np.random.Generator, tmp_path: Path) -> None:
    node = NodeModel("DynamicQuantizeLinear").feed(rng.normal(3, 9, (5, 123)).astype(F32))
    model = node.give(np.uint8, F32, np.uint8)
    outputs = run_alone(model, node.feeds, tmp_path)
    assert_same_bits(outputs, cpu_session(model).run(None, node.feeds))


def test_optional_zero_point_left_out(rng: np.random.Generator, tmp_path: Path) -> None:
    node = NodeModel("QuantizeLinear").feed(rng.normal(0, 9, (5, 6)).astype(F32)).hold(F32(0.3))
    model = node.give(np.uint8)
    outputs = run_alone(model, node.feeds, tmp_path)
    assert_same_bits(outputs, cpu_session(model).run(None, node.feeds))


def test_constant_quantizer_is_folded(rng: np.random.Generator) -> None:
    graph = Graph()
    x = graph.constant(rng.normal(0, 1, (3, 4)).astype(F32))
    (y,) = graph.add("QuantizeLinear", [x, graph.constant(F32(0.1)), graph.constant(np.uint8(3))])
    graph.output(y, np.uint8)
    model = graph.model()
    for level in (Level.ORT_DISABLE_ALL, Level.ORT_ENABLE_ALL):
        assert_same_bits(octet_session(model, level=level).run(None, {}), cpu_session(model).run(None, {}))


def test_wrong_shape_at_run_names_the_node(rng: np.random.Generator) -> None:
    node = matmul_integer_to_float(rng, True, np.uint8, np.int8, True)
    session = octet_session(node.give(F32))
    wrong = {**node.feeds, "input0": np.zeros((2, 6, 41), np.uint8)}
    with pytest.raises(Exception) as failure:
        session.run(None, wrong)
    text = str(failure.value)
    assert "INVALID_ARGUMENT" in text
    assert "MatMulIntegerToFloat 'graph_MatMulIntegerToFloat_0'" in text
    assert "'A' and 'B' have shapes [2,6,41] and [40,24]" in text
    session.run(None, node.feeds)  # goes on


def test_operators_without_a_kernel_stay(rng: np.random.Generator, tmp_path: Path) -> None:
    graph = Graph()
    graph.output(add_unsupported(graph, graph.input("x", np.uint8, [3, 4])), np.uint8)
    feeds = {"x": full_range(rng, np.uint8, 3, 4)}
    run = run_profiled(graph.model(), feeds, tmp_path)
    assert run.on_cpu() == {"QLinearWhere": 1}
    assert_same_bits(run.outputs, cpu_session(graph.model()).run(None, feeds))


def wrong_concat(absent: int) -> onnx.ModelProto:
    """Two tensors with the scale or zero point of one left out."""
    node = NodeModel("QLinearConcat", MICROSOFT).hold(F32(0.5)).hold(np.uint8(3))
    for i in range(6):
        if i == absent:
            node.leave_out()
        elif i % 3 == 0:
            node.feed(np.zeros((2, 3), np.uint8))
        else:
            node.hold(F32(0.5) if i % 3 == 1 else np.uint8(3))
    return node.give(np.uint8, axis=0)


def wrong_unary(op: str) -> onnx.ModelProto:
    """Without the last zero point, and with a scale for each column."""
    node = NodeModel(op, MICROSOFT).feed(np.zeros((2, 3), np.uint8), [2, 3]).hold(np.ones(3, F32)).hold(np.uint8(3))
    return node.hold(F32(0.5)).give(np.uint8)


def wrong_mean() -> onnx.ModelProto:
    node = NodeModel("QLinearReduceMean", MICROSOFT).feed(np.zeros((2, 0), np.uint8), [2, 0])
    node.hold(F32(1)).hold(np.uint8(0)).hold(F32(1)).hold(np.uint8(0))
    return node.give(np.uint8, axes=[1], keepdims=1)


def wrong_sum() -> onnx.ModelProto:
    node = NodeModel("ReduceSumInteger", MICROSOFT).feed(np.zeros((2, 3), np.uint8), [2, 3])
    return node.give(np.uint32, axes=[1, -1], keepdims=1)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (wrong_concat(2), r"QLinearConcat '.*': input 'inputs\[2\]' is missing"),
        (wrong_concat(4), r"QLinearConcat '.*': input 'inputs\[4\]' is missing"),
        (wrong_concat(5), "QLinearConcat '.*': input 'inputs' has 5 members, expected 3"),
        (wrong_unary("QLinearLeakyRelu"), "QLinearLeakyRelu '.*': input 'X_scale' has 3 elements, expected 1"),
        (wrong_unary("QLinearSigmoid"), "QLinearSigmoid '.*': input 'X_scale' has 3 elements, expected 1"),
        (wrong_mean(), "QLinearReduceMean '.*': .* the mean of no elements is not defined"),
        (wrong_sum(), "ReduceSumInteger '.*': attribute 'axes' names axis 1 twice"),
    ],
)
def test_wrong_nodes_that_nobody_else_refuses(model: onnx.ModelProto, text: str) -> None:
    """onnxruntime's kernel ends the process for them, or it has none."""
    with pytest.raises(Exception, match=text):
        octet_session(model)
