"""``FileBaton``: a file by which processes agree on who does something."""

from __future__ import annotations

import contextlib
import os
import time
import warnings


class FileBaton:
    """Held by the process that has made the file at ``lock_file_path``.

    With ``warn_after_seconds``, waiting for longer than that is warned of.
    """

    def __init__(
        self,
        lock_file_path: str,
        wait_seconds: float = 0.1,
        warn_after_seconds: float | None = None,
    ) -> None:
        self.lock_file_path = lock_file_path
        self.wait_seconds = wait_seconds
        self.warn_after_seconds = warn_after_seconds
        self.fd: int | None = None

    def try_acquire(self) -> bool:
        """Makes the file, and tells whether it was not there."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Waits until the file is gone."""
        began, warned = time.monotonic(), False
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            if (
                self.warn_after_seconds is not None
                and not warned
                and time.monotonic() - began > self.warn_after_seconds
            ):
                warnings.warn(
                    f'Waited on lock file "{self.lock_file_path}" for {self.warn_after_seconds} '
                    "seconds.",
                    stacklevel=2,
                )
                warned = True

    def release(self) -> None:
        """Takes the file away."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.lock_file_path)
