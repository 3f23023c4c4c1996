"""Single nodes with the same inputs on both sides, so that one difference is not amplified by what follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper, numpy_helper

from .. import library
from .accuracy import standing, verdict
from .cases import Array
from .judge import Judge, NoVerdict
from .measures import Measure, absolute_errors, measure, same_form
from .models import Arrays, Batch, CannotRun, Model, attributes_of, save_test_case
from .results import DIFFERENT, EQUAL, KNOWN, WITHIN, ModelResult, NodeResult
from .sessions import open_session, run, run_on_octet
from .tolerances import Place, Tolerances

# What onnxruntime's Python interface can pass.
_PASSABLE = {
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BOOL, TensorProto.STRING, TensorProto.INT8,
    TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.UINT32, TensorProto.INT64,
    TensorProto.UINT64,
}  # fmt: skip

NOT_TAKEN = "onnxruntime ran it"


def qualified(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain and node.domain != "ai.onnx" else node.op_type


def compare_nodes(model: Model, batch: Batch, result: ModelResult, tolerances: Tolerances, folder: Path | None) -> None:
    """Adds a NodeResult for each node of the graph that Octet has an operator for."""
    values = _intermediate_values(model, batch)
    for single, feeds in _singles(model, values):
        node = compare_single(single, feeds, result.name, tolerances)
        result.nodes.append(node)
        if node.status == DIFFERENT:
            if not result.saved and folder is not None:
                result.saved = str(save_test_case(folder / _file_name(node.name), single.proto, feeds))
            result.fail(f"node '{node.name}' ({node.operator}) differs by up to {node.max_abs:.3g}")


def compare_single(
    single: Model, feeds: Arrays, model_name: str, tolerances: Tolerances, ended: str = ""
) -> NodeResult:
    """A model of one of Octet's nodes, and perhaps Casts around it. `ended` tells how onnxruntime ended the process
    that was to compute it: then the definition takes onnxruntime's place."""
    node = next(node for node in single.proto.graph.node if node.name == single.name)
    attributes = {name: str(value) for name, value in attributes_of(node).items()}
    result = NodeResult(node.name, qualified(node), attributes, DIFFERENT)
    found, operators = run_on_octet(single, feeds)
    ran = [operator for operator in operators if operator["op_type"] == node.op_type]
    if ran:
        result.backend, result.implementation = ran[0]["backend"], ran[0]["implementation"]
    else:
        result.note = NOT_TAKEN
    expected, result.refusal = _expected(single, feeds, found, ended)
    for name, ours, theirs in zip([o.name for o in single.proto.graph.output], found, expected, strict=True):
        form = same_form(ours, theirs)
        if form:
            result.note = f"output '{name}' {form}"
            return result
        _add_measure(result, measure(ours, theirs))
    place = Place(model_name, result.operator, result.name)
    result.status, note = _worst(single, place, found, expected, tolerances)
    result.note = result.note or note
    if result.refusal:
        result.as_defined = result.status in (EQUAL, WITHIN)
    elif result.differing:
        _judge(single, place, feeds, found, expected, result, tolerances)
    if ended and result.as_defined:
        known = tolerances.known_difference(place)
        result.status, result.note = (KNOWN, known) if known else (DIFFERENT, "")
    return result


def _add_measure(result: NodeResult, output: Measure) -> None:
    result.elements += output.elements
    result.differing += output.differing
    result.max_abs = max(result.max_abs, output.max_abs)
    for step, count in output.steps.items():
        result.steps[step] = result.steps.get(step, 0) + count


def _expected(single: Model, feeds: Arrays, found: list[Array], ended: str) -> tuple[list[Array], str]:
    """What onnxruntime gives; or what the definition gives, and why onnxruntime gives nothing."""
    try:
        if ended:
            raise CannotRun(ended)
        return run(open_session(single, "onnxruntime", "none"), single, "onnxruntime", feeds), ""
    except CannotRun as error:
        refusal = str(error).removeprefix(f"{single.name}: ").splitlines()[0]
    try:
        truths = Judge(single.proto).run(feeds)
    except NoVerdict as reason:
        raise CannotRun(f"{refusal}; nor can it be judged: {reason}") from None
    return [truth.astype(ours.dtype) for truth, ours in zip(truths, found, strict=True)], refusal


def _worst(
    single: Model, place: Place, found: list[Array], expected: list[Array], tolerances: Tolerances
) -> tuple[str, str]:
    order = [EQUAL, WITHIN, KNOWN, DIFFERENT]
    outputs = [value.name for value in single.proto.graph.output]
    standings = [
        standing(ours, theirs, replace(place, output=output), tolerances)
        for output, ours, theirs in zip(outputs, found, expected, strict=True)
    ]
    return max(standings, key=lambda pair: order.index(pair[0]))


def _judge(
    single: Model,
    place: Place,
    feeds: Arrays,
    found: list[Array],
    expected: list[Array],
    result: NodeResult,
    tolerances: Tolerances,
) -> None:
    try:
        truths = Judge(single.proto).run(feeds)
    except NoVerdict as reason:
        result.note = result.note or f"not judged: {reason}"
        return
    differing = next(i for i in range(len(found)) if absolute_errors(found[i], expected[i]).any())
    result.verdict = verdict(truths[differing], found[differing], expected[differing])
    result.as_defined = _worst(single, place, found, truths, replace(tolerances, known=[]))[0] != DIFFERENT


def _intermediate_values(model: Model, batch: Batch) -> Arrays:
    """All values of the graph that Python can see, computed by onnxruntime without fusions."""
    proto = onnx.ModelProto()
    proto.CopyFrom(onnx.load(model.path) if model.path else model.proto)
    inferred = onnx.shape_inference.infer_shapes(proto)
    declared = {value.name: value for value in [*inferred.graph.value_info, *inferred.graph.output]}
    outputs = {value.name for value in proto.graph.output}
    for node in proto.graph.node:
        for name in node.output:
            kind = declared.get(name)
            if name and name not in outputs and kind and kind.type.tensor_type.elem_type in _PASSABLE:
                proto.graph.output.append(kind)
    session = open_session(Model(model.name, proto), "onnxruntime", "none")
    names = [value.name for value in session.get_outputs()]
    computed = dict(zip(names, run(session, model, "onnxruntime", batch.feeds), strict=True))
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    return constants | computed | batch.feeds


def _singles(model: Model, values: Arrays) -> Iterator[tuple[Model, Arrays]]:
    supported = {(definition["domain"], definition["name"]) for definition in library.operators()}
    constants = {tensor.name: tensor for tensor in model.proto.graph.initializer}
    for index, original in enumerate(model.proto.graph.node):
        domain = "" if original.domain == "ai.onnx" else original.domain
        names = [*original.input, *original.output]
        if (domain, original.op_type) not in supported or not all(name in values for name in names if name):
            continue
        node = onnx.NodeProto()
        node.CopyFrom(original)
        node.name = original.name or f"{original.op_type}_{index}"
        given = [name for name in dict.fromkeys(node.input) if name and name not in constants]
        used = [constants[name] for name in dict.fromkeys(node.input) if name in constants]
        graph = helper.make_graph(
            [node], node.name, [_info(name, values) for name in given],
            [_info(name, values) for name in node.output if name], used,
        )  # fmt: skip
        proto = helper.make_model(graph, opset_imports=model.proto.opset_import, ir_version=model.proto.ir_version)
        yield Model(node.name, proto), {name: values[name] for name in given}


def _info(name: str, values: Arrays) -> onnx.ValueInfoProto:
    array: Any = values[name]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name).strip("._") or "node"
