"""The wheel, the model, and sentences that are new in each run."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from kinds import EXAMPLES, KINDS, Kind
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def name() -> str:
    return os.environ["OCTET_SERVER"]


@pytest.fixture(scope="session")
def kind(name: str) -> Kind:
    return KINDS[name]


@pytest.fixture(scope="session", autouse=True)
def octet_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel of dist/ is installed, for this process and the servers."""
    (wheel,) = (ROOT / "dist").glob("onnxruntime_ep_octet-*.whl")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", folder, wheel], check=True)
    for variable in list(os.environ):
        if variable.startswith("OCTET_") and not variable.startswith(("OCTET_SERVER", "OCTET_TEST")):
            del os.environ[variable]
    os.environ["PYTHONPATH"] = str(folder)
    sys.path[:0] = [str(folder), str(EXAMPLES)]
    return folder


@pytest.fixture(scope="session")
def assets() -> dict[str, Path]:
    """The files that the servers need, made by the project's own environment and cached there."""
    code = "from scripts.models import minilm; print(minilm.model('dyn')); print(minilm.assets() / 'tokenizer.json')"
    command = [ROOT / ".deps/venv/bin/python", "-c", code]
    made = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    model, tokenizer = made.stdout.split()
    return {"model.onnx": Path(model), "tokenizer.json": Path(tokenizer)}


@pytest.fixture
def new_folder(assets: dict[str, Path]) -> Iterator[Callable[[], Path]]:
    """One for each server, with what it serves."""
    with ExitStack() as stack:

        def make() -> Path:
            # A short path: Ray makes sockets in it, whose paths have at most 107 characters.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="octet-"))
            for name, file in assets.items():
                Path(folder, name).symlink_to(file)
            return Path(folder)

        yield make


@pytest.fixture
def rng() -> np.random.Generator:
    seed = int(os.environ.get("OCTET_TEST_SEED", secrets.randbits(32)))
    print(f"seed {seed}: OCTET_TEST_SEED={seed} repeats the run")
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def words(assets: dict[str, Path]) -> list[str]:
    vocabulary = Tokenizer.from_file(str(assets["tokenizer.json"])).get_vocab()
    return sorted(word for word in vocabulary if word.isascii() and word.isalpha())
