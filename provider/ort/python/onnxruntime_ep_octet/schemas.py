"""Octet's operators in Python's onnx package, so that every tool built on it checks and infers them."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from . import library

if TYPE_CHECKING:
    import onnx

_OPTIONS = {"required": "Single", "optional": "Optional", "variadic": "Variadic"}
_registration = threading.Lock()


def register_onnx_schemas() -> list[str]:
    """Registers the com.microsoft operators with onnx, with type and shape inference; those that onnx knows already are
    left as they are. Returns the names of the operators that were added: none in a second call.
    """
    try:
        # Cannot be imported once two domains have an operator of one name, such as DequantizeLinear.
        import onnx.reference  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError("the package onnx is missing: pip install 'onnxruntime-ep-octet[onnx]'") from None
    with _registration:
        return [definition["name"] for definition in library.operators() if _register(definition)]


def _register(definition: dict[str, Any]) -> bool:
    import onnx.defs

    domain, name, version = definition["domain"], definition["name"], definition["since_version"]
    # ONNX's own operators are onnx's to define.
    if not domain or _is_known(domain, name, version):
        return False
    onnx.defs.register_schema(_schema(definition))
    return True


def _is_known(domain: str, name: str, version: int) -> bool:
    import onnx.defs

    if not onnx.defs.has(name, version, domain):
        return False
    newest: int = onnx.defs.get_schema(name, version, domain).since_version
    return newest == version


def _schema(definition: dict[str, Any]) -> onnx.defs.OpSchema:
    import onnx.defs

    schema = onnx.defs.OpSchema(
        definition["name"],
        definition["domain"],
        definition["since_version"],
        definition["doc"],
        inputs=[_port(port) for port in definition["inputs"]],
        outputs=[_port(port) for port in definition["outputs"]],
        type_constraints=[(c["name"], c["types"], c["doc"]) for c in definition["type_constraints"]],
        attributes=[_attribute(attribute) for attribute in definition["attributes"]],
    )
    schema.set_type_and_shape_inference_function(lambda context: _infer(schema, context))
    return schema


def _port(port: dict[str, Any]) -> onnx.defs.OpSchema.FormalParameter:
    from onnx.defs import OpSchema

    return OpSchema.FormalParameter(
        port["name"],
        port["type"],
        port["doc"],
        param_option=getattr(OpSchema.FormalParameterOption, _OPTIONS[port["option"]]),
        is_homogeneous=port.get("homogeneous", True),
        min_arity=port.get("min_count", 1),
    )


def _attribute(attribute: dict[str, Any]) -> onnx.defs.OpSchema.Attribute:
    import onnx
    from onnx.defs import OpSchema

    name, doc, default = attribute["name"], attribute["doc"], attribute["default"]
    if default is None:
        kind = getattr(OpSchema.AttrType, attribute["type"])
        return OpSchema.Attribute(name, kind, doc, required=attribute["required"])
    kind = getattr(onnx.AttributeProto, attribute["type"])
    return OpSchema.Attribute(name, onnx.helper.make_attribute(name, default, attr_type=kind), doc)


def _infer(schema: onnx.defs.OpSchema, context: Any) -> None:
    """Inference by liboctet: the same rules, and the same messages, as in the plugin and in C++."""
    from onnx.shape_inference import InferenceError

    attributes = {}
    for name in schema.attributes:
        attribute = context.get_attribute(name)
        if attribute is None:
            continue
        if attribute.ref_attr_name:  # inside a function, whose caller has yet to fill it in
            return
        attributes[name] = _attribute_value(attribute)
    inputs = [
        _port_of(context.get_input_type(i)) if context.has_input(i) else None for i in range(context.get_num_inputs())
    ]
    outputs = [
        _port_of(context.get_output_type(i)) if context.has_output(i) else None
        for i in range(context.get_num_outputs())
    ]
    node = {
        "domain": schema.domain,
        "op_type": schema.name,
        "opset_version": schema.since_version,
        "name": _node_name(context),
        "attributes": attributes,
        "inputs": inputs,
        "outputs": outputs,
    }
    try:
        results = library.infer(node)
    except library.OctetError as error:
        raise InferenceError(str(error)) from None
    for index, port in enumerate(results[: len(outputs)]):
        if port is not None:
            context.set_output_type(index, _type_of(port))


def _node_name(context: Any) -> str:
    """Out of the only text that the context has of it: "node QGemm[com.microsoft] (fc1)"."""
    match = re.search(r" \((.*)\)$", context.get_display_name())
    return match[1] if match else ""


def _attribute_value(attribute: onnx.AttributeProto) -> Any:
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (list, tuple)) or hasattr(value, "__len__"):
        return [item.decode(errors="replace") if isinstance(item, bytes) else item for item in value]
    return value


def _port_of(type_proto: onnx.TypeProto | None) -> dict[str, Any]:
    if type_proto is None or not type_proto.HasField("tensor_type"):
        return {}
    tensor = type_proto.tensor_type
    port: dict[str, Any] = {"dtype": tensor.elem_type}
    if tensor.HasField("shape"):
        port["dims"] = [_dim_of(dim) for dim in tensor.shape.dim]
    return port


def _dim_of(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return dim.dim_param if dim.HasField("dim_param") else None


def _type_of(port: dict[str, Any]) -> onnx.TypeProto:
    import onnx

    return onnx.helper.make_tensor_type_proto(port["dtype"], port.get("dims"))
