"""Checks what examples/training has trained, in onnxruntime, and draws its loss.

    example_training FOLDER
    python scripts/training_example.py FOLDER [--svg FILE]

Makes FOLDER/seed<n>.onnx of each layer, 8-bit weights and all, and lets onnxruntime answer new sequences with its own
CPU provider and, where the plugin is built, with Octet. --svg needs matplotlib.
"""

import argparse
import csv
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
import side_by_side  # noqa: E402

STEPS, HIDDEN = 40, 32  # of examples/training/main.cc
CONSTANT_LOSS = 1 / 6  # of the answer 1
STATED_LOSS = 0.003
KEPT_LOSS = 0.005  # with activations in 8 bits too


def make_model(layer: dict[str, list]) -> onnx.ModelProto:
    """The sequences [STEPS,batch,2] in, the sums [batch,1] out."""
    gates = 4 * HIDDEN
    arrays = {
        "W": np.array(layer["W"], np.int8).reshape(1, 2, gates),
        "R": np.array(layer["R"], np.int8).reshape(1, HIDDEN, gates),
        "B": np.array(layer["B"], np.float32).reshape(1, 2 * gates),
        "W_scale": np.array(layer["W_scale"], np.float32).reshape(1, gates),
        "R_scale": np.array(layer["R_scale"], np.float32).reshape(1, gates),
        "zero_point": np.zeros((1, gates), np.int8),
        "readout": np.array(layer["readout"][:HIDDEN], np.float32).reshape(HIDDEN, 1),
        "readout_bias": np.array(layer["readout"][HIDDEN:], np.float32),
        "first": np.array([0], np.int64),
    }
    lstm = helper.make_node(
        "DynamicQuantizeLSTM",
        ["X", "W", "R", "B", "", "", "", "", "W_scale", "zero_point", "R_scale", "zero_point"],
        ["", "Y_h"],
        name="adding",
        domain="com.microsoft",
        hidden_size=HIDDEN,
    )
    graph = helper.make_graph(
        [
            lstm,
            helper.make_node("Squeeze", ["Y_h", "first"], ["state"]),
            helper.make_node("Gemm", ["state", "readout", "readout_bias"], ["sum"]),
        ],
        "adding",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [STEPS, "batch", 2])],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["batch", 1])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def new_sequences(batch: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = np.zeros((STEPS, batch, 2), np.float32)
    x[:, :, 0] = random.random((STEPS, batch))
    rows = np.arange(batch)
    sums = np.zeros((batch, 1), np.float32)
    for half in range(2):
        marked = half * STEPS // 2 + random.integers(STEPS // 2, size=batch)
        x[marked, rows, 1] = 1
        sums[:, 0] += x[marked, rows, 0]
    return x, sums


def losses(model: Path, providers: list[str], batch: int = 2000) -> dict[str, float]:
    """Mean squared error of each provider's answers."""
    x, sums = new_sequences(batch, seed=12345)
    result = {}
    for provider in providers:
        session = side_by_side.open_session(model, provider)
        result[provider] = float(np.mean((session.run(None, {"X": x})[0] - sums) ** 2))
    return result


def check(folder: Path, providers: list[str]) -> dict[str, dict[str, float]]:
    """The losses of every seed's model; fails where one has not been kept."""
    found = {}
    for layer in sorted(folder.glob("seed*.json")):
        model = layer.with_suffix(".onnx")
        onnx.save(make_model(json.loads(layer.read_text())), model)
        onnx.checker.check_model(str(model))
        found[layer.stem] = losses(model, providers)
        for provider, loss in found[layer.stem].items():
            if not loss < KEPT_LOSS:
                raise AssertionError(f"{layer.stem} in {provider}: {loss:.5f}, expected below {KEPT_LOSS}")
    if not found:
        raise FileNotFoundError(f"no seed*.json in {folder}")
    return found


def draw(curve: Path, svg: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    # Text stays text; the same file for the same numbers.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "octet"})
    from matplotlib import pyplot

    points = defaultdict(list)
    with curve.open() as file:
        for row in csv.DictReader(file):
            points[row["seed"]].append((int(row["update"]), float(row["loss"])))
    figure, axes = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
    for seed, values in points.items():
        axes.plot(*zip(*values, strict=True), linewidth=1, label=f"seed {seed}")
    axes.axhline(CONSTANT_LOSS, color="gray", linestyle="--", linewidth=0.8, label="constant answer")
    axes.axhline(STATED_LOSS, color="black", linestyle=":", linewidth=0.8, label="stated loss")
    axes.set(xlabel="updates", ylabel="mean squared error", yscale="log")
    axes.set_title("The adding problem, 40 steps: an LSTM of 32 units with 8-bit weights", fontsize=9)
    axes.legend(fontsize=7)
    figure.savefig(svg, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="of loss.csv and seed*.json")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the loss curve")
    arguments = parser.parse_args()
    providers = [side_by_side.CPU]
    if side_by_side.PLUGIN.exists():
        side_by_side.register_octet()
        providers.append(side_by_side.OCTET)
    for seed, found in check(arguments.folder, providers).items():
        text = ", ".join(f"{loss:.5f} in {provider}" for provider, loss in found.items())
        print(f"{seed}: mean squared error {text}; a constant answer has {CONSTANT_LOSS:.3f}")
    if arguments.svg:
        draw(arguments.folder / "loss.csv", arguments.svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
