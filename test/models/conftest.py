"""Whole models on the plugin: registers the library once for the test process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import onnxruntime as ort
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test" / "plugin")]

from octet_sessions import LIBRARY  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def registered_library() -> Iterator[Path]:
    ort.register_execution_provider_library("octet", str(LIBRARY))
    yield LIBRARY
    ort.unregister_execution_provider_library("octet")
