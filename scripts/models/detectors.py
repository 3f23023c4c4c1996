"""Convolutional detectors: ddddocr's, which finds where text is, and nudenet's (a YOLOv8n).

    .deps/venv/bin/python -m scripts.models.detectors --name text

prints the path of the model. Input: images, float [1, 3, size, size].
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import cache, ddddocr, recipes

RECIPE = "qop_u8s8_pc"


@dataclass(frozen=True)
class Detector:
    folder: str
    source: Callable[[], Path]
    size: int
    white: float  # the largest value of a picture


def _nudenet() -> Path:
    sha256 = "5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331"
    return cache.unpacked_wheel("nudenet", "3.4.2", sha256) / "nudenet" / "320n.onnx"


DETECTORS = {
    "text": Detector(
        f"ddddocr-{ddddocr.VERSION}-made",
        lambda: ddddocr.package() / "common_det.onnx",
        416,
        255.0,
    ),
    "nudenet": Detector("nudenet-3.4.2-made", _nudenet, 320, 1.0),
}


def model(name: str) -> Path:
    detector = DETECTORS[name]
    target = cache.FOLDER / detector.folder / f"{name}_{RECIPE}.onnx"

    def quantize(path: Path) -> None:
        samples = [{"images": picture(name, seed)} for seed in range(4)]
        recipes.quantize(RECIPE, detector.source(), path, lambda: samples)

    return cache.make_file(target, quantize, [Path(__file__)])


def picture(name: str, seed: int) -> np.ndarray:
    """Coloured rectangles on a soft background."""
    detector, rng = DETECTORS[name], np.random.default_rng(seed)
    size = detector.size
    ramp = np.linspace(0.2, 0.8, size, dtype=np.float32)
    image = np.stack([np.add.outer(ramp, ramp) / 2] * 3)
    for _ in range(12):
        top, left = rng.integers(0, size * 3 // 4, 2)
        height, width = rng.integers(size // 16, size // 3, 2)
        colour = rng.uniform(0, 1, (3, 1, 1)).astype(np.float32)
        image[:, top : top + height, left : left + width] = colour
    return (image * np.float32(detector.white))[None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", choices=list(DETECTORS), default="text")
    print(model(parser.parse_args().name))


if __name__ == "__main__":
    main()
