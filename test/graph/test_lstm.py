"""The DynamicQuantizeLSTM node and its weights, built through flat C, in onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from builder import LSTM_INPUTS, Library
from graphs import FLOAT, INT8, UINT8, feeds, lstm_inputs, session


def test_the_lstm_node_computes_what_one_made_by_hand_does(library: Library) -> None:
    parameters = dict(activations=["Tanh", "HardSigmoid", "Relu"] * 2, activation_alpha=[0.3] * 2,
                      activation_beta=[0.4] * 2, clip=3.0, direction="bidirectional", input_forget=True)
    graph = library.create()
    values = lstm_inputs(graph, 2, optional=True)
    for value, name in zip(graph.lstm(values, "layer", training=False, lda_coeff=0.25, **parameters),
                           ("Y", "Y_h", "Y_c")):
        graph.output(value, name)
    graph.verify()
    built = onnx.load_from_string(graph.serialize())
    (node,) = built.graph.node
    assert {entry.key: entry.value for entry in node.metadata_props} == {"octet.training": "0",
                                                                          "octet.lda_coeff": "0.25"}
    assert node.domain == "com.microsoft"
    by_hand = helper.make_node("DynamicQuantizeLSTM", list(LSTM_INPUTS), ["Y", "Y_h", "Y_c"], domain="com.microsoft",
                               hidden_size=3, **(parameters | {"input_forget": 1}))
    expected = onnx.ModelProto.FromString(built.SerializeToString())
    expected.graph.node[0].CopyFrom(by_hand)
    results = [session(model.SerializeToString()).run(None, feeds(2)) for model in (built, expected)]
    for found, wanted in zip(*results):
        np.testing.assert_array_equal(found, wanted)


def test_the_lstm_node_has_the_defaults_of_the_toolkit(library: Library) -> None:
    graph = library.create()
    y, y_h, y_c = graph.lstm(lstm_inputs(graph))
    graph.output(y_h)
    graph.verify()
    (node,) = onnx.load_from_string(graph.serialize()).graph.node
    assert {a.name: helper.get_attribute_value(a) for a in node.attribute} == {
        "direction": b"forward", "hidden_size": 3, "input_forget": 0}
    assert {entry.key: entry.value for entry in node.metadata_props} == {"octet.training": "1",
                                                                          "octet.lda_coeff": "1"}
    assert list(node.output) == ["", "DynamicQuantizeLSTM/Y_h"]
    assert session(graph.serialize()).run(None, {"X": feeds()["X"]})[0].shape == (1, 2, 3)
    assert graph.type_of(y) == (FLOAT, ["sequence", 1, "batch", 3])
    assert graph.type_of(y_c) == (FLOAT, [1, "batch", 3])


@pytest.mark.parametrize("dtype", [INT8, UINT8])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("per_channel", [True, False])
def test_quantized_weights_follow_the_float_lstm(dtype: int, symmetric: bool, per_channel: bool,
                                                 library: Library) -> None:
    rng = np.random.default_rng(3)
    weights = {"W": (rng.standard_normal((1, 12, 4)) * 0.3).astype(np.float32),
               "R": (rng.standard_normal((1, 12, 3)) * 0.3).astype(np.float32)}
    x = rng.standard_normal((6, 2, 4)).astype(np.float32)
    graph = library.create()
    values = {"X": graph.input("X", FLOAT, [6, 2, 4])}
    for name, weight in weights.items():
        data, scale, zero_point, largest, rms = library.quantize_lstm_weight(weight, dtype, symmetric, per_channel)
        restored = (data.astype(np.float64) - zero_point.reshape(1, 1, -1)) * scale.reshape(1, 1, -1)
        difference = restored.transpose(0, 2, 1) - weight
        assert largest == pytest.approx(np.abs(difference).max(), rel=1e-4)
        assert rms == pytest.approx(np.sqrt((difference**2).mean()), rel=1e-4)
        assert largest <= scale.max() * (0.51 if symmetric else 1.01)
        values |= {name: graph.constant(data), f"{name}_scale": graph.constant(scale),
                   f"{name}_zero_point": graph.constant(zero_point)}
    graph.output(graph.lstm(values)[0], "Y")
    node = helper.make_node("LSTM", ["X", "W", "R"], ["Y"], hidden_size=3)
    initializers = [onnx.numpy_helper.from_array(weight, name) for name, weight in weights.items()]
    reference = helper.make_model(
        helper.make_graph([node], "float", [helper.make_tensor_value_info("X", FLOAT, x.shape)],
                          [helper.make_tensor_value_info("Y", FLOAT, None)], initializers),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    if per_channel and not symmetric:
        with pytest.raises(Exception, match="zero point must be zero|point must be constant"):
            # onnxruntime's own kernel wants equal zero points, Octet's does not
            session(graph.serialize()).run(["Y"], {"X": x})
        return
    (found,), (expected,) = (session(m).run(["Y"], {"X": x}) for m in (graph.serialize(),
                                                                       reference.SerializeToString()))
    # Gates of the wrong order or place would be off by tenths.
    np.testing.assert_allclose(found, expected, atol=0.02)
