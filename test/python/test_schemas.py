"""register_onnx_schemas(): Octet's operators in Python's onnx."""

import subprocess
import sys

import onnx
import onnxruntime_ep_octet as octet
import pytest
from onnx import TensorProto, helper
from onnxruntime_ep_octet import library

ADDED = octet.register_onnx_schemas()
OPTIONS = {"required": "Single", "optional": "Optional", "variadic": "Variadic"}
DEFINITIONS = [definition for definition in library.operators() if definition["domain"]]


def qgemm(*, b_zero_points: int = 32, **attributes: float) -> onnx.ModelProto:
    names = ["A", "a_scale", "a_zero_point", "B", "b_scale", "b_zero_point"]
    types = [
        TensorProto.UINT8,
        TensorProto.FLOAT,
        TensorProto.UINT8,
        TensorProto.INT8,
        TensorProto.FLOAT,
        TensorProto.INT8,
    ]
    shapes = [["batch", 64], [], [], [32, 64], [32], [b_zero_points]]
    node = helper.make_node("QGemm", names, ["Y"], name="fc1", domain="com.microsoft", transB=1, **attributes)
    inputs = [helper.make_tensor_value_info(*port) for port in zip(names, types, shapes, strict=True)]
    graph = helper.make_graph(
        [node], "graph", inputs, [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, None])]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_registers_each_operator_once() -> None:
    assert set(ADDED) == {definition["name"] for definition in DEFINITIONS}
    assert octet.register_onnx_schemas() == []


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition["name"])
def test_schema_says_what_the_definition_says(definition: dict) -> None:
    schema = onnx.defs.get_schema(definition["name"], definition["since_version"], definition["domain"])
    assert schema.doc == definition["doc"]
    assert schema.has_type_and_shape_inference_function
    for ports, defined in ((schema.inputs, definition["inputs"]), (schema.outputs, definition["outputs"])):
        assert [(p.name, p.type_str, p.description) for p in ports] == [
            (d["name"], d["type"], d["doc"]) for d in defined
        ]
        assert [p.option.name for p in ports] == [OPTIONS[d["option"]] for d in defined]
    assert set(schema.attributes) == {attribute["name"] for attribute in definition["attributes"]}
    for attribute in definition["attributes"]:
        known = schema.attributes[attribute["name"]]
        assert (known.type.name, known.required) == (attribute["type"], attribute["required"])
        if attribute["default"] is not None:
            default = helper.get_attribute_value(known.default_value)
            default = default.decode() if isinstance(default, bytes) else default
            assert default == pytest.approx(attribute["default"])
    constraints = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    assert constraints == {c["name"]: set(c["types"]) for c in definition["type_constraints"]}


def test_models_pass_the_checker_and_are_inferred() -> None:
    model = qgemm(alpha=0.5)
    onnx.checker.check_model(model)
    inferred = (
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True).graph.output[0].type.tensor_type
    )
    assert inferred.elem_type == TensorProto.FLOAT
    assert [dim.dim_param or dim.dim_value for dim in inferred.shape.dim] == ["batch", 32]


def test_the_checker_refuses_wrong_nodes() -> None:
    model = qgemm()
    model.graph.node[0].attribute.append(helper.make_attribute("beta", 1.0))
    with pytest.raises(onnx.checker.ValidationError, match="beta"):
        onnx.checker.check_model(model)


def test_inference_tells_what_is_wrong_in_octets_words() -> None:
    with pytest.raises(onnx.shape_inference.InferenceError, match="QGemm 'fc1'.*b_zero_point.*3.*32"):
        onnx.shape_inference.infer_shapes(qgemm(b_zero_points=3), strict_mode=True)


def test_the_reference_evaluator_can_be_imported_afterwards() -> None:
    code = """
import onnxruntime_ep_octet as octet
assert "DequantizeLinear" in octet.register_onnx_schemas()
import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator
model = parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }')
assert list(ReferenceEvaluator(model).run(None, {"x": np.float32([1, -2])})[0]) == [-1, 2]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_operators_that_onnx_knows_already_stay() -> None:
    code = """
import onnx, onnxruntime_ep_octet as octet
mine = onnx.defs.OpSchema("QGemm", "com.microsoft", 1, "mine")
onnx.defs.register_schema(mine)
assert "QGemm" not in octet.register_onnx_schemas()
assert onnx.defs.get_schema("QGemm", 1, "com.microsoft").doc == "mine"
assert onnx.defs.has("MulInteger", "com.microsoft")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
