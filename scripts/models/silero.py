"""silero-vad, a detector of voice: the model for whole sequences, its LSTM in 8 bits.

    .deps/venv/bin/python -m scripts.models.silero

prints the path of the model. Inputs: input, float [frames, 576], of 16000 samples a second each
frame's 512 and the 64 before; h and c, float [1, 1, 128], the LSTM's state. Output: the probability
of voice in each frame.
"""

import functools
from pathlib import Path

import numpy as np

from . import cache, recipes

VERSION = "6.2.3"
SHA256 = "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"

RATE, FRAME, BEFORE, STATE = 16000, 512, 64, (1, 1, 128)
# Formants of vowels: frequency and bandwidth in hertz.
VOWELS = {
    "a": ((730, 90), (1090, 110), (2440, 170)),
    "e": ((530, 60), (1840, 100), (2480, 170)),
    "i": ((270, 60), (2290, 100), (3010, 200)),
    "o": ((570, 80), (840, 90), (2410, 170)),
    "u": ((300, 60), (870, 90), (2240, 170)),
}


def float_model() -> Path:
    package = cache.unpacked_wheel("silero_vad", VERSION, SHA256)
    return package / "silero_vad" / "data" / "silero_vad_16k_sequence.onnx"


def model() -> Path:
    target = cache.FOLDER / f"silero_vad-{VERSION}-made" / "sequence_dyn.onnx"
    quantize = functools.partial(recipes.quantize, "dyn", float_model(), calibration=lambda: [])
    return cache.make_file(target, lambda made: quantize(made), [Path(__file__)])


def resonated(sound: np.ndarray, frequency: float, bandwidth: float) -> np.ndarray:
    radius = np.exp(-np.pi * bandwidth / RATE)
    first, second = 2 * radius * np.cos(2 * np.pi * frequency / RATE), -radius * radius
    result, before, twice_before = np.zeros_like(sound), 0.0, 0.0
    for i, sample in enumerate(sound):
        result[i] = sample + first * before + second * twice_before
        before, twice_before = result[i], before
    return result / np.abs(result).max()


def vowel(letter: str, pitch: float, seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Pulses of a wavering pitch through the vowel's formants, faded in and out."""
    samples = int(RATE * seconds)
    time = np.arange(samples) / RATE
    phase = np.cumsum(pitch * (1 + 0.02 * np.sin(2 * np.pi * 5 * time))) / RATE
    sound = np.diff(np.floor(phase), prepend=0) + 0.003 * rng.normal(size=samples)
    for frequency, bandwidth in VOWELS[letter]:
        sound = resonated(sound, frequency, bandwidth)
    ends = np.minimum(np.arange(samples), samples - np.arange(samples))
    return 0.3 * sound * np.minimum(1, ends / (0.03 * RATE))


def speech(words: tuple[str, ...] = ("aie", "oua", "eai"), seed: int = 1) -> np.ndarray:
    """Words of vowels with hissing between them, and near silence between words."""
    rng = np.random.default_rng(seed)

    def noise(level: float, seconds: float) -> np.ndarray:
        return level * rng.normal(size=int(RATE * seconds))

    parts = [noise(0.001, 0.8)]
    for word in words:
        for place, letter in enumerate(word):
            parts += [vowel(letter, 130 - 8 * place, 0.18, rng), noise(0.02, 0.05)]
        parts.append(noise(0.001, 0.8))
    return np.concatenate(parts).astype(np.float32)


def inputs(sound: np.ndarray) -> dict[str, np.ndarray]:
    starts = range(BEFORE, len(sound) - FRAME, FRAME)
    frames = np.stack([sound[start - BEFORE : start + FRAME] for start in starts])
    state = np.zeros(STATE, np.float32)
    return {"input": frames, "h": state, "c": state}


if __name__ == "__main__":
    print(model())
