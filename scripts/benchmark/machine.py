"""What machine measures: CPU, caches, versions."""

import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import onnxruntime as ort

ROOT = Path(__file__).resolve().parents[2]


def cpu_field(name: str) -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def cpu_model() -> str:
    """Virtual machines often give a bare brand; family and model tell the generation."""
    model = cpu_field("model name") or platform.processor() or "unknown CPU"
    family, number = cpu_field("cpu family"), cpu_field("model")
    return f"{model} (family {family} model {number})" if family and number else model


def cache_bytes() -> dict[str, int]:
    """Bytes of the caches that the first core sees: {"L1d": ..., "L2": ..., "L3": ...}."""
    sizes = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = (folder / "level").read_text().strip(), (folder / "type").read_text().strip()
        kibibytes = int((folder / "size").read_text().strip().removesuffix("K"))
        if kind != "Instruction":
            sizes[f"L{level}d" if kind == "Data" else f"L{level}"] = kibibytes * 1024
    return sizes


def commit() -> str:
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    return git.stdout.strip() or "uncommitted"


def describe() -> dict[str, object]:
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": cache_bytes(),
        "onnxruntime": ort.__version__,
        "commit": commit(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }
