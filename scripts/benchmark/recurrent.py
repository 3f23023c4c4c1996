"""DynamicQuantizeLSTM, and training through it: cases and their models."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from onnx import helper

from .graph import DOMAIN, NODES, SHORT, Model, random_integers

STEPS, BATCHES = (1, 10, 25, 100), (1, 8, 32)
INPUTS, HIDDEN = (40, 128, 512), (64, 128, 256, 512, 768)
TRAINING_STEPS, TRAINING_BATCHES = (1, 10, 50), (1, 2, 8, 32)
TRAINING_SIZES = ((2, 16), (40, 200), (64, 64), (128, 128), (256, 256), (512, 512))
MANY_MULTIPLICATIONS = 2e7  # of a node; from there on a session's own cost does not count
LARGE_NODES = 2


@dataclass(frozen=True)
class Recurrent:
    """A DynamicQuantizeLSTM with one scale for each direction."""

    weights: str
    directions: int
    steps: int
    batch: int
    inputs: int
    hidden: int
    threads: int = 1
    operator: str = "DynamicQuantizeLSTM"

    @property
    def variant(self) -> str:
        ways = "bidirectional" if self.directions == 2 else "forward"
        return f"{SHORT[self.weights]}, {ways}, hidden {self.hidden}"

    @property
    def shape(self) -> str:
        return f"{self.steps}x{self.batch}x{self.inputs}"

    @property
    def name(self) -> str:
        ways = "bi" if self.directions == 2 else "uni"
        return (
            f"{self.operator} {SHORT[self.weights]} {ways} hidden {self.hidden} {self.shape}"
            f" t{self.threads}"
        )

    def native_line(self, copies: int) -> str:
        return f"lstm {self.steps} {self.batch} {self.inputs} {self.hidden}"

    @property
    def nodes(self) -> int:
        columns = 4 * self.hidden * self.directions
        rows = self.steps * self.batch * (self.inputs + self.hidden)
        return LARGE_NODES if rows * columns > MANY_MULTIPLICATIONS else NODES


def recurrents() -> Iterator[Recurrent]:
    for weights in ("int8", "uint8"):
        for directions in (1, 2):
            for hidden in HIDDEN:
                for steps in STEPS:
                    for batch in BATCHES:
                        for inputs in INPUTS:
                            yield Recurrent(weights, directions, steps, batch, inputs, hidden)


@dataclass(frozen=True)
class Training:
    """octet::training::Lstm, one direction, against the same written with Eigen."""

    part: str  # "forward", or "step": forward and backward
    steps: int
    batch: int
    inputs: int
    hidden: int
    threads: int = 1
    operator: str = "LSTM training"

    @property
    def variant(self) -> str:
        return "forward pass" if self.part == "forward" else "forward and backward pass"

    @property
    def shape(self) -> str:
        return f"{self.steps}x{self.batch}x{self.inputs}, hidden {self.hidden}"

    @property
    def name(self) -> str:
        shape = f"{self.steps}x{self.batch}x{self.inputs}"
        return f"{self.operator} {self.part} hidden {self.hidden} {shape} t{self.threads}"

    def native_line(self, copies: int) -> str:
        return (
            f"lstm_training {self.part} {self.steps} {self.batch} {self.inputs} {self.hidden}"
        )


def trainings() -> Iterator[Training]:
    for part in ("forward", "step"):
        for inputs, hidden in TRAINING_SIZES:
            for steps in TRAINING_STEPS:
                for batch in TRAINING_BATCHES:
                    yield Training(part, steps, batch, inputs, hidden)


def recurrent_model(case: Recurrent) -> bytes:
    """Nodes side by side with the same weights; they differ in a bias."""
    model = Model()
    directions, columns = case.directions, 4 * case.hidden
    x = model.input("X", "float", [case.steps, case.batch, case.inputs])
    parameters = []
    for name, rows in (("W", case.inputs), ("R", case.hidden)):
        model.constant(name, random_integers(case.weights, (directions, rows, columns), rows))
        scale = np.full(directions, 0.6 / 127 / np.sqrt(case.hidden), np.float32)
        model.constant(f"{name}_scale", scale)
        middle = 128 if case.weights == "uint8" else 0
        model.constant(f"{name}_zero_point", np.full(directions, middle, case.weights))
        parameters += [f"{name}_scale", f"{name}_zero_point"]
    bias = np.random.default_rng(1).uniform(-0.1, 0.1, (directions, 2 * columns))
    for i in range(case.nodes):
        b = model.constant(f"B{i}", (bias + i / 1000).astype(np.float32))
        shape = [case.steps, directions, case.batch, case.hidden]
        y = model.output(f"Y{i}", "float", shape)
        model.nodes.append(
            helper.make_node(
                case.operator,
                [x, "W", "R", b, "", "", "", "", *parameters],
                [y],
                f"node{i}",
                domain=DOMAIN,
                hidden_size=case.hidden,
                direction="bidirectional" if directions == 2 else "forward",
            )
        )
    return model.serialized()


def arrays(case: Recurrent) -> dict[str, np.ndarray]:
    shape = (case.steps, case.batch, case.inputs)
    return {"X": np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)}
