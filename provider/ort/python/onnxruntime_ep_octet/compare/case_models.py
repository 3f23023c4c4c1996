"""Models of one node from the cases of the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper

from .cases import DATA_TYPES, Array, Case, Port
from .models import Arrays, Model

# Types that onnxruntime's Python interface neither takes nor gives, and the wider ones to cast from and to.
CARRIERS = {"uint4": "uint8", "int4": "int8", "bfloat16": "float"}


def case_model(case: Case, inputs: list[Array | None]) -> tuple[Model, Arrays]:
    """The node, constants where the table has them, Casts where a type cannot pass through Python; and what to feed."""
    graph = _Graph(case)
    names = [graph.input(f"x{i}", *pair) for i, pair in enumerate(zip(case.inputs, inputs, strict=True))]
    outputs = [graph.output(f"y{i}", port) for i, port in enumerate(case.outputs)]
    node = helper.make_node(case.op_type, names, outputs, name=str(case), domain=case.domain)
    node.attribute.extend(_attribute(*item) for item in case.attributes.items())
    return Model(str(case), graph.model(node)), graph.feeds


class _Graph:
    def __init__(self, case: Case) -> None:
        self.feeds: Arrays = {}
        self._case = case
        self._before: list[onnx.NodeProto] = []
        self._after: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: list[onnx.TensorProto] = []

    def input(self, name: str, port: Port | None, array: Array | None) -> str:
        if port is None or array is None:
            return ""
        carrier = CARRIERS.get(port.dtype, port.dtype)
        given = array.astype(DATA_TYPES[carrier][1])
        # The plugin leaves a DequantizeLinear of a constant to onnxruntime, which folds it.
        is_folded = self._case.op_type == "DequantizeLinear" and name == "x0"
        if port.constant and carrier == port.dtype and not is_folded:
            data = np.ascontiguousarray(given).tobytes()
            self._constants.append(helper.make_tensor(name, DATA_TYPES[port.dtype][0], port.dims, data, raw=True))
            return name
        self.feeds[name] = given
        self._inputs.append(helper.make_tensor_value_info(name, DATA_TYPES[carrier][0], port.dims))
        if carrier == port.dtype:
            return name
        self._before.append(helper.make_node("Cast", [name], [f"{name}_cast"], to=DATA_TYPES[port.dtype][0]))
        return f"{name}_cast"

    def output(self, name: str, port: Port | None) -> str:
        if port is None:
            return ""
        carrier = DATA_TYPES[CARRIERS.get(port.dtype, port.dtype)][0]
        self._outputs.append(helper.make_tensor_value_info(name, carrier, port.dims))
        if port.dtype not in CARRIERS:
            return name
        self._after.append(helper.make_node("Cast", [f"{name}_cast"], [name], to=carrier))
        return f"{name}_cast"

    def model(self, node: onnx.NodeProto) -> onnx.ModelProto:
        case = self._case
        graph = helper.make_graph([*self._before, node, *self._after], "case", self._inputs, self._outputs, self._constants)
        imports = {"": 21, case.domain: case.opset_version}
        if self._before or self._after:
            imports[""] = max(imports[""], 21)  # Cast of 4-bit types
        opsets = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _attribute(name: str, value: Any) -> AttributeProto:
    if value == []:
        return helper.make_attribute(name, value, attr_type=AttributeProto.INTS)
    return helper.make_attribute(name, value)
