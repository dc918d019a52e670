from pathlib import Path

import pytest

from converter.addon.exchange import settings
from converter.addon.memory.sqlite_store import SqliteStore
from converter.addon.memory.stores import open_store
from converter.core.model.memory import Bounds, Memory
from converter.extras.sealed.sealed_store import SealedStore

KEYS = ["k" * 32, "another key of the memory: 32 characters"]


def sealed(folder: Path, *keys: str) -> SealedStore:
    path = folder / "key"
    path.write_text("\n".join(keys))
    return SealedStore(SqliteStore(folder / "memory", Bounds(9, 1000)), path)


def test_a_value_is_read_with_its_key_only_and_a_key_can_be_replaced(tmp_path: Path) -> None:
    store = sealed(tmp_path, KEYS[0])
    memory = Memory(store=store)
    memory.keep("a", b"a secret", names=["name"])
    memory.keep("b", b"another secret", "a")
    store.close()
    assert b"secret" not in b"".join(file.read_bytes() for file in tmp_path.glob("memory*"))
    for keys, found in (
        (KEYS[:1], [b"a secret", b"another secret"]),
        (KEYS[1:], None),
        ([KEYS[1], KEYS[0]], [b"a secret", b"another secret"]),
    ):
        store = sealed(tmp_path, *keys)
        assert (store.history("b"), store.get("a")) == (found, found and found[0])
        assert (store.find("name"), store.get("no"), store.history("no")) == ("a", None, None)
        store.close()


@pytest.mark.parametrize("words", [None, "", "short"])
def test_a_key_that_is_none_is_told_at_the_start(tmp_path: Path, words: str | None) -> None:
    path = tmp_path / "key"
    if words is not None:
        path.write_text(words)
    with pytest.raises(ValueError, match="think_memory_key: "):
        open_store(settings.read({"memory": "sqlite:", "memory_key": str(path)}))
