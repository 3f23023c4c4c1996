"""The text recognizers of ddddocr: convolutions, a bidirectional LSTM, and a class for each character.

    .deps/venv/bin/python -m scripts.models.ddddocr --recipe qop_dynlstm

prints the path of the model. Input: input1, float [1, 1, 64, width], a grey picture from -1 (black)
to 1 (white). Output: float [width / 8, 1, classes]; class 0 is the gap between characters.
"""

import argparse
import ast
import tempfile
from pathlib import Path

import numpy as np
from onnxruntime import quantization
from onnxruntime.quantization import QuantType

from . import cache, recipes

VERSION = "1.6.1"
SHA256 = "c7c70f4ae2d0335440ae8b272eea48c9f6888ecef46785fe2311f0c97a133935"
RECIPES = ("shipped", "qop_dynlstm")
CALIBRATION = ("2718", "31", "415926", "50", "70369")

# Digits of 5 x 7 dots.
DOTS = {
    "0": ("01110", "10001", "10011", "10101", "11001", "10001", "01110"),
    "1": ("00100", "01100", "00100", "00100", "00100", "00100", "01110"),
    "2": ("01110", "10001", "00001", "00010", "00100", "01000", "11111"),
    "3": ("11111", "00010", "00100", "00010", "00001", "10001", "01110"),
    "4": ("00010", "00110", "01010", "10010", "11111", "00010", "00010"),
    "5": ("11111", "10000", "11110", "00001", "00001", "10001", "01110"),
    "6": ("00110", "01000", "10000", "11110", "10001", "10001", "01110"),
    "7": ("11111", "00001", "00010", "00100", "01000", "01000", "01000"),
    "8": ("01110", "10001", "10001", "01110", "10001", "10001", "01110"),
    "9": ("01110", "10001", "10001", "01111", "00001", "00010", "01100"),
}
DOT = 6  # pixels
HEIGHT, MARGIN, TOP = 64, 14, 11


def package() -> Path:
    return cache.unpacked_wheel("ddddocr", VERSION, SHA256) / "ddddocr"


def model(recipe: str) -> Path:
    """`shipped`: 8-bit as published; `qop_dynlstm`: the float model with everything in 8 bits."""
    if recipe == "shipped":
        return package() / "common_old.onnx"
    target = cache.FOLDER / f"ddddocr-{VERSION}-made" / f"common_{recipe}.onnx"
    return cache.make_file(target, _quantize, [Path(__file__)])


def _quantize(target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        static = Path(scratch) / "static.onnx"
        samples = [{"input1": picture(digits)} for digits in CALIBRATION]
        recipes.quantize("qop_u8s8_pc", package() / "common.onnx", static, lambda: samples)
        quantization.quantize_dynamic(
            static, target, weight_type=QuantType.QInt8, op_types_to_quantize=["LSTM"]
        )


def picture(digits: str) -> np.ndarray:
    """Dark digits on white, edges softened."""
    ink = np.zeros((HEIGHT, 2 * MARGIN + 7 * DOT * len(digits)), np.float32)
    for place, digit in enumerate(digits):
        dots = np.array([[int(dot) for dot in row] for row in DOTS[digit]], np.float32)
        glyph = np.kron(dots, np.ones((DOT, DOT), np.float32))
        left = MARGIN + 7 * DOT * place
        ink[TOP : TOP + glyph.shape[0], left : left + glyph.shape[1]] = glyph
    for axis in (0, 1, 0, 1):
        ink = (np.roll(ink, 1, axis) + ink + np.roll(ink, -1, axis)) / 3
    return (1 - 2 * ink)[None, None]


def classes(logits: np.ndarray) -> list[int]:
    """The characters' classes: repetitions are one character, gaps are none."""
    best = logits.reshape(-1, logits.shape[-1]).argmax(-1).tolist()
    return [c for before, c in zip([0, *best], best, strict=False) if c not in (0, before)]


def text(logits: np.ndarray) -> str:
    """What the shipped model reads."""
    module = ast.parse((package() / "charsets.py").read_text())
    (characters,) = (
        ast.literal_eval(statement.value)
        for statement in module.body
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "CHARSET_OLD"
    )
    return "".join(characters[c] for c in classes(logits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", choices=RECIPES, default="shipped")
    print(model(parser.parse_args().recipe))


if __name__ == "__main__":
    main()
