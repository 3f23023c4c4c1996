"""The case tables of all operators, each case a model of one node on Octet, against the scalar reference."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from octet_cases import DATA_TYPES, Case, Port, load_table, make_inputs, table_files
from octet_reference import Reference
from onnx import AttributeProto, helper

from octet_sessions import Level, octet_session

PER_GROUP = 40  # cases of a group of the table, evenly drawn; fixed ones come all
ALL_ON_OCTET = {"min_coverage": "1"}
# What onnxruntime says where its own schema, not Octet, refuses a node.
REFUSED_BY_SCHEMA = re.compile(r"ShapeInferenceError|TypeInferenceError|Type Error|INVALID_GRAPH|ValidateOpset")
# Types that onnxruntime's Python interface neither takes nor gives, and the wider ones to cast from and to.
CARRIERS = {"uint4": "uint8", "int4": "int8", "bfloat16": "float"}


def number(dtype: str) -> int:
    return DATA_TYPES[dtype][0]


def attribute(name: str, value: Any) -> AttributeProto:
    if value == []:
        return helper.make_attribute(name, value, attr_type=AttributeProto.INTS)
    return helper.make_attribute(name, value)


class CaseModel:
    """One node, Casts where a type cannot pass through Python. What the table calls constant is so."""

    def __init__(self, case: Case, inputs: list[np.ndarray | None]) -> None:
        self.case = case
        self.feeds: dict[str, np.ndarray] = {}
        self.casts_in: list[onnx.NodeProto] = []
        self.casts_out: list[onnx.NodeProto] = []
        self.infos: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        names = [self.add_input(f"x{i}", *pair) for i, pair in enumerate(zip(case.inputs, inputs, strict=True))]
        results = [self.add_output(f"y{i}", port) for i, port in enumerate(case.outputs)]
        self.node = helper.make_node(case.op_type, names, results, name="node", domain=case.domain)
        self.node.attribute.extend(attribute(*item) for item in case.attributes.items())

    def add_input(self, name: str, port: Port | None, array: np.ndarray | None) -> str:
        if port is None or array is None:
            return ""
        carrier = CARRIERS.get(port.dtype, port.dtype)
        array = array.astype(DATA_TYPES[carrier][1])
        # The plugin leaves a DequantizeLinear of a constant to onnxruntime.
        is_dequantized = self.case.op_type == "DequantizeLinear" and name == "x0"
        if port.constant and carrier == port.dtype and not is_dequantized:
            data = np.ascontiguousarray(array).tobytes()
            self.constants.append(helper.make_tensor(name, number(port.dtype), port.dims, data, raw=True))
            return name
        self.feeds[name] = array
        self.infos.append(helper.make_tensor_value_info(name, number(carrier), port.dims))
        if carrier == port.dtype:
            return name
        self.casts_in.append(helper.make_node("Cast", [name], [f"{name}_cast"], to=number(port.dtype)))
        return f"{name}_cast"

    def add_output(self, name: str, port: Port | None) -> str:
        if port is None:
            return ""
        carrier = CARRIERS.get(port.dtype, port.dtype)
        self.outputs.append(helper.make_tensor_value_info(name, number(carrier), port.dims))
        if carrier == port.dtype:
            return name
        self.casts_out.append(helper.make_node("Cast", [f"{name}_cast"], [name], to=number(carrier)))
        return f"{name}_cast"

    def model(self) -> onnx.ModelProto:
        nodes = [*self.casts_in, self.node, *self.casts_out]
        graph = helper.make_graph(nodes, "case", self.infos, self.outputs, self.constants)
        imports = {"": 21, self.case.domain: self.case.opset_version}
        if nodes != [self.node]:
            imports[""] = max(imports[""], 21)  # Cast of 4-bit types
        opsets = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@dataclass
class Tally:
    equal: int = 0
    refused: list[str] = field(default_factory=list)  # by onnxruntime's schema
    failed: list[str] = field(default_factory=list)


def same(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bits; any NaN for a NaN."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    bits = f"u{actual.dtype.itemsize}"
    equal = np.ascontiguousarray(actual).view(bits) == np.ascontiguousarray(expected).view(bits)
    if actual.dtype.kind == "f":
        equal |= np.isnan(actual) & np.isnan(expected)
    return bool(equal.all())


def run_case(case: Case, reference: Reference, tally: Tally) -> None:
    inputs = make_inputs(case)
    model = CaseModel(case, inputs)
    try:
        session = octet_session(model.model(), ALL_ON_OCTET, Level.ORT_DISABLE_ALL)  # nothing is folded
        outputs = session.run(None, model.feeds)
    except Exception as failure:
        text = f"{case}: {failure}"
        (tally.refused if REFUSED_BY_SCHEMA.search(text) else tally.failed).append(text)
        return
    ports = [port for port in case.outputs if port is not None]
    wanted = [None if port is None else (number(port.dtype), port.dims) for port in case.outputs]
    expected = reference.run(
        case.domain, case.op_type, case.opset_version, case.attributes, inputs, wanted
    )
    for port, a, e in zip(ports, outputs, expected, strict=True):
        if not same(a, e.astype(DATA_TYPES[CARRIERS.get(port.dtype, port.dtype)][1])):
            tally.failed.append(f"{case}: differs from the reference")
            return
    tally.equal += 1


def selected(path: Path) -> list[Case]:
    groups: dict[str, list[Case]] = {}
    for case in load_table(path):
        groups.setdefault(case.group, []).append(case)
    drawn = []
    for group in groups.values():
        drawn += group[:: 1 if group[0].fixed else max(1, len(group) // PER_GROUP)]
    return drawn


@pytest.fixture(scope="session")
def reference() -> Reference:
    return Reference()


@pytest.mark.parametrize("path", table_files(), ids=lambda path: path.stem)
def test_table(reference: Reference, path: Path) -> None:
    tally = Tally()
    for case in selected(path):
        run_case(case, reference, tally)
    print(f"{path.stem}: {tally.equal} equal, {len(tally.refused)} refused by onnxruntime {ort.__version__}")
    for text in tally.refused + tally.failed:
        print(text)
    assert not tally.failed
    assert tally.equal > len(tally.refused)
