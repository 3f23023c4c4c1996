"""The plugin in unmodified onnxruntime: registers the library once for the whole test process."""

import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from octet_sessions import LIBRARY  # noqa: E402

OPTIONS = (
    "accuracy",
    "backend",
    "lstm_quantization",
    "rowwise",
    "min_coverage",
    "report",
    "threads",
    "verbose",
)


@pytest.fixture(scope="session", autouse=True)
def registered_library() -> Path:
    """Never unregistered: a failed test keeps its session alive, which must not outlive the library."""
    ort.register_execution_provider_library("octet", str(LIBRARY))
    return LIBRARY


@pytest.fixture(autouse=True)
def no_octet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OPTIONS:
        monkeypatch.delenv(f"OCTET_{name.upper()}", raising=False)


@pytest.fixture
def rng() -> np.random.Generator:
    """Seeded by OCTET_TEST_SEED, else the same in every run; printed where a test fails."""
    seed = int(os.environ.get("OCTET_TEST_SEED", "20240607"))
    print(f"seed {seed}")
    return np.random.default_rng(seed)
