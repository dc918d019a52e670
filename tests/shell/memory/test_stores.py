from converter.exchange import settings
from converter.model.memory import ProcessStore
from converter.shell.memory.stores import open_store


def test_the_memory_is_of_this_process_in_the_size_that_the_settings_name() -> None:
    store = open_store(settings.read({"limits": ["replies=3", "replies_mb=1"]}))
    assert isinstance(store, ProcessStore)
    assert store.limit == 1 << 20
    for key in "abcd":
        store.keep(key, b"1", "", [])
    assert len(store) == 3
