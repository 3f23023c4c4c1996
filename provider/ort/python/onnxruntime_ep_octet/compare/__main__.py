"""octet-compare, and `python -m onnxruntime_ep_octet.compare`."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    try:
        from .program import main as compare
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("onnxruntime_ep_octet"):
            raise
        hint = "pip install 'onnxruntime-ep-octet[compare]'"
        print(f"octet-compare: error: the package {error.name} is missing: {hint}", file=sys.stderr)
        return 2  # as NOT_RUN in results.py
    return compare(argv)


if __name__ == "__main__":
    sys.exit(main())
