"""Counts of a real server's stream, for a client that does not ask for them."""

import json
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.conftest import Llama
from tests.support.counted import total
from tests.support.harness import start_proxy
from tests.support.sdks import openai_client

pytestmark = pytest.mark.slow

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "What is 12 plus 30?"}],
    "max_tokens": 60,
    "stream": True,
}


@pytest.mark.parametrize("server", ["generic", "llama.cpp"])
def test_the_metrics_have_counts_and_the_client_has_not(
    server: str, llamas: dict[str, Llama], proxy_folder: Path, tmp_path: Path
) -> None:
    """A recognised llama.cpp gets no request for counts, because its timings have them."""
    options = ["--set", f"think_server={server}", "--set", f"think_metrics={tmp_path}/m.prom"]
    address = llamas["tags"].address
    with start_proxy([f"reverse:{address}"], options, proxy_folder, f"usage-{server}") as proxy:
        url = f"http://127.0.0.1:{proxy.ports[0]}/v1/chat/completions"
        lines = httpx.post(url, json=REQUEST, timeout=60).text.split("\n\n")
        frames = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        with openai_client(proxy.ports[0]) as client:
            chunks: openai.Stream[Any] = client.chat.completions.create(**REQUEST)
            assert all(chunk.choices and chunk.usage is None for chunk in chunks)
        proxy.check(0)
    assert "usage" not in str(frames)
    assert all(frame["choices"] for frame in frames)
    timings = frames[-1]["timings"]
    assert frames[-1]["choices"][0]["finish_reason"]
    assert lines[-2] == "data: [DONE]"
    counts = (tmp_path / "m.prom").read_text()
    assert total(counts, "think_prompt_tokens_total") == 2 * timings["prompt_n"]
    names = ("think_thinking_tokens_total", "think_answer_tokens_total")
    assert sum(total(counts, name) for name in names) == 2 * timings["predicted_n"]
