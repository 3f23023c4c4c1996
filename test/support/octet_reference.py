"""liboctet_reference of the build, called by the module that ships in the wheel."""

import os
from pathlib import Path

import octet_cases  # noqa: F401  (leads to the package)
from onnxruntime_ep_octet.compare import reference
from onnxruntime_ep_octet.compare.reference import packed  # noqa: F401

BUILD = Path(os.environ.get("OCTET_BUILD_DIR", Path(__file__).resolve().parents[2] / "build" / "release"))


class Reference(reference.Reference):
    def __init__(self, folder: Path = BUILD) -> None:
        super().__init__(folder)
