"""The case tables of test/cases, read by the module that ships in the wheel."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "provider" / "ort" / "python"))

from onnxruntime_ep_octet.compare.cases import (  # noqa: E402, F401
    CASE_FOLDER,
    DATA_TYPES,
    Case,
    Port,
    fnv1a,
    load_cases,
    load_table,
    make_inputs,
    table_files,
)
