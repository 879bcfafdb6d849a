"""Counts machine instructions with valgrind's callgrind: what a clock cannot tell from the caches and the neighbours.

A benchmark starts itself once more under valgrind (`counted`); there it prepares without being counted, calls `begin`
and then `count` for each thing to be counted. Needs valgrind (a Debian package); `available` tells.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_CONTROL: Final = "callgrind_control"
_TOTAL: Final = re.compile(r"^summary: (\d+)", re.MULTILINE)
# ctypes calls every function through this one, and nothing that is counted here uses ctypes itself.
_GATE: Final = "ffi_call"


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None and shutil.which(_CONTROL) is not None


def counted(module: str, *arguments: str) -> list[int]:
    """The instructions of each `count` of `python -m module arguments`, in order."""
    with tempfile.TemporaryDirectory() as folder:
        dumps = Path(folder, "counts")
        valgrind = [
            *("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={dumps}"),
            *(f"--toggle-collect={_GATE}", f"--dump-after={_GATE}"),
        ]
        environ = {**os.environ, "PYTHONHASHSEED": "0"}
        subprocess.run([*valgrind, sys.executable, "-m", module, *arguments], env=environ, check=True)
        return _totals(dumps)


def begin() -> None:
    """From here on valgrind follows every instruction; before, it is about ten times as fast."""
    subprocess.run([_CONTROL, "-i", "on", str(os.getpid())], check=True, capture_output=True)


def count(run: Callable[[], object]) -> None:
    """Run it, counted."""
    call = ctypes.pythonapi.PyObject_CallNoArgs
    call.argtypes, call.restype = [ctypes.py_object], ctypes.py_object
    call(run)


def _totals(dumps: Path) -> list[int]:
    """The total of each numbered dump; the one without a number is of what came after the last."""
    numbered: Sequence[Path] = sorted(dumps.parent.glob(f"{dumps.name}.*"), key=lambda path: int(path.suffix[1:]))
    found = [_TOTAL.search(path.read_text()) for path in numbered]
    return [int(total[1]) for total in found if total is not None]
