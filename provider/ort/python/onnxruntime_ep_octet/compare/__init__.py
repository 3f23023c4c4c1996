"""Compares Octet with onnxruntime's own kernels on this machine: `octet-compare --help`."""
