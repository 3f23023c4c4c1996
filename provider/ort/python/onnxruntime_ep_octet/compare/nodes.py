"""Single nodes with the same inputs on both sides, so that one difference is not amplified by what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .. import library
from .accuracy import standing, verdict
from .cases import Array
from .judge import Judge, NoVerdict
from .measures import Measure, absolute_errors, measure, same_form
from .models import Arrays, Batch, CannotRun, Model, attributes_of, save_test_case, scopes
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
_FROM_BEST = [EQUAL, WITHIN, KNOWN, DIFFERENT]


def qualified(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain and node.domain != "ai.onnx" else node.op_type


def compare_nodes(
    model: Model, batches: list[Batch], result: ModelResult, tolerances: Tolerances, folder: Path, with_judge: bool
) -> None:
    """Adds a NodeResult for each node that Octet has an operator for, of all batches together.

    Nodes of subgraphs get what the judge computes for them: onnxruntime gives nothing out of a subgraph.
    """
    nested = _Nested(model, with_judge)
    nodes: dict[str, NodeResult] = {}
    first: tuple[int, Model, Arrays] | None = None
    for batch in batches:
        for single, feeds in chain(_top_level(model, batch), nested.singles(batch)):
            node = compare_single(single, feeds, result.name, tolerances)
            nodes[node.name] = _together(nodes[node.name], node) if node.name in nodes else node
            place = list(nodes).index(node.name)
            if node.status == DIFFERENT and (first is None or place < first[0]):
                first = place, single, feeds
    result.nodes += nodes.values()
    for node in result.nodes:
        if node.status == DIFFERENT:
            result.fail(f"node {node} differs by up to {node.max_abs:.3g}")
    if first is not None:
        save_difference(result, folder, first[1].name, first[1].proto, first[2])
    nested.remark_on(result, nodes)


def _together(one: NodeResult, other: NodeResult) -> NodeResult:
    """Of the same node with two batches: the worse, with the elements of both."""
    worse = max(one, other, key=lambda node: (_FROM_BEST.index(node.status), node.max_abs))
    return replace(
        worse,
        max_abs=max(one.max_abs, other.max_abs),
        elements=one.elements + other.elements,
        differing=one.differing + other.differing,
        steps=dict(Counter(one.steps) + Counter(other.steps)),
    )


def save_difference(result: ModelResult, folder: Path, name: str, model: onnx.ModelProto, feeds: Arrays) -> None:
    try:
        result.saved = str(save_test_case(folder / _file_name(result.name) / _file_name(name), model, feeds))
    except OSError as error:
        result.fail(f"the first differing node cannot be saved: {error}")


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
    outputs = [value.name for value in single.proto.graph.output]
    standings = [
        standing(ours, theirs, replace(place, output=output), tolerances)
        for output, ours, theirs in zip(outputs, found, expected, strict=True)
    ]
    return max(standings, key=lambda pair: _FROM_BEST.index(pair[0]))


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


def _top_level(model: Model, batch: Batch) -> Iterator[tuple[Model, Arrays]]:
    """The nodes of the model's own graph, with what onnxruntime computes for them without fusions."""
    values = _intermediate_values(model, batch)
    scope = scopes(model.proto.graph)[0]
    for name, node in scope.named_nodes():
        if _is_supported(node) and all(port in values for port in [*node.input, *node.output] if port):
            yield _single(model, name, node, values, scope.constants)


def _intermediate_values(model: Model, batch: Batch) -> Arrays:
    """All values of the graph that Python can see."""
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
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


class _Nested:
    """The nodes of the model's subgraphs."""

    def __init__(self, model: Model, with_judge: bool) -> None:
        self._model = model
        self._nodes = {
            name: (node, scope.constants)
            for scope in scopes(model.proto.graph)[1:]
            for name, node in scope.named_nodes()
            if _is_supported(node)
        }
        self._judge: Judge | None = None
        self._reason = "no batch comes to them"
        if not with_judge:
            self._reason = "that takes the judge"
        elif self._nodes:
            try:
                self._judge = Judge(model.proto)
            except NoVerdict as reason:
                self._reason = f"not judged: {reason}"

    def singles(self, batch: Batch) -> Iterator[tuple[Model, Arrays]]:
        """Those that the batch comes to, with what they get there the first time."""
        if self._judge is None:
            return
        try:
            self._judge.run(batch.feeds)
        except NoVerdict as reason:  # after those that it has come to
            self._reason = f"not judged: {reason}"
        for name, (inputs, outputs) in self._judge.calls.items():
            node, constants = self._nodes[name]
            ports = zip([*node.input, *filter(None, node.output)], [*inputs, *outputs], strict=True)
            values = {port: np.asarray(array) for port, array in ports if array is not None}
            if all(_number(array) in _PASSABLE for array in values.values()):
                yield _single(self._model, name, node, values, constants)

    def remark_on(self, result: ModelResult, compared: Container[str]) -> None:
        left = sum(name not in compared for name in self._nodes)
        if left:
            of_all = f"{left} of {len(self._nodes)} nodes in subgraphs"
            result.remark(f"{of_all} are not compared by themselves: {self._reason}")


def _is_supported(node: onnx.NodeProto) -> bool:
    domain = "" if node.domain == "ai.onnx" else node.domain
    return any((known["domain"], known["name"]) == (domain, node.op_type) for known in library.operators())


def _single(
    model: Model, name: str, original: onnx.NodeProto, values: Arrays, constants: Mapping[str, onnx.TensorProto]
) -> tuple[Model, Arrays]:
    """A model of the node alone, and its inputs."""
    node = onnx.NodeProto()
    node.CopyFrom(original)
    node.name = name
    given = [port for port in dict.fromkeys(node.input) if port and port not in constants]
    used = [constants[port] for port in dict.fromkeys(node.input) if port in constants]
    graph = helper.make_graph(
        [node], name, [_info(port, values) for port in given], [_info(port, values) for port in node.output if port],
        used,
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=model.proto.opset_import, ir_version=model.proto.ir_version)
    return Model(name, proto), {port: values[port] for port in given}


def _number(array: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _info(name: str, values: Arrays) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, _number(values[name]), values[name].shape)


def _file_name(name: str) -> str:
    plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
    return plain.encode()[:200].decode(errors="ignore").strip("._") or "node"
