"""Makes a Python environment, installs the wheel of dist/ and onnxruntime into it, and runs pytest files there."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def the_wheel() -> Path:
    (wheel,) = (ROOT / "dist").glob("onnxruntime_ep_octet-*.whl")
    return wheel


def merged(constraints: list[Path], file: Path) -> Path:
    """The versions of all, of a package those of the first that has it."""
    versions: dict[str, str] = {}
    for lines in (path.read_text().splitlines() for path in constraints):
        for line in lines:
            name, _, version = line.partition("==")
            if version:
                versions.setdefault(re.sub("[-_.]+", "-", name).lower(), version)
    file.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
    return file


def make_environment(base: Path, folder: Path, constraints: list[Path], extras: str) -> Path:
    """The environment's Python, of the kind of `base`; the versions of its packages are those of the constraints."""
    subprocess.run([base, "-m", "venv", "--clear", folder], check=True)
    versions = merged(constraints, folder / "constraints.txt")
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = f"{the_wheel()}[{extras}]" if extras else str(the_wheel())
    packages = [wheel, "onnxruntime", "pytest"] + (["selenium"] if "compare" in extras else [])
    subprocess.run([*pip, "install", "--no-warn-script-location", "-c", versions, *packages], check=True)
    subprocess.run([*pip, "check"], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="that of the environment")
    parser.add_argument("--folder", type=Path, required=True, help="of the environment; its content is replaced")
    parser.add_argument("--constraints", type=Path, nargs="+", required=True, help="the first that has a package wins")
    parser.add_argument("--extras", default="")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    python = make_environment(arguments.python, arguments.folder, arguments.constraints, arguments.extras)
    # What the process would find of this build, it is not to find.
    hidden = ("LD_LIBRARY_PATH", "PYTHONPATH")
    environment = {k: v for k, v in os.environ.items() if k not in hidden and not k.startswith("OCTET_")}
    command = [python, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", *arguments.files]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
