"""TLS of the addon's own probes: whom it trusts and as whom it comes, by mitmproxy's options."""

import asyncio
import inspect
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import certifi
import pytest
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.test import taddons

from converter.addon.probes import upstream_http
from converter.addon.probes.upstream_http import (
    NoReplyError,
    client_certificate,
    fetch,
    tls_context,
    tls_for_host,
)
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.probes import ProbeRequest
from tests.support.private_authority import HOST, PrivateAuthority, private_authority
from tests.support.scripted_server import JSON, Reply, ScriptedServer

pytestmark = pytest.mark.slow

type Options = dict[str, Any]

GOOD = Reply([b"{}"], JSON)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> PrivateAuthority:
    return private_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(authority: PrivateAuthority) -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        authority.secure(scripted)
        yield scripted
        scripted.shutdown()


@pytest.fixture(scope="module")
def strict_server(authority: PrivateAuthority) -> Iterator[ScriptedServer]:
    """A server that accepts only clients with a certificate."""
    with ScriptedServer() as scripted:
        authority.secure(scripted, wants_client=True)
        yield scripted
        scripted.shutdown()


def _status(server: ScriptedServer, options: Options) -> int:
    server.answer(GOOD)
    upstream = Upstream("https", HOST, server.server_port)
    secret = {"authorization": "Bearer secret"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upstream_http, "tls_for_host", lambda _: tls_context(**options))
        return asyncio.run(fetch(upstream, secret, ProbeRequest("/x"))).status


def _refused(server: ScriptedServer, options: Options) -> str:
    with pytest.raises(NoReplyError) as refused:
        _status(server, options)
    assert server.requests == []
    return str(refused.value)


def test_an_unknown_authority_is_refused_before_anything_is_sent(server: ScriptedServer) -> None:
    assert "certificate is not trusted" in _refused(server, {})


def test_an_authority_that_the_user_names_is_trusted(
    server: ScriptedServer, authority: PrivateAuthority
) -> None:
    assert _status(server, {"trusted_ca": str(authority.file)}) == 200
    assert _status(server, {"trusted_folder": str(authority.folder)}) == 200


def test_a_certificate_for_another_host_is_refused(authority: PrivateAuthority) -> None:
    trusted = {"trusted_ca": str(authority.file)}
    with ScriptedServer() as scripted:
        authority.secure(scripted, "elsewhere.invalid")
        assert "IP address mismatch" in _refused(scripted, trusted)
        assert _status(scripted, dict(trusted, insecure=True)) == 200
        scripted.shutdown()


def test_a_server_that_wants_to_know_its_clients_gets_their_certificate(
    strict_server: ScriptedServer, authority: PrivateAuthority
) -> None:
    trusted = {"trusted_ca": str(authority.file)}
    _refused(strict_server, trusted)
    settings = dict(trusted, certificate=str(authority.client))
    assert _status(strict_server, settings) == 200


def test_the_versions_that_the_user_allows_are_spoken(
    server: ScriptedServer, authority: PrivateAuthority
) -> None:
    trusted = {"trusted_ca": str(authority.file)}
    assert _status(server, dict(trusted, least="TLS1_3")) == 200
    assert _status(server, dict(trusted, most="TLS1_2")) == 200
    assert isinstance(server.socket, ssl.SSLSocket)
    server.socket.context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert "VERSION" in _refused(server, dict(trusted, least="TLS1_3")).upper()
    server.socket.context.maximum_version = ssl.TLSVersion.MAXIMUM_SUPPORTED


def test_public_authorities_are_those_of_the_proxy_unless_the_user_names_others(
    authority: PrivateAuthority,
) -> None:
    public = tls_context().cert_store_stats()["x509_ca"]
    assert public == Path(certifi.where()).read_text().count("BEGIN CERTIFICATE")
    assert tls_context(trusted_ca=str(authority.file)).cert_store_stats()["x509_ca"] == 1


def test_mitmproxys_options_decide(
    authority: PrivateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force: Any = tls_for_host
    usual = {
        name: taken.default for name, taken in inspect.signature(tls_context).parameters.items()
    }
    monkeypatch.setattr(upstream_http, "tls_context", dict)
    with taddons.context(TlsConfig()) as proxy:
        assert in_force(HOST) == usual
        proxy.options.update(
            ssl_insecure=True,
            ssl_verify_upstream_trusted_ca=str(authority.file),
            ssl_verify_upstream_trusted_confdir=str(authority.folder),
            client_certs=str(authority.client),
            tls_version_server_min="TLS1_3",
            tls_version_server_max="TLS1_3",
            ciphers_server="AES",
        )
        assert in_force(HOST) == {
            "insecure": True,
            "trusted_ca": str(authority.file),
            "trusted_folder": str(authority.folder),
            "certificate": str(authority.client),
            "least": "TLS1_3",
            "most": "TLS1_3",
            "ciphers": "AES",
        }


def test_a_context_follows_the_options_in_force(authority: PrivateAuthority) -> None:
    with taddons.context(TlsConfig()) as proxy:
        assert tls_for_host(HOST).verify_mode is ssl.CERT_REQUIRED
        proxy.options.update(ssl_insecure=True)
        assert tls_for_host(HOST).verify_mode is ssl.CERT_NONE
        proxy.options.update(ssl_insecure=False, ssl_verify_upstream_trusted_ca=str(authority.file))
        assert tls_for_host(HOST).cert_store_stats()["x509_ca"] == 1


def test_a_client_certificate_is_a_file_or_one_for_each_host(tmp_path: Path) -> None:
    one, folder = tmp_path / "one.pem", tmp_path / "certificates"
    folder.mkdir()
    for file in (one, folder / "127.0.0.1.pem"):
        file.touch()
    assert client_certificate(str(one), HOST) == str(one)
    assert client_certificate(str(folder), HOST) == str(folder / "127.0.0.1.pem")
    assert client_certificate(str(folder), "127.0.0.2") is None
    assert client_certificate(str(tmp_path / "none.pem"), HOST) is None
    assert client_certificate(None, HOST) is None


@pytest.mark.parametrize(
    "name", [lambda file: {"trusted_ca": file}, lambda file: {"certificate": file}]
)
def test_a_file_that_cannot_be_read_is_reported(
    tmp_path: Path, name: Callable[[str], Options]
) -> None:
    (tmp_path / "empty.pem").touch()
    with pytest.raises(OSError, match=r"CERTIFICATE|SSL"):
        tls_context(**name(str(tmp_path / "empty.pem")))
