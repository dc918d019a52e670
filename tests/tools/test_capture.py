"""The library of recordings has a recording for each plan, and each shows what its name says."""

import pytest

from converter.core.dialects.table import Form
from converter.extras.recordings.library import Library
from tools.capture import FOLDER
from tools.recording_plans import PLANS

pytestmark = pytest.mark.slow

LIBRARY = Library(FOLDER)
BYTES = 7_000_000
"""Bytes of recordings that a clone has to carry; 300,000 are those of other real servers."""


FROM_WIRES = (
    "dasllama-",
    "fusion-mlx-",
    "litellm-",
    "llama-cpp-python-",
    "mlx-lm-",
    "mlx-openai-server-",
    "mlx-vlm-",
    "ogx-",
    "ollama-2025-",
    "portkey-",
    "sglang-newest-",
    "vllm-0-33-",
    "vllm-mlx-",
    "vllm-newest-",
    "xinference-",
)
"""Recordings of servers that take minutes to start, built of the bytes that each sent."""


def test_plans_and_recordings_have_the_same_names() -> None:
    plans = [name for name in LIBRARY.names() if not name.startswith(FROM_WIRES)]
    assert plans == sorted(plan.name for plan in PLANS)


@pytest.mark.parametrize("form", Form)
def test_a_reply_is_sent_as_its_name_says(form: Form) -> None:
    named = [
        LIBRARY.load(plan.name) for plan in PLANS if plan.name.endswith(f"-{form.name.lower()}")
    ]
    assert named
    assert [
        recording.name
        for recording in named
        if recording.server_reply.status == 200 and recording.form_for(recording.client) is not form
    ] == []


def test_the_library_is_small() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < BYTES
