"""What `octet explain` tells of nodes that the provider for onnxruntime takes together.

That it takes them so is tested with the provider (test/plugin/explained.py)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto

from graphs import MICROSOFT, Graph, add_product, add_quantizer, random_weights
from program import DONE, FAILED, Octet

F32 = np.float32


def parameters(graph: Graph) -> list[str]:
    return [graph.constant(F32(0.02)), graph.constant(np.uint8(120))]


def quantized(graph: Graph, op: str, name: str, *tensors: str) -> str:
    inputs = [part for tensor in tensors for part in (tensor, *parameters(graph))]
    return graph.add(op, [*inputs, *parameters(graph)], [f"{name}_out"], MICROSOFT, name)[0]


def chain() -> onnx.ModelProto:
    """DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Mul, Add."""
    rng, graph = np.random.default_rng(1), Graph("g")
    a = add_quantizer(graph, graph.input("x", F32, ["rows", 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)), np.zeros(8, F32))[-1], F32)
    return graph.model()


def byte_function() -> onnx.ModelProto:
    graph = Graph("g")
    x = graph.input("x", np.uint8, ["rows", 16])
    graph.output(quantized(graph, "QLinearMul", "product", x, quantized(graph, "QLinearSigmoid", "act", x)), np.uint8)
    return graph.model()


def tail() -> onnx.ModelProto:
    graph = Graph("g")
    x = graph.input("x", np.uint8, ["rows", 16])
    weights = graph.constant(np.arange(128, dtype=np.uint8).reshape(16, 8))
    inputs = [x, *parameters(graph), weights, *parameters(graph), "", *parameters(graph)]
    (y,) = graph.add("QGemm", inputs, ["y"], MICROSOFT, "fc")
    graph.output(quantized(graph, "QLinearSigmoid", "act", y), np.uint8)
    return graph.model()


def marked() -> onnx.ModelProto:
    """A unit of the QDQ format, and a QuantizeLinear for its own sake."""
    graph = Graph("g")
    x = graph.input("x", F32, ["rows", 16])
    scale, zero_point = parameters(graph)
    (q,) = graph.add("QuantizeLinear", [x, scale, zero_point], ["q"], name="mark")
    (real,) = graph.add("DequantizeLinear", [q, scale, zero_point], ["real"], name="unmark")
    graph.output(graph.add("Softmax", [real])[0], F32)
    graph.output(graph.add("QuantizeLinear", [x, scale, zero_point], ["own"], name="own")[0], np.uint8)
    return graph.model()


def nodes(*texts: str) -> list[dict[str, str]]:
    return [dict(zip(("op_type", "name"), text.split(), strict=True)) for text in texts]


CHAIN = nodes("DynamicQuantizeLinear g_DynamicQuantizeLinear_0", "Mul g_Mul_3", "MatMulInteger g_MatMulInteger_1",
              "Cast g_Cast_2", "Mul g_Mul_4", "Add g_Add_5")
TABLE = nodes("QLinearSigmoid act", "QLinearMul product")
TAIL = nodes("QGemm fc", "QLinearSigmoid act")


@pytest.mark.parametrize(
    ("make", "options", "members", "steps", "ending"),
    [
        (chain, [], CHAIN, nodes(f"DynamicQuantizeLinear {CHAIN[0]['name']}", f"MatMulIntegerToFloat {CHAIN[2]['name']}"),
         ", as DynamicQuantizeLinear 'g_DynamicQuantizeLinear_0', MatMulIntegerToFloat 'g_MatMulInteger_1'"),
        (chain, ["--rowwise"], CHAIN, nodes(f"DynamicQuantizeMatMul {CHAIN[2]['name']}"),
         ", as DynamicQuantizeMatMul 'g_MatMulInteger_1'"),
        (byte_function, [], TABLE, TABLE, ", as one table of 256 values"),
        (tail, [], TAIL, TAIL, ""),
    ],
    ids=["chain", "rowwise chain", "byte function", "tail"],
)
@pytest.mark.parametrize("dims", [[], ["--dim", "rows=3"]], ids=["any rows", "3 rows"])
def test_groups(
    octet: Octet, tmp_path: Path, make: Callable[[], onnx.ModelProto], options: list[str], members: list[dict],
    steps: list[dict], ending: str, dims: list[str],
) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(make(), path)
    result = octet.json("explain", path, *dims, *options)
    names = ", ".join(f"{node['op_type']} '{node['name']}'" for node in members)
    line = f"taken together: {names}{ending}"
    table = make is byte_function
    assert result["groups"] == [{"nodes": members, "steps": steps, "is_table": table, "description": line}]
    assert result["qdq_marks"] == []
    assert (result["summary"]["groups"], result["summary"]["nodes_in_groups"]) == (1, len(members))
    text = octet.run("explain", path, *dims, *options).splitlines()
    assert text.count(line) == 1
    assert f"  in onnxruntime: {len(members)} nodes taken together in 1 groups, 0 left as marks of the QDQ format" in text


def test_marks_of_units(octet: Octet, tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(marked(), path)
    result = octet.json("explain", path)
    lines = [f"left to onnxruntime: {op} '{name}' marks a unit of the QDQ format"
             for op, name in (("QuantizeLinear", "mark"), ("DequantizeLinear", "unmark"))]
    found = sorted(result["qdq_marks"], key=lambda mark: mark["name"])
    assert found == [{**node, "description": line} for node, line in
                     zip(nodes("QuantizeLinear mark", "DequantizeLinear unmark"), lines, strict=True)]
    assert result["groups"] == [] and result["summary"]["qdq_marks"] == 2
    text = octet.run("explain", path).splitlines()
    assert set(lines) <= set(text)
    assert "  in onnxruntime: 0 nodes taken together in 0 groups, 2 left as marks of the QDQ format" in text


def test_help_tells_of_the_optimizations_before(octet: Octet) -> None:
    text = " ".join(octet.run("explain", "--help").split())
    assert "onnxruntime's own optimizations come first" in text


# --- models that onnxruntime would refuse ---------------------------------------------------------------------------


def drop_inputs(node: NodeProto) -> None:
    del node.input[:]


def drop_last_input(node: NodeProto) -> None:
    del node.input[-1:]


def drop_outputs(node: NodeProto) -> None:
    del node.output[:]


def drop_last_output(node: NodeProto) -> None:
    del node.output[-1:]


def blank_inputs(node: NodeProto) -> None:
    node.input[:] = [""] * len(node.input)


def blank_outputs(node: NodeProto) -> None:
    node.output[:] = [""] * len(node.output)


def read_itself(node: NodeProto) -> None:
    node.input[0] = node.output[0]


def drop_attributes(node: NodeProto) -> None:
    del node.attribute[:]


def double_inputs(node: NodeProto) -> None:
    node.input.extend(list(node.input) * 20)


MUTATIONS = [drop_inputs, drop_last_input, drop_outputs, drop_last_output, blank_inputs, blank_outputs, read_itself,
             drop_attributes, double_inputs]


@pytest.mark.parametrize("opsets", [(21, 1), (9, 0)], ids=["new", "before the operators"])
@pytest.mark.parametrize("mutate", MUTATIONS)
@pytest.mark.parametrize("make", [chain, byte_function, tail, marked])
def test_wrong_nodes(
    octet: Octet, tmp_path: Path, make: Callable[[], onnx.ModelProto], mutate: Callable[[NodeProto], None],
    opsets: tuple[int, int],
) -> None:
    """Told, or refused in words, by ONNX's inference for the whole model or for its groups; but never a crash."""
    path = tmp_path / "model.onnx"
    for i in range(len(make().graph.node)):
        model = make()
        mutate(model.graph.node[i])
        for domain, version in zip(model.opset_import, opsets, strict=True):
            domain.version = version
        path.write_bytes(model.SerializeToString())
        done = subprocess.run([octet.program, "explain", path, "--json"], capture_output=True, text=True, check=False)
        if done.returncode == FAILED:
            assert "ShapeInferenceError" in done.stderr
            continue
        assert done.returncode == DONE, done.stderr
        result = json.loads(done.stdout)
        assert ("groups" in result) != ("groups_error" in result)
        if opsets == (21, 1) and mutate in (drop_inputs, drop_outputs, blank_inputs, read_itself, double_inputs):
            assert result["groups_error"]


def test_wrong_graphs(octet: Octet, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"

    def error(change: Callable[[onnx.GraphProto], object]) -> str:
        model = chain()
        change(model.graph)
        path.write_bytes(model.SerializeToString())
        text = octet.run("explain", str(path))
        reason = octet.json("explain", str(path))["groups_error"]
        assert f"groups of nodes: not explained: {reason}\n" in text
        return reason

    def make_cycle(graph: onnx.GraphProto) -> None:
        graph.node[0].input[0] = graph.node[5].output[0]

    def make_side_cycle(graph: onnx.GraphProto) -> None:
        """Whose nodes lead to no output."""
        for y, x in (("a", "b"), ("b", "a")):
            graph.node.append(onnx.helper.make_node("Relu", [x], [y]))

    def compute_twice(graph: onnx.GraphProto) -> None:
        graph.node.append(onnx.helper.make_node("Relu", ["x"], [graph.node[4].output[0]]))

    assert "cycle" in error(make_cycle)
    assert "cycle" in error(make_side_cycle)
    assert "more than one node computes 'g_Mul_4_out0'" in error(compute_twice)
    assert "no name" in error(lambda graph: graph.output.add())
    assert "no name" in error(lambda graph: graph.initializer.add())
    assert "no name" in error(lambda graph: graph.input.add())
