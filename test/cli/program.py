"""The program `octet`, and its exit codes."""

import json
import subprocess
from pathlib import Path

DONE, FAILED, USAGE = 0, 1, 2


class Octet:
    def __init__(self, program: Path) -> None:
        self.program = program

    def run(self, *arguments: str, code: int = DONE) -> str:
        """Standard output; the standard error, which must say something, where another exit code is expected."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        if code == DONE:
            assert done.stderr == ""
            return done.stdout
        assert done.stdout == "" and done.stderr != ""
        return done.stderr

    def json(self, *arguments: str):
        return json.loads(self.run(*arguments, "--json"))
