"""liboctet_graph.so as another language sees it, loaded after onnx and onnxruntime."""

from __future__ import annotations

import os
from pathlib import Path

import onnx  # noqa: F401  the library must stand being loaded after both
import onnxruntime  # noqa: F401
import pytest

from builder import Library

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build() -> Path:
    return Path(os.environ.get("OCTET_BUILD_DIR", ROOT / "build" / "release"))


@pytest.fixture(scope="session")
def library(build: Path) -> Library:
    return Library(build / "liboctet_graph.so")
