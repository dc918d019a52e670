import pytest

from converter.addon.redact.scrubber import Scrubber, is_path


def test_a_secret_becomes_as_many_x() -> None:
    assert Scrubber(["s3cret!"], [], []).text("a s3cret! b s3cret!") == "a xxxxxxx b xxxxxxx"


def test_also_as_json_and_addresses_write_it() -> None:
    scrubber = Scrubber(['a"b/é c'], [], [])
    assert scrubber.text('x a\\"b/é c y') == "x " + "x" * 8 + " y"
    assert "b" not in scrubber.text("a%22b%2F%C3%A9%20c")


def test_also_the_beginning_of_one_at_the_end() -> None:
    assert Scrubber(["sk-123456"], [], []).text("key sk-12345") == "key xxxxxxxx"


@pytest.mark.parametrize("word", ["abc", "messages", "tool_use", "xxxxxx"])
def test_a_text_that_is_too_common_is_no_secret(word: str) -> None:
    assert Scrubber([word], [], []).text(f"the {word}") == f"the {word}"


def test_addresses_become_this_machine() -> None:
    scrubber = Scrubber(
        [],
        ["gpu.lan:8080", "gpu.lan", "10.1.2.3:55", "llm", "llm:80", "fe80::1", "127.0.0.1:9999"],
        [],
    )
    assert scrubber.text("http://gpu.lan:8080/x gpu.lan.") == "http://127.0.0.1:8000/x 127.0.0.1."
    assert scrubber.text("notgpu.lan gpu.lan.org") == "notgpu.lan gpu.lan.org"
    assert (
        scrubber.text("an llm at http://llm/ and http://llm:80")
        == "an llm at http://127.0.0.1/ and http://127.0.0.1:8000"
    )
    assert (
        scrubber.text("10.1.2.3:55 fe80::1 127.0.0.1:9999")
        == "127.0.0.1:8000 127.0.0.1 127.0.0.1:8000"
    )


def over(*parts: str) -> list[str]:
    """Parts of a text without secrets, places and names that are cut."""
    return list(
        Scrubber(["s3cret!"], ["gpu.lan:8080", "gpu.lan", "llm"], ["/home/bob/a.gguf"]).hide_across(
            parts
        )
    )


def test_what_is_cut_becomes_as_many_x() -> None:
    assert over("a s3c", "", "ret! b") == ["a xxx", "", "xxxx b"]
    assert over("at gpu", ".lan:80", "80 ok") == ["at xxx", "xxxxxxx", "xx ok"]
    assert over("gpu.lan", ":8080") == ["x" * 7, "x" * 5]
    assert over("no /home/b", "ob/a.g", "guf") == ["no xxxxxxx", "xxxxxx", "xxx"]
    assert over("http://l", "lm/") == ["http:xxx", "xx/"]


def test_what_is_whole_in_a_part_waits_to_be_renamed() -> None:
    parts = ["at gpu.lan:8080", " and /home/bob/a.gguf", " by http://llm/ or an l", "lm"]
    assert over(*parts) == parts


def test_a_model_s_path_with_a_secret_in_it_becomes_its_last_part() -> None:
    assert Scrubber(["Key4711"], [], ["/srv/Key4711/m"]).text("/srv/Key4711/m") == "m"


def test_a_model_s_path_becomes_its_last_part_and_its_folder_is_nowhere() -> None:
    scrubber = Scrubber([], [], ["/home/bob/models/a.gguf", "qwen/qwen3"])
    assert (
        scrubber.text("no /home/bob/models/b.gguf, but /home/bob/models/a.gguf")
        == "no b.gguf, but a.gguf"
    )


def test_a_path_that_tells_the_model_s_marks_still_tells_them() -> None:
    path = "/cache/models--ibm--granite-3.3/snapshots/0a1b"
    assert Scrubber([], [], [path]).text(path) == "models--ibm--granite-3.3"


@pytest.mark.parametrize(
    ("name", "path"),
    [("/m/a", True), ("~/a", True), ("C:\\m", True), ("qwen/qwen3", False), ("/", False)],
)
def test_a_path_is_distinguished_from_a_name(name: str, path: bool) -> None:
    assert is_path(name) is path


def test_every_address_in_mitmproxys_message_is_this_machine() -> None:
    assert (
        Scrubber([], [], []).error_text("Connect call failed ('10.0.0.7', 80)")
        == "Connect call failed ('127.0.0.1', 80)"
    )
