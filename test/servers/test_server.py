"""A server of examples/servers, started for real: what it answers, on whose kernels, and how it bears load."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kinds import EXAMPLES, Kind
from load import Question, ask_each_once, ask_for
from server import Server

LOAD_SECONDS = float(os.environ.get("OCTET_SERVER_SECONDS", "10"))
WORKERS = 2
PLUGIN, ONNXRUNTIME = "libonnxruntime_ep_octet.so", "onnxruntime_pybind11_state"
SESSION_LINE = re.compile(r"Octet \d[\d.]* \(\S+, oneDNN [\d.]+\) runs (\d+) of \1 quantized nodes")
GROWTH = 32e6  # bytes of a worker under load: what onnxruntime's arena takes once for batches as they come

Encode = Callable[[list[str]], np.ndarray]


def draw_sentences(rng: np.random.Generator, words: list[str]) -> list[str]:
    """At least two: onnxruntime sums over the tokens of a single sentence in another order."""
    return [" ".join(rng.choice(words, rng.integers(1, 25))) for _ in range(rng.integers(2, 7))]


def make_questions(rng: np.random.Generator, words: list[str], encode: Encode | None) -> list[Question]:
    batches = [draw_sentences(rng, words) for _ in range(64)]
    return [Question(batch, encode(batch) if encode else None) for batch in batches]


@pytest.fixture
def encode_offline(kind: Kind, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Encode:
    """The same model with the same options in this process."""
    from sentence_encoder import SentenceEncoder

    for variable, value in kind.options.items():
        monkeypatch.setenv(variable, value)
    return SentenceEncoder(folder, kind.length).encode


def test_requirements_are_those_of_the_environment(name: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "-r"]
    done = subprocess.run([*command, EXAMPLES / name / "requirements.txt"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Would install" not in done.stdout, done.stdout + done.stderr


def test_embeddings_are_those_of_an_offline_run(
    name: str, kind: Kind, folder: Path, encode_offline: Encode, rng: np.random.Generator, words: list[str]
) -> None:
    questions = make_questions(rng, words, encode_offline)
    with Server(name, kind, folder, {"ORT_LOG_LEVEL": "1"}) as server:
        ask_each_once(server, questions)
        workers = server.workers(PLUGIN)
        assert len(workers) == WORKERS
        server.find_in_log(SESSION_LINE, count=WORKERS)
    assert not any(worker.is_running() for worker in workers)


@pytest.mark.parametrize("provider", ["octet", "cpu"])
def test_load(
    provider: str,
    name: str,
    kind: Kind,
    folder: Path,
    encode_offline: Encode,
    rng: np.random.Generator,
    words: list[str],
) -> None:
    questions = make_questions(rng, words, encode_offline if provider == "octet" else None)
    with Server(name, kind, folder, {"PROVIDER": provider}) as server:
        ask_each_once(server, 8 * sorted(questions, key=lambda question: len(question.sentences))[-8:])
        workers = server.workers(ONNXRUNTIME)
        memory = [worker.memory_info().rss for worker in workers]
        cpu = sum(sum(worker.cpu_times()[:2]) for worker in workers)
        seconds = ask_for(server, questions, LOAD_SECONDS)
        cpu = sum(sum(worker.cpu_times()[:2]) for worker in workers) - cpu
        growth = [worker.memory_info().rss - before for worker, before in zip(workers, memory, strict=True)]
        assert len(server.workers(PLUGIN)) == (WORKERS if provider == "octet" else 0)
    print(
        f"\n{name} {provider}: {len(seconds) / LOAD_SECONDS:.1f} requests/s, p95 {np.percentile(seconds, 95) * 1e3:.0f}"
        f" ms, {cpu / len(seconds) * 1e3:.1f} ms of CPU in the workers each; memory of a worker"
        f" {' '.join(f'{before / 1e6:.0f}{more / 1e6:+.1f}' for before, more in zip(memory, growth, strict=True))} MB"
    )
    assert max(growth) < GROWTH
