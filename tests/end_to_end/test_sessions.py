"""Sessions of real agents on the page: Claude Code and Codex with a sub-agent, in front of a server
that plays a model.
"""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.end_to_end.test_claude_code import named
from tests.support import claude_code, codex
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.frames import DONE, ROLE, USAGE, delta, finish, stream, text
from tests.support.mitmweb import Mitmweb
from tests.support.npm import installed
from tests.support.think_page import ThinkPage

pytestmark = pytest.mark.slow

HEAD = "#rows button.row"
TASK = "Look into b.py, and tell which line is at fault."
ARGUMENTS = {"description": "find it", "prompt": TASK, "subagent_type": "general-purpose"}
ANSWER = stream("<think>There it is.</think>", "It is line 3.")


def calling(name: str, arguments: object) -> list[bytes]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": f"call_{name}", "type": "function", "function": function}
    return [ROLE, *text("<think>I ask.</think>"), delta(tool_calls=[call]), finish("tool_calls"), USAGE, DONE]  # fmt: skip


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    """A proxy of its own, because the requests of other tests would be counted as well."""
    with ByPathServer(owned_by("llamacpp")) as server:
        yield server


@pytest.fixture
def web(server: ByPathServer, proxy_folder: Path) -> Iterator[Mitmweb]:
    with Mitmweb(server.address, proxy_folder) as web:
        yield web
        web.check()


def test_a_sub_agent_of_claude_code_folds_into_its_session(
    request: pytest.FixtureRequest, web: Mitmweb, server: ByPathServer, tmp_path: Path
) -> None:
    program = installed(request, "Claude Code", claude_code.install)
    server.rows[CHAT] = [named(calling("Agent", ARGUMENTS)), *[named(ANSWER)] * 3]
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
        session = beside.submit(codex.ask, program, web.port, tmp_path, "Mend b.py.", agents=True)
        try:
            think.until(lambda: len(server.bodies()) == 3, "the sub-agent's request")
        finally:
            both.set()
        assert session.result().status == 0, session.result()
        # it may ask once more, with what it was told of the sub-agent's end
        assert "Mend b.py." in think.until_shown("turns · 1 sub-agent", HEAD)
        think.until(lambda: think.elements("#rows li") == 1, "one row for all")
