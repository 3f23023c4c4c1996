"""Where the built programs are: OCTET_BUILD_DIR, or build/release."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build() -> Path:
    return Path(os.environ.get("OCTET_BUILD_DIR", ROOT / "build" / "release"))
