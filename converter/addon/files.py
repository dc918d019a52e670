"""Files and folders that an option names."""

import os
import threading
from contextlib import suppress
from pathlib import Path


class FileError(ValueError):
    """A file or a folder that cannot be used. The message is one line."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole: a reader gets the old file or the new one, never a part. Raises
    FileError, and leaves the old file.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    finally:  # also at Ctrl-C
        with suppress(OSError):
            unfinished.unlink()


def make_folder(folder: Path) -> None:
    """Create a folder to write in, if its parent exists. Raises FileError."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"expected a folder that may be written in, got {folder}")
