"""Writing a file at once, so that nobody ever finds half of it."""

import os
import threading
from contextlib import suppress
from pathlib import Path

from converter.recordings.recording import RecordingError


def write_whole(path: Path, data: bytes) -> None:
    """Put a file there: who reads it meanwhile gets the old one or the new one. Raises
    RecordingError, and leaves the old one.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    finally:  # also after Ctrl-C
        with suppress(OSError):
            unfinished.unlink()
