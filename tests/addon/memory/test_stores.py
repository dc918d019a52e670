from pathlib import Path

import pytest

from converter.addon.exchange import settings
from converter.addon.memory.stores import open_store
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
    for place in ("memory:", f"sqlite:{tmp_path / 'kept'}"):
        store = open_store(settings.read({"memory": place, "memory_days": 3}))
        assert store.bounds.seconds == 3 * 24 * 60 * 60
        store.close()
