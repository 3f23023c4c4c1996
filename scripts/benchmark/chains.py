"""ONNX models of many equal nodes, so that what a session run costs does not count.

The nodes stand side by side rather than one behind the other: they read the same A, and the caller
binds all their outputs to one buffer. Each so finds its operands in the caches and leaves its
result there, as in a chain where onnxruntime reuses buffers; but any operator and any K x N can be
measured alone, while in a real chain an int32 result had to be converted before it is an A again.

No two nodes are alike, or onnxruntime would compute one for all: they differ in the value of a zero
point or in a bias, which costs the same whatever it is. The number of rows is symbolic, so that one
session measures every M.
"""

import numpy as np
from onnx import TensorProto, helper

from .cases import PATTERN, Product, Quantize
from .graph import DOMAIN, NODES, Model, random_integers

ONNX_OPERATORS = {"MatMulInteger", "QLinearMatMul"}


def number_of_units(copies: int) -> int:
    """Each copy of the weights is read once a run."""
    return max(NODES, copies)


def nodes_of_unit(case: Product | Quantize) -> int:
    return 6 if case.operator == PATTERN else 1


def product_model(case: Product, copies: int) -> bytes:
    """`copies` different weights, each an initializer, or an input where they come with the run."""
    model = Model()
    if case.operator != PATTERN:
        model.input("A", case.a, ["M", case.k])
    for copy in range(copies):
        name, shape = f"B{copy}", (case.k, case.n)
        if case.weights == "runtime":
            model.input(name, case.b, list(shape))
        else:
            model.constant(name, random_integers(case.b, shape, copy))
    for i in range(number_of_units(copies)):
        y = model.output(f"Y{i}", case.y, ["M", case.n])
        if case.operator == PATTERN:
            add_pattern(model, case, f"B{i % copies}", i, y)
            continue
        inputs = product_inputs(model, case, "A", f"B{i % copies}", i)
        domain = "" if case.operator in ONNX_OPERATORS else DOMAIN
        model.nodes.append(helper.make_node(case.operator, inputs, [y], f"node{i}", domain=domain))
    return model.serialized()


def add_pattern(model: Model, case: Product, b: str, i: int, y: str) -> None:
    """Quantize A, multiply, and bring the sums back to float; with an A of its own, or the units
    would share one quantizer."""
    a = model.input(f"A{i}", "float", ["M", case.k])
    _, _, b_scale, b_zero_point, bias = product_inputs(model, case, a, b, i)

    def node(op_type: str, inputs: list[str], outputs: list[str], **attributes: object) -> None:
        name = f"{op_type}_{outputs[0]}"
        model.nodes.append(helper.make_node(op_type, inputs, outputs, name, **attributes))

    quantized = [f"quantized{i}", f"scale{i}", f"zero_point{i}"]
    node("DynamicQuantizeLinear", [a], quantized)
    node("MatMulInteger", [quantized[0], b, quantized[2], b_zero_point], [f"sums{i}"])
    node("Cast", [f"sums{i}"], [f"real{i}"], to=TensorProto.FLOAT)
    node("Mul", [quantized[1], b_scale], [f"scales{i}"])
    node("Mul", [f"real{i}", f"scales{i}"], [f"scaled{i}"])
    node("Add", [f"scaled{i}", bias], [y])


def product_inputs(model: Model, case: Product, a: str, b: str, i: int) -> list[str]:
    """s8 weights are symmetric with a scale for each column, u8 weights have one scale and a zero
    point, as quantizers make them."""
    asymmetric = case.b == "uint8"
    generator = np.random.default_rng(1)
    columns = () if asymmetric else (case.n,)
    a_scale = model.constant("a_scale", np.float32(0.021))
    scales = generator.uniform(0.008, 0.012, columns).astype(np.float32)
    b_scale = model.constant("b_scale", scales)
    zero = np.full(columns, 130 if asymmetric else 0, case.b)
    b_zero_point = model.constant("b_zero_point", zero)
    optional_b_zero_point = b_zero_point if asymmetric else ""
    bias = generator.uniform(-1, 1, case.n).astype(np.float32)
    if case.operator in ("DynamicQuantizeMatMul", PATTERN):
        own_bias = model.constant(f"bias{i}", bias + np.float32(i))
        return [a, b, b_scale, optional_b_zero_point, own_bias]
    first = -20 if case.a == "int8" else 100
    zero_point = np.array(first + i % NODES, case.a)
    a_zero_point = model.constant(f"a_zero_point{i % NODES}", zero_point)
    if case.operator == "MatMulInteger":
        return [a, b, a_zero_point, optional_b_zero_point]
    if case.operator == "MatMulIntegerToFloat":
        shared_bias = model.constant("bias", bias)
        return [a, b, a_scale, b_scale, a_zero_point, optional_b_zero_point, shared_bias]
    quantized = [a, a_scale, a_zero_point, b, b_scale, b_zero_point]
    y_scale = model.constant("y_scale", np.float32(0.0126 * np.sqrt(case.k)))
    if case.operator == "QLinearMatMul":
        return [*quantized, y_scale, model.constant("y_zero_point", np.array(3, case.y))]
    c = model.constant("C", (bias * 1e4).astype(np.int32))
    if case.y == "float":
        return [*quantized, c]
    return [*quantized, c, y_scale, model.constant("y_zero_point", np.array(3, case.y))]


def quantize_model(case: Quantize) -> bytes:
    model = Model()
    shape = ["M", case.columns]
    quantizes = case.operator != "DequantizeLinear"
    x_type, y_type = ("float", case.integer) if quantizes else (case.integer, "float")
    if case.operator == "DynamicQuantizeLinear":
        for i in range(NODES):  # nothing but x to tell the nodes by
            x, y = model.input(f"X{i}", "float", shape), model.output(f"Y{i}", "uint8", shape)
            outputs = [y, f"scale{i}", f"zero_point{i}"]
            model.nodes.append(helper.make_node(case.operator, [x], outputs, f"node{i}"))
        return model.serialized()
    parameters = (case.columns,) if case.granularity == "axis" else ()
    generator = np.random.default_rng(1)
    x = model.input("X", x_type, shape)
    scales = generator.uniform(0.008, 0.012, parameters).astype(np.float32)
    scale = model.constant("scale", scales)
    for i in range(NODES):
        zero_point = np.full(parameters, i, case.integer)
        inputs = [x, scale, model.constant(f"zero_point{i}", zero_point)]
        y = model.output(f"Y{i}", y_type, shape)
        model.nodes.append(helper.make_node(case.operator, inputs, [y], f"node{i}", axis=1))
    return model.serialized()


def floor_model() -> bytes:
    """Nodes that compute next to nothing: what is left is what the executor takes for a node."""
    model = Model()
    x = model.input("X", "float", ["M"])
    for i in range(NODES):
        inputs = [x, model.constant(f"c{i}", np.float32(i))]
        model.nodes.append(
            helper.make_node("Add", inputs, [model.output(f"Y{i}", "float", ["M"])], f"node{i}")
        )
    return model.serialized()
