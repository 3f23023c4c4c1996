"""`octet explain` tells what the plugin takes together: of graphs that other tests do not have.

Those of test_patterns.py, test_byte_functions.py, test_tails.py and test_qdq.py are compared there.
"""

from pathlib import Path

import numpy as np
import onnx
import pytest

from explained import assert_explained_as_taken
from graphs import MICROSOFT, Graph, add_product, add_quantizer, random_weights
from test_byte_functions import Elementwise

F32 = np.float32


def chain(rng: np.random.Generator, products: int = 1) -> Graph:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", F32, ["rows", 16]))
    for _ in range(products):
        graph.output(add_product(graph, a, random_weights(rng, (16, 8)), rng.normal(0, 1, 8).astype(F32))[-1], F32)
    return graph


@pytest.mark.parametrize("rowwise", [False, True])
@pytest.mark.parametrize("products", [1, 3])
def test_rowwise(rng: np.random.Generator, tmp_path: Path, products: int, rowwise: bool) -> None:
    (group,) = assert_explained_as_taken(chain(rng, products).model(), tmp_path, rowwise)
    assert group.count("DynamicQuantizeMatMul") == (products if rowwise else 0)
    assert group.count("MatMulIntegerToFloat") == (0 if rowwise else products)


def test_constants_of_nodes(rng: np.random.Generator, tmp_path: Path) -> None:
    model = chain(rng).model()
    for tensor in model.graph.initializer:
        node = onnx.helper.make_node("Constant", [], [tensor.name], value=tensor)
        model.graph.node.insert(0, node)
    del model.graph.initializer[:]
    (group,) = assert_explained_as_taken(model, tmp_path)
    assert "Add" in group


@pytest.mark.parametrize(("ir_version", "is_taken"), [(3, True), (10, False)])
def test_initializers_that_are_inputs(
    rng: np.random.Generator, tmp_path: Path, ir_version: int, is_taken: bool
) -> None:
    """Since version 4 of the format only defaults: a bias may change from run to run."""
    model = chain(rng).model({"": 11})
    model.ir_version = ir_version
    for tensor in model.graph.initializer:
        shape = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        model.graph.input.append(shape)
    (group,) = assert_explained_as_taken(model, tmp_path)
    assert ("Add" in group) == is_taken


@pytest.mark.parametrize("used_in_branch", [False, True])
def test_values_that_subgraphs_use(tmp_path: Path, used_in_branch: bool) -> None:
    graph = Elementwise(np.uint8, np.random.default_rng(1))
    x = graph.input("x", np.uint8, [4])
    inner = graph.sigmoid(x)
    graph.output(graph.leaky_relu(inner), np.uint8)
    nested, branches = Graph("nested"), []
    for name in ("then", "else"):
        branch = Graph(name)
        branch.output(branch.add("Identity", [inner if used_in_branch else x])[0], np.uint8, [4])
        branches.append(branch.graph())
    (y,) = nested.add("If", [graph.constant(np.array(True), "yes")], then_branch=branches[0], else_branch=branches[1])
    nested.output(y, np.uint8, [4])
    condition = graph.input("condition", np.bool_, [])
    graph.output(graph.add("If", [condition], then_branch=nested.graph(), else_branch=branches[1])[0], np.uint8)
    told = assert_explained_as_taken(graph.model(), tmp_path)
    assert len(told) == (0 if used_in_branch else 1)


def test_nodes_in_any_order(rng: np.random.Generator, tmp_path: Path) -> None:
    """onnxruntime sorts the nodes itself."""
    model = chain(rng, 3).model()
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes[i] for i in rng.permutation(len(nodes)))
    assert len(assert_explained_as_taken(model, tmp_path)) == 1


def test_shapes_that_are_read(rng: np.random.Generator, tmp_path: Path) -> None:
    """A Shape node uses what it reads, although its result is known beforehand."""
    graph = Elementwise(np.uint8, rng)
    inner = graph.sigmoid(graph.input("x", np.uint8, [4, 5]))
    graph.output(graph.leaky_relu(inner), np.uint8)
    graph.output(graph.add("Shape", [inner])[0], np.int64)
    assert assert_explained_as_taken(graph.model(), tmp_path) == []


def test_chains_behind_unknown_operators(rng: np.random.Generator, tmp_path: Path) -> None:
    """Neither ONNX nor Octet can tell the type of what onnxruntime's own operators give; who reads it can."""
    graph = Graph()
    (gelu,) = graph.add("Gelu", [graph.input("x", F32, ["rows", 16])], domain=MICROSOFT)
    values = add_product(graph, add_quantizer(graph, gelu), random_weights(rng, (16, 8)))
    graph.output(graph.add("QuickGelu", [values[-1]], domain=MICROSOFT)[0], F32)
    (group,) = assert_explained_as_taken(graph.model(), tmp_path)
    assert "DynamicQuantizeLinear" in group


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_functions_of_bytes_behind_unknown_operators(tmp_path: Path, dtype: type) -> None:
    graph = Elementwise(dtype, np.random.default_rng(1))
    x = graph.input("x", dtype, [1, 3, 8, 8])
    pool = graph.quantized("QLinearGlobalAveragePool", x)
    graph.output(graph.sigmoid(graph.leaky_relu(graph.mul(pool, pool))), dtype)
    graph.output(graph.sigmoid(graph.add_two(graph.quantized("QLinearGlobalAveragePool", x), pool)), dtype)
    assert len(assert_explained_as_taken(graph.model(), tmp_path)) == 2
