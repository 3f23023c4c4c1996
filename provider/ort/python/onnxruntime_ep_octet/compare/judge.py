"""The judge above both sides: what the definitions say, in double precision.

Octet's operators are computed by the scalar reference (liboctet_reference), with their inputs in the types that the
model declares; all other operators by onnx's reference evaluator. Floats between operators are doubles, so that neither
side's order of summation is taken for the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_cast import cast_to

from .. import library, schemas
from .cases import Array
from .models import Arrays, attributes_of, scopes
from .reference import Reference
from .worker import at_work


class NoVerdict(Exception):
    """The judge cannot compute the model; the text says why."""


def widened(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype in (np.float32, np.float16) else array


class Judge:
    """`calls` has inputs and outputs of Octet's operators in subgraphs, by Scope.named_nodes(), of the first time that
    the last run() came to them."""

    def __init__(self, model: onnx.ModelProto) -> None:
        at_work("the judge")
        schemas.register_onnx_schemas()
        self._reference = Reference()
        self.calls: dict[str, tuple[list[Array | None], list[Array]]] = {}
        self._opsets = {entry.domain: entry.version for entry in model.opset_import}
        try:
            inferred = onnx.shape_inference.infer_shapes(model)
            self._types = _declared_types(inferred)
            operators = {(definition["domain"], definition["name"]) for definition in library.operators()}
            used = {(node.domain, node.op_type) for scope in scopes(model.graph) for node in scope.graph.node}
            new = [self._operator(*pair) for pair in sorted(operators & used)]
            model = _in_double(model)
            named = [pair for scope in scopes(model.graph)[1:] for pair in scope.named_nodes()]
            for name, node in named:
                node.name = name
            self._in_subgraphs = {name for name, _ in named}
            self._evaluator = ReferenceEvaluator(model, new_ops=[*new, Cast])
        except Exception as error:
            raise NoVerdict(str(error)) from None

    def run(self, feeds: Arrays) -> list[Array]:
        at_work("the judge")
        self.calls.clear()
        try:
            with np.errstate(all="ignore"):
                outputs: list[Array] = self._evaluator.run(None, {name: widened(a) for name, a in feeds.items()})
            return outputs
        except Exception as error:
            raise NoVerdict(f"{type(error).__name__}: {error}") from None

    def run_node(self, node: onnx.NodeProto, inputs: list[Array | None]) -> list[Array]:
        """One of Octet's operators; floats are not widened."""
        given = [self._narrowed(name, array) for name, array in zip(node.input, inputs, strict=True)]
        attributes = attributes_of(node)
        version = self._opsets[node.domain]
        description = {
            "domain": node.domain,
            "op_type": node.op_type,
            "opset_version": version,
            "attributes": attributes,
            "inputs": [None if a is None else {"dtype": _number(a), "dims": list(a.shape)} for a in given],
            "outputs": [{"dtype": self._types.get(name, 0)} if name else None for name in node.output],
        }
        wanted = [None if o is None else (o["dtype"], tuple(o["dims"])) for o in library.infer(description)]
        outputs = self._reference.run(node.domain, node.op_type, version, attributes, given, wanted)
        if node.name in self._in_subgraphs:
            self.calls.setdefault(node.name, (given, outputs))
        return outputs

    def _narrowed(self, name: str, array: Array | None) -> Array | None:
        if array is None or array.dtype != np.float64:
            return array
        number = self._types.get(name, TensorProto.FLOAT)
        return array.astype(helper.tensor_dtype_to_np_dtype(number))

    def _operator(self, domain: str, op_type: str) -> type[OpRun]:
        judge = self

        class Operator(OpRun):  # type: ignore[misc]
            op_domain = domain

            def run(self, *inputs: Any, **_: Any) -> tuple[Array, ...]:
                """Past OpRun's own handling of attributes: the reference reads them from the node."""
                present = iter(judge.run_node(self.onnx_node, list(inputs)))
                return tuple(widened(next(present)) if name else np.zeros(0) for name in self.onnx_node.output)

            def _run(self, *_: Any, **__: Any) -> tuple[Array, ...]:
                raise NotImplementedError

        Operator.__name__ = op_type
        return Operator


class Cast(OpRun):  # type: ignore[misc]
    """Without the rounding to float32, which is neither side's fault."""

    op_domain = ""

    def run(self, x: Array, **_: Any) -> tuple[Array]:
        to = next(attribute.i for attribute in self.onnx_node.attribute if attribute.name == "to")
        return (widened(cast_to(x, to, saturate=True)),)

    def _run(self, *_: Any, **__: Any) -> tuple[Array]:
        raise NotImplementedError


def _in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its constants in double precision; Octet's operators narrow them again."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graphs = [scope.graph for scope in scopes(result.graph)]
    constants = [a.t for g in graphs for node in g.node for a in node.attribute if a.type == onnx.AttributeProto.TENSOR]
    for tensor in [*constants, *(tensor for graph in graphs for tensor in graph.initializer)]:
        array = numpy_helper.to_array(tensor)
        if widened(array) is not array:
            tensor.CopyFrom(numpy_helper.from_array(widened(array), tensor.name))
    return result


def _declared_types(model: onnx.ModelProto) -> dict[str, int]:
    types: dict[str, int] = {}
    for scope in scopes(model.graph):
        values = [*scope.graph.input, *scope.graph.value_info, *scope.graph.output]
        types |= {value.name: value.type.tensor_type.elem_type for value in values}
        types |= {tensor.name: tensor.data_type for tensor in scope.graph.initializer}
    return types


def _number(array: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))
