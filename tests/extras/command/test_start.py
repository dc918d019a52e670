"""The command line that starts the proxy, and what mitmproxy is given for it."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from converter.addon.exchange import settings
from converter.extras.command import start, workers
from converter.extras.command.addresses import CommandError, UsageError
from tests.support.rows import rows_of

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

URL = "http://localhost:8000"


def arguments_of(*options: str) -> list[str]:
    return start.mitmproxy_arguments(*start.parse_arguments(options))


def value(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


def test_the_addon_and_its_announcement_load_from_anywhere() -> None:
    scripts = [Path(script) for script in (start.ADDON, start.ANNOUNCEMENT)]
    assert all(script.is_absolute() and script.is_file() for script in scripts)
    assert arguments_of(URL)[:2] == ["-s", str(scripts[0])]


def test_it_stands_in_front_of_the_server_on_this_machine_only() -> None:
    arguments = arguments_of("localhost:8000/v1")
    assert value(arguments, "--mode") == "reverse:http://localhost:8000"
    assert value(arguments, "--listen-host") == value(arguments, "--web-host") == "127.0.0.1"
    assert "web_open_browser=false" in arguments


def test_page_and_proxy_never_share_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    with pytest.raises(CommandError, match=f"port {port} is for clients already"):
        arguments_of(URL, "--port", port, "--web-port", port)
    arguments = arguments_of(URL)
    assert value(arguments, "--listen-port") != value(arguments, "--web-port")


@pytest.mark.parametrize("between", [(), ("--",)])
@pytest.mark.parametrize(
    ("flag", "ours", "users"),
    [
        ("--dump", "flow_detail=0", "flow_detail=3"),
        ("--web", "web_open_browser=false", "web_open_browser=true"),
        ("--print", "think_print=true", "think_print=false"),
    ],
)
def test_an_option_of_the_users_replaces_ours(
    flag: str, ours: str, users: str, between: tuple[str, ...]
) -> None:
    assert ours in arguments_of(URL, flag)
    arguments = arguments_of(URL, flag, *between, "--set", users)
    assert users in arguments
    assert ours not in arguments


def test_options_go_on_in_order_and_what_stands_behind_two_dashes_as_it_is() -> None:
    arguments = arguments_of(
        *(URL, "--dump", "--print", "--set", "think_start=text", "--set", "a=b"),
        *("--", "-w", "f", "--set", "c=d"),
    )
    last = [
        "--set",
        "flow_detail=0",
        "--set",
        "think_start=text",
        "--set",
        "a=b",
        "-w",
        "f",
        "--set",
        "c=d",
    ]
    assert arguments[-len(last) :] == last


def test_the_help_names_every_option_of_the_addon() -> None:
    help_text = start.parser().format_help()
    assert all(f"think_{option.name} " in help_text for option in settings.OPTIONS)


@pytest.mark.parametrize(("host", "others"), ROWS["listening to other machines prints a warning"])
def test_listening_to_other_machines_prints_a_warning(
    host: str, others: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    start.warn_if_open(start.parse_arguments([URL, "--host", host])[0])
    assert ("whoever reaches this machine can use the server" in capsys.readouterr().err) is others
    for before in ([], ["--"]):
        line = [URL, "--host", host, *before, "--set", "proxyauth=me:secret"]
        start.warn_if_open(*start.parse_arguments(line))
    assert capsys.readouterr().err == ""


def test_several_processes_start_with_what_one_would_get(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []

    def run(*arguments_of: object) -> int:
        started.extend(arguments_of)
        return 0

    monkeypatch.setattr(workers, "run_workers", run)
    assert start.main([URL, "--dump", "--workers", "3"]) == 0
    assert started[0] == 3
    assert started[2] == ["-s", str(start.ANNOUNCEMENT)]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("think_tag=x", r"no option think_tag; did you mean think_tags\?"),
        ("think_memory_key=x", "no option think_memory_key; keep the memory where"),
        ("think_start=soon", "think_start: expected one of: auto, text, thinking; got 'soon'"),
        ("think_tags=<", "think_tags: expected auto, a pair OPEN CLOSE"),
        ("think_blanks", "expected think_blanks=VALUE for --set, got 'think_blanks'"),
    ],
)
def test_a_wrong_option_is_wrong_use_before_anything_starts(written: str, message: str) -> None:
    for before in ([], ["--"]):
        with pytest.raises(UsageError, match=message):
            start.main([URL, *before, "--set", written])


def test_a_home_that_cannot_be_written_is_reported_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(CommandError, match=r"cannot be written: choose a folder by --set confdir="):
        start.check_folder(["--set", f"confdir={tmp_path / 'file' / 'inside'}"])
    start.check_folder(["--set", f"confdir={tmp_path / 'made'}"])
    assert (tmp_path / "made").is_dir()


@pytest.mark.parametrize("program", start.PROGRAMS.values())
def test_each_program_is_there_and_takes_arguments(program: str) -> None:
    script = f"from mitmproxy.tools.main import {program} as run; run(['--version'])"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("Mitmproxy: 12.")
