"""Checks what examples/training has trained, in onnxruntime, and draws its loss.

    example_training FOLDER
    python scripts/training_example.py FOLDER [--svg FILE]

Lets onnxruntime answer new sequences with every FOLDER/seed<n>.onnx, on its own CPU provider and, where the plugin is
built, on Octet. --svg needs matplotlib.
"""

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent))
import side_by_side  # noqa: E402

STEPS = 40  # of examples/training/main.cc
CONSTANT_LOSS = 1 / 6  # of the answer 1
STATED_LOSS = 0.003
KEPT_LOSS = 0.005  # with activations in 8 bits too


def new_sequences(batch: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = np.zeros((STEPS, batch, 2), np.float32)
    x[:, :, 0] = random.random((STEPS, batch))
    rows = np.arange(batch)
    sums = np.zeros(batch, np.float32)
    for half in range(2):
        marked = half * STEPS // 2 + random.integers(STEPS // 2, size=batch)
        x[marked, rows, 1] = 1
        sums += x[marked, rows, 0]
    return x, sums


def losses(model: Path, providers: list[str], batch: int = 2000) -> dict[str, float]:
    """Mean squared error of each provider's answers."""
    x, sums = new_sequences(batch, seed=12345)
    result = {}
    for provider in providers:
        session = side_by_side.open_session(model, provider)
        (answers,) = session.run(["sum"], {"X": x})
        result[provider] = float(np.mean((answers.ravel() - sums) ** 2))
    return result


def check(folder: Path, providers: list[str]) -> dict[str, dict[str, float]]:
    """The losses of every seed's model; fails where one has not been kept."""
    found = {}
    for model in sorted(folder.glob("seed*.onnx")):
        onnx.checker.check_model(str(model))
        found[model.stem] = losses(model, providers)
        for provider, loss in found[model.stem].items():
            if not loss < KEPT_LOSS:
                raise AssertionError(f"{model.stem} in {provider}: {loss:.5f}, expected below {KEPT_LOSS}")
    if not found:
        raise FileNotFoundError(f"no seed*.onnx in {folder}")
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
    parser.add_argument("folder", type=Path, help="of loss.csv and seed*.onnx")
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
