from pathlib import Path

import pytest

from converter.addon.exchange import settings
from converter.addon.memory.stores import open_lessons, open_store
from converter.core.model.memory import Memory, ProcessStore


def test_the_memory_is_of_this_process_in_the_size_that_the_settings_name() -> None:
    store = open_store(settings.read({"limits": ["replies=3", "replies_mb=1"]}))
    assert isinstance(store, ProcessStore)
    assert store.bounds.size == 1 << 20
    for key in "abcd":
        store.keep(key, b"1", "", [])
    assert store.size == 3


@pytest.mark.parametrize("named", [True, False])
def test_a_file_is_where_it_was_named_else_in_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "named" if named else tmp_path / "think-addon" / "memory.sqlite"
    store = open_store(settings.read({"memory": f"sqlite:{path if named else ''}"}))
    assert not path.exists()
    assert Memory(store=store).find("a") == ""
    assert path.exists()
    store.close()


def test_days_bound_every_store_of_one_machine(tmp_path: Path) -> None:
    for address in ("memory:", f"sqlite:{tmp_path / 'kept'}"):
        store = open_store(settings.read({"memory": address, "memory_days": 3}))
        assert store.bounds.seconds == 3 * 24 * 60 * 60
        store.close()


def test_lessons_are_kept_where_replies_are_shared(tmp_path: Path) -> None:
    chosen = settings.read({"memory": f"sqlite:{tmp_path / 'kept'}", "lessons": True})
    store = open_store(chosen)
    assert open_lessons(chosen, store) is store
    store.close()


def test_lessons_of_one_process_are_kept_if_that_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert open_lessons(settings.read({}), open_store(settings.read({}))) is None
    chosen = settings.read({"lessons": True})
    lessons = open_lessons(chosen, open_store(chosen))
    assert lessons
    lessons.keep("key", b"{}", "", [], "")
    assert (tmp_path / "think-addon" / "lessons.sqlite").exists()
    assert not (tmp_path / "think-addon" / "memory.sqlite").exists()
    lessons.close()


def test_where_nothing_is_to_be_kept_lessons_have_their_own_file() -> None:
    chosen = settings.read({"memory": "sqlite:", "limits": ["replies=0"], "lessons": True})
    store = open_store(chosen)
    assert open_lessons(chosen, store) not in (None, store)
