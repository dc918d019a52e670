"""Functions that write whole files and create folders, and `FileError`: the reason, in one line for
the user, why a file or folder cannot be used.
"""

import os
import threading
from contextlib import suppress
from pathlib import Path


class FileError(ValueError):
    """The reason, in one line, why a file or folder cannot be used."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader gets the old content or the new, never a part. If that fails,
    raise FileError; the old file stays.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    finally:  # runs at Ctrl-C too, so that no unfinished file is left
        with suppress(OSError):
            unfinished.unlink()


def make_folder(folder: Path) -> None:
    """Create a folder if it is missing. Raises FileError if it cannot be created, for example
    because its parent is missing, or if no file can be written in it.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"expected a folder that may be written in, got {folder}")
