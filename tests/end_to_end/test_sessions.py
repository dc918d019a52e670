"""Sessions of real agents on the page: Claude Code and Codex with a sub-agent, in front of a server
that plays a model.
"""

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import Llama
from tests.end_to_end.test_claude_code import named
from tests.support import claude_code, codex
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.frames import DONE, ROLE, USAGE, delta, finish, stream, text
from tests.support.mitmweb import Mitmweb
from tests.support.npm import installed
from tests.support.think_page import ThinkPage, ask, flows

pytestmark = pytest.mark.slow

HEAD = "#rows button.row"
TASK = "Look into b.py, and tell which line is at fault."
GIVEN = {"description": "find it", "prompt": TASK, "subagent_type": "general-purpose"}
ANSWER = stream("<think>There it is.</think>", "It is line 3.")


def calling(name: str, given: object) -> list[bytes]:
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"index": 0, "id": f"call_{name}", "type": "function", "function": function}
    return [ROLE, *text("<think>I ask.</think>"), delta(tool_calls=[call]), finish("tool_calls"), USAGE, DONE]  # fmt: skip


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    """One of its own: what others asked of theirs is counted, too."""
    with ByPathServer(owned_by("llamacpp")) as made:
        yield made


@pytest.fixture
def web(server: ByPathServer, proxy_folder: Path) -> Iterator[Mitmweb]:
    with Mitmweb(server.address, proxy_folder) as made:
        yield made
        made.check()


def test_a_sub_agent_of_claude_code_folds_into_its_session(
    request: pytest.FixtureRequest, web: Mitmweb, server: ByPathServer, tmp_path: Path
) -> None:
    program = installed(request, "Claude Code", claude_code.install)
    server.rows[CHAT] = [named(calling("Agent", GIVEN)), *[named(ANSWER)] * 3]
    session = claude_code.ask(program, web.port, tmp_path, "Mend b.py.", "--allowedTools", "Agent")
    assert session.status == 0, session
    with ThinkPage() as think:
        think.show(web, 0)
        # the sub-agent runs beside it, and its end is told in a turn of its own
        assert "Mend b.py." in think.until_shown("4 turns · 1 sub-agent", HEAD)


def test_a_sub_agent_of_codex_folds_into_its_session(
    request: pytest.FixtureRequest, web: Mitmweb, server: ByPathServer, tmp_path: Path
) -> None:
    program = installed(request, "Codex", codex.install)
    both = threading.Event()  # its end would end a sub-agent that has not asked yet
    answer = Says(steps=[both, *ANSWER])
    server.rows[CHAT] = [Says(steps=calling("spawn_agent", {"message": TASK})), answer, answer]
    with ThinkPage() as think, ThreadPoolExecutor() as beside:
        think.show(web, 0)
        asked = beside.submit(codex.ask, program, web.port, tmp_path, "Mend b.py.", agents=True)
        try:
            think.until(lambda: len(server.bodies()) == 3, "the sub-agent's request")
        finally:
            both.set()
        assert asked.result().status == 0, asked.result()
        # it may ask once more, with what it was told of the sub-agent's end
        assert "Mend b.py." in think.until_shown("turns · 1 sub-agent", HEAD)
        think.until(lambda: think.elements("#rows li") == 1, "one row for all")


@pytest.fixture
def llama_web(llamas: dict[str, Llama], proxy_folder: Path) -> Iterator[Mitmweb]:
    with Mitmweb(llamas["extracted"].address, proxy_folder) as made:
        yield made
        made.check()


def test_turns_of_claude_code_on_llama_cpp_are_one_session_counted_by_the_server(
    request: pytest.FixtureRequest, llama_web: Mitmweb, tmp_path: Path
) -> None:
    program = installed(request, "Claude Code", claude_code.install)
    told = [*claude_code.NO_TOOLS, "--model", "tiny-think"]
    for prompt, *more in (("12 * 7",), ("6 * 7", "--continue")):
        session = claude_code.ask(program, llama_web.port, tmp_path, prompt, *told, *more)
        assert session.status == 0, session
    _are_one_session(llama_web)


def test_turns_of_codex_on_llama_cpp_are_one_session_counted_by_the_server(
    request: pytest.FixtureRequest, llama_web: Mitmweb, tmp_path: Path
) -> None:
    program = installed(request, "Codex", codex.install)
    for prompt, resume in (("12 * 7", False), ("6 * 7", True)):
        asked = (program, llama_web.port, tmp_path, prompt)
        session = codex.ask(*asked, tools=False, resume=resume)
        assert session.status == 0, session
    _are_one_session(llama_web)


def _are_one_session(web: Mitmweb) -> None:
    """The newest exchange's session holds both turns, and its parts are the server's own count."""
    newest = f"/exchanges/{flows(web)[-1]}"
    page = ask(web, f"{newest}/session").body.decode()
    titles = re.findall("<article [^>]*><div[^>]*><h2>(.*?)</h2>", page)
    assert "Sub-agent" not in page
    assert ["12 * 7" in titles[0], "6 * 7" in titles[-1]] == [True, True]
    tokens_read = int(re.findall(r"([\d,]+) tokens read", page)[-1].replace(",", ""))
    shown = json.loads(ask(web, f"{newest}/context").body)
    total = sum(tokens for _, _, tokens in shown["parts"])
    assert "each part counted by the server" in shown["note"]
    assert abs(total - tokens_read) <= 0.02 * tokens_read
