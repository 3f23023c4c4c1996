"""Where the built programs are: OCTET_BUILD_DIR, or build/release."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "plugin"))

from program import Octet  # noqa: E402


@pytest.fixture(scope="session")
def build() -> Path:
    return Path(os.environ.get("OCTET_BUILD_DIR", ROOT / "build" / "release"))


@pytest.fixture(scope="session")
def octet(build: Path) -> Octet:
    return Octet(build / "octet")
