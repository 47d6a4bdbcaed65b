"""What a process holds in memory, as the Linux kernel counts it."""

from __future__ import annotations

from pathlib import Path


def kilobytes(name: str, process: int | str = "self") -> int:
    """A line of a process's status, such as `VmRSS` or `VmHWM`, the most that it ever had.

    Raises:
        OSError: where there is no /proc.
    """
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name))
