"""The addon: which flows it acts on, its options, and what it makes of requests."""

import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import cast

import pytest
from mitmproxy import http, version
from mitmproxy.exceptions import OptionsError
from mitmproxy.proxy.mode_specs import ProxyMode

from converter.addon.keep.flow_record import RUNNING_RECORDS
from tests.support.addon_flows import (
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    THINKING,
    answer,
    ask,
    begin,
    request,
    response,
    running,
    streaming,
    wait,
)
from tests.support.harness import ADDON, MITMDUMP
from tests.support.rows import rows_of
from think_addon import ThinkAddon

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)


def _acts(addon: ThinkAddon, flow: http.HTTPFlow) -> bool:
    begin(addon, flow)
    return not flow.request.stream


ACTS = [
    *[CHAT, "/chat/completions", "/api/v3/chat/completions", f"{CHAT}/", f"{CHAT}?x=/y"],
    *[
        MESSAGES,
        "/a/b/v1/messages",
        f"{MESSAGES}/",
        f"{MESSAGES}?beta=true",
        f"{MESSAGES}/count_tokens?beta=true",
    ],
]
LEAVES = ROWS["leaves"]


@pytest.mark.parametrize("path", ACTS)
def test_it_acts_on_chat_completions_and_messages_under_any_prefix_and_query(path: str) -> None:
    with running() as (addon, _):
        assert _acts(addon, request(path))


@pytest.mark.parametrize("path", LEAVES)
def test_other_paths_pass_unbuffered_and_unchanged(path: str) -> None:
    with running() as (addon, _):
        flow = request(path, b"body", accept_encoding="gzip")
        before = flow.request.get_state()
        ask(addon, flow)
        assert flow.request.stream is True
        flow.request.stream = False
        assert flow.request.get_state() == before
        assert answer(addon, flow, response(), b"") is None
        assert flow.response
        assert flow.response.stream is True


@pytest.mark.parametrize("hook", ["requestheaders", "request"])
@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/other"])
def test_a_request_that_another_addon_has_answered_is_left_to_it(hook: str, path: str) -> None:
    """So does mitmproxy's proxyauth in the first hook, block_list and map_local in the second."""
    with running() as (addon, _):
        flow, refused = request(path), http.Response.make(403)
        if hook == "request":
            begin(addon, flow)
        flow.response = refused
        ask(addon, flow)
        assert flow.response is refused
        assert flow.id not in RUNNING_RECORDS
        assert hook == "request" or not flow.request.stream  # mitmproxy takes no answer then


@pytest.mark.parametrize("path", ["/", "/?beta=true"])
def test_what_claude_code_asks_at_first_is_answered(path: str) -> None:
    with running() as (addon, _):
        answer = ask(addon, request(path, b"", "HEAD")).response
        assert answer
        assert answer.status_code == 200


HOSTS = {
    ("reverse:http://localhost:1", "localhost"): True,
    ("reverse:https://api.openai.com", "api.openai.com"): True,
    ("regular", "localhost"): True,
    ("regular", "192.168.0.7"): True,
    ("regular", "8.8.8.8"): False,
    ("regular", "no-such-host.invalid"): False,
    ("transparent", "8.8.8.8"): False,
    ("transparent", "10.0.0.1"): True,
    ("upstream:http://localhost:1", "8.8.8.8"): False,
}


@pytest.mark.parametrize(("where", "acts"), HOSTS.items())
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_only_private_addresses_are_acted_on_unless_named_as_the_server(
    where: tuple[str, str], acts: bool, path: str
) -> None:
    with running() as (addon, _):
        flow = request(path)
        flow.client_conn.proxy_mode = ProxyMode.parse(where[0])
        flow.request.host = where[1]
        assert _acts(addon, flow) is acts


def test_only_where_it_might_act_a_name_is_looked_up() -> None:
    with running() as (addon, _):
        for path, looks in (("/other", False), (CHAT, True)):
            flow = request(path)
            flow.client_conn.proxy_mode = ProxyMode.parse("regular")
            begun = addon.requestheaders(flow)
            assert (begun is not None) is looks
            if begun:
                cast(Coroutine[None, None, None], begun).close()


@pytest.mark.parametrize(("host", "acts"), [("api.openai.com", True), ("localhost", False)])
def test_a_filter_says_otherwise(host: str, acts: bool) -> None:
    with running(flows="~d openai & ~m POST") as (addon, _):
        flow = request(CHAT)
        flow.request.host = host
        assert _acts(addon, flow) is acts


def test_flows_from_a_file_are_left_alone() -> None:
    with running() as (addon, _):
        flow = request(MESSAGES)
        flow.live = False
        before = flow.get_state()
        ask(addon, flow)
        assert flow.get_state() == before
        flow.response = response(EVENT_STREAM)
        wait(addon.responseheaders(flow))
        wait(addon.response(flow))
        assert (flow.response.stream, dict(flow.response.headers)) == (
            False,
            {"content-type": EVENT_STREAM},
        )


BAD: dict[str, tuple[dict[str, object], str]] = {
    "tags": ({"think_tags": ["thonk"]}, "think_tags"),
    "start": ({"think_start": "middle"}, "think_start"),
    "fields": ({"think_fields": ["thoughts"]}, "think_fields"),
    "flows": ({"think_flows": "~~~"}, "think_flows"),
}


@pytest.mark.parametrize(("bad", "name"), BAD.values(), ids=BAD)
def test_a_bad_value_is_refused_by_name_and_the_old_settings_stay(
    bad: dict[str, object], name: str
) -> None:
    with running(signature="old", flows="~d localhost") as (addon, context):
        with pytest.raises(OptionsError, match=name):
            context.options.update(**bad, think_signature="new")
        assert context.options.think_signature == "old"
        assert _signature(addon, streaming()) == "old"
        elsewhere = request(CHAT)
        elsewhere.request.host = "example.org"
        assert not _acts(addon, elsewhere)


def _signature(addon: ThinkAddon, flow: http.HTTPFlow) -> str:
    pieces = answer(addon, ask(addon, flow), response(EVENT_STREAM), b"".join(THINKING))
    frames = b"".join(pieces or []).split(b"\n\n")
    frame = next(frame for frame in frames if b"signature_delta" in frame)
    signature: str = json.loads(frame.partition(b"data: ")[2])["delta"]["signature"]
    return signature


def test_an_option_changed_while_it_runs_holds_for_the_next_reply() -> None:
    with running(signature="old") as (addon, context):
        early = streaming()
        begin(addon, early)
        context.options.update(think_signature="new")
        wait(addon.request(early))
        pieces = answer(addon, early, response(EVENT_STREAM), b"".join(THINKING))
        assert b'"old"' in b"".join(pieces or [])
        assert _signature(addon, streaming()) == "new"


def test_an_old_python_prints_the_needed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    with pytest.raises(ImportError, match="needs Python"):
        runpy.run_path(str(ADDON.parent / "converter" / "__init__.py"))


def test_an_old_mitmproxy_prints_the_needed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "VERSION", "11.1.3")
    with pytest.raises(SystemExit, match=r"needs mitmproxy 12.2 or newer, this is 11\.1\.3"):
        runpy.run_path(str(ADDON))


def test_without_the_folder_beside_it_the_script_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copy(ADDON, tmp_path)
    script = str(tmp_path / "think_addon.py")
    command = [str(MITMDUMP), "-q", "-s", script, "--set", f"confdir={tmp_path}", "-n"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    output = ended.stdout + ended.stderr
    assert "the folder `converter` is missing beside think_addon.py" in output
