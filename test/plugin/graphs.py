"""Small ONNX graphs, built node by node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = {"": 21, "com.microsoft": 1}
MICROSOFT = "com.microsoft"
Shape = Sequence[int | str | None] | None


def element_type(dtype: Any) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Graph:
    """Values are known by name; constants get one when they are added."""

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def input(self, name: str, dtype: Any, shape: Shape) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, element_type(dtype), shape))
        return name

    def output(self, name: str, dtype: Any, shape: Shape = None) -> str:
        self.outputs.append(helper.make_tensor_value_info(name, element_type(dtype), shape))
        return name

    def constant(self, array: np.ndarray, name: str = "") -> str:
        name = name or f"{self.name}_constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: int | Sequence[str] = 1,
        domain: str = "",
        name: str = "",
        **attributes: Any,
    ) -> list[str]:
        name = name or f"{self.name}_{op}_{len(self.nodes)}"
        if isinstance(outputs, int):
            outputs = [f"{name}_out{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(op, inputs, outputs, name=name, domain=domain, **attributes)
        )
        return list(outputs)

    def graph(self) -> onnx.GraphProto:
        return helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, self.initializers
        )

    def model(self, opsets: dict[str, int] | None = None) -> onnx.ModelProto:
        versions = {**OPSETS, **(opsets or {})}
        return helper.make_model(
            self.graph(),
            opset_imports=[helper.make_opsetid(d, v) for d, v in versions.items()],
            ir_version=10,
        )


@dataclass
class Quantized:
    """What a DynamicQuantizeLinear gives."""

    y: str
    scale: str
    zero_point: str


def add_quantizer(graph: Graph, x: str) -> Quantized:
    return Quantized(*graph.add("DynamicQuantizeLinear", [x], 3))


@dataclass
class Weights:
    values: np.ndarray
    scale: np.ndarray
    zero_point: np.ndarray | None = None


def random_weights(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    dtype: Any = np.int8,
    per_column: bool = False,
    with_zero_point: bool = True,
) -> Weights:
    """Full-range weights."""
    info = np.iinfo(dtype)
    parameters = (shape[-1],) if per_column else ()
    zero_point = rng.integers(info.min, info.max, parameters, dtype, endpoint=True)
    return Weights(
        rng.integers(info.min, info.max, shape, dtype, endpoint=True),
        rng.uniform(0.001, 0.02, parameters).astype(np.float32),
        np.asarray(zero_point) if with_zero_point else None,
    )


def add_product(
    graph: Graph,
    a: Quantized,
    weights: Weights,
    bias: np.ndarray | None = None,
    swapped: bool = False,
) -> list[str]:
    """MatMulInteger, Cast, Mul, Mul and Add; returns all values, the last one last."""

    def order(first: str, second: str) -> list[str]:
        return [second, first] if swapped else [first, second]

    inputs = [a.y, graph.constant(weights.values), a.zero_point]
    if weights.zero_point is not None:
        inputs.append(graph.constant(weights.zero_point))
    (acc,) = graph.add("MatMulInteger", inputs)
    (real,) = graph.add("Cast", [acc], to=TensorProto.FLOAT)
    (scale,) = graph.add("Mul", order(a.scale, graph.constant(weights.scale)))
    (scaled,) = graph.add("Mul", order(real, scale))
    values = [scale, acc, real, scaled]
    if bias is not None:
        values += graph.add("Add", order(scaled, graph.constant(bias)))
    return values


def add_unsupported(graph: Graph, x: str) -> str:
    """A quantized operator that Octet does not have: QLinearWhere of a uint8 tensor with itself."""
    scale, zero_point = graph.constant(np.float32(0.1)), graph.constant(np.uint8(3))
    condition = graph.constant(np.array(True))
    inputs = [condition, x, scale, zero_point, x, scale, zero_point, scale, zero_point]
    return graph.add("QLinearWhere", inputs, domain=MICROSOFT)[0]
