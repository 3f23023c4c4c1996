"""The example learns the adding problem, and onnxruntime's answers are as good with the 8-bit layer that it exports."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import side_by_side  # noqa: E402
import training_example  # noqa: E402


def test_exported_layers_keep_what_was_learned(tmp_path: Path) -> None:
    program = Path(os.environ["OCTET_BUILD_DIR"]) / "octet_example_training"
    done = subprocess.run([program, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    side_by_side.register_octet(Path(os.environ["OCTET_EP_LIBRARY"]))
    found = training_example.check(tmp_path, [side_by_side.CPU, side_by_side.OCTET])
    assert sorted(found) == ["seed1", "seed2", "seed3"]
    assert all(loss < training_example.CONSTANT_LOSS / 20 for seed in found.values() for loss in seed.values())
