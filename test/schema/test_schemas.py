"""Every field of Octet's definitions, but for the documentation, against onnxruntime's own dump of its schemas."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import onnx
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_state

OPERATORS = {
    "com.microsoft": ["QuantizeLinear", "DequantizeLinear", "ReduceSumInteger", "MulInteger", "DynamicQuantizeMatMul",
                      "MatMulIntegerToFloat", "QLinearAdd", "QLinearMul", "QLinearReduceMean", "QLinearLeakyRelu",
                      "QLinearSigmoid", "DynamicQuantizeLSTM", "QLinearConcat", "QGemm"],
    "": ["MatMulInteger", "QLinearMatMul", "DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear"],
}
Key = tuple[str, str, int]
OPTIONS = {"Single": "required", "Optional": "optional", "Variadic": "variadic"}


def port(parameter) -> dict:
    return {"name": parameter.name, "type": parameter.typeStr, "option": OPTIONS[parameter.option.name],
            "homogeneous": parameter.isHomogeneous}


def attribute(value) -> dict:
    default = onnx.AttributeProto.FromString(value._default_value) if value._default_value else None
    return {"name": value.name, "type": value.type.name, "required": value.required,
            "default": decoded(onnx.helper.get_attribute_value(default)) if default else None}


def decoded(value):
    return value.decode() if isinstance(value, bytes) else value


def onnxruntime_schema(schema) -> dict:
    return {
        "inputs": [port(parameter) for parameter in schema.inputs],
        "outputs": [port(parameter) for parameter in schema.outputs],
        "attributes": sorted((attribute(value) for value in schema.attributes.values()), key=lambda a: a["name"]),
        "type_constraints": [{"name": constraint.type_param_str, "types": list(constraint.allowed_type_strs)}
                             for constraint in schema.type_constraints],
        "least_inputs": schema.min_input,
    }


def octet_schema(op: dict) -> dict:
    def plain_port(entry: dict) -> dict:
        return {key: entry[key] for key in ("name", "type", "option")} | {"homogeneous": entry.get("homogeneous", True)}

    def float32(entry: dict) -> dict:
        default = entry["default"]
        as_stored = onnx.helper.make_attribute("a", default).f if isinstance(default, float) else default
        return {"name": entry["name"], "type": entry["type"], "required": entry["required"], "default": as_stored}

    return {
        "inputs": [plain_port(entry) for entry in op["inputs"]],
        "outputs": [plain_port(entry) for entry in op["outputs"]],
        "attributes": sorted((float32(entry) for entry in op["attributes"]), key=lambda a: a["name"]),
        "type_constraints": [{"name": c["name"], "types": c["types"]} for c in op["type_constraints"]],
        "least_inputs": least_inputs(op["inputs"]),
    }


def least_inputs(ports: list[dict]) -> int:
    """Inputs up to the last one that must be given."""
    least = 0
    for index, entry in enumerate(ports):
        if entry["option"] == "required":
            least = index + 1
        elif entry["option"] == "variadic" and entry["min_count"] > 0:
            least = index + entry["min_count"]
    return least


def of_onnxruntime() -> dict[Key, dict]:
    return {(schema.domain, schema.name, schema.since_version): onnxruntime_schema(schema)
            for schema in onnxruntime_state.get_all_operator_schema()
            if schema.name in OPERATORS.get(schema.domain, [])}


ONNXRUNTIME = of_onnxruntime()


@pytest.fixture(scope="module")
def octet(build: Path) -> dict[Key, dict]:
    text = subprocess.run([build / "octet", "ops", "--json"], check=True, capture_output=True, text=True).stdout
    return {(op["domain"], op["name"], op["since_version"]): op for op in json.loads(text)}


def test_every_operator_of_onnxruntime_is_known() -> None:
    assert {name for domain, name, _ in ONNXRUNTIME if domain} == set(OPERATORS["com.microsoft"])
    assert {name for domain, name, _ in ONNXRUNTIME if not domain} == set(OPERATORS[""])


def test_the_same_operators_and_versions(octet: dict[Key, dict]) -> None:
    covered = {key for key in octet if key[1] in OPERATORS.get(key[0], [])}
    assert covered == set(ONNXRUNTIME)


@pytest.mark.parametrize("key", sorted(ONNXRUNTIME), ids=lambda key: f"{key[0] or 'ai.onnx'}.{key[1]}-{key[2]}")
def test_fields(key: Key, octet: dict[Key, dict]) -> None:
    assert octet_schema(octet[key]) == ONNXRUNTIME[key]


def test_everything_is_documented(octet: dict[Key, dict]) -> None:
    for key, op in octet.items():
        assert op["doc"].strip(), key
        for part in ("inputs", "outputs", "attributes", "type_constraints"):
            for entry in op[part]:
                assert entry["doc"].strip(), (key, entry["name"])
