"""A certificate authority that no system trusts, and a server on loopback with its certificate."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from socketserver import TCPServer

import trustme
from OpenSSL import crypto

HOST = "127.0.0.1"


@dataclass(frozen=True)
class PrivateAuthority:
    """`file`: its certificate. `folder`: the same as OpenSSL looks it up, by a hash of its name.
    `client`: a client's certificate with its key, which the server may ask for.
    """

    authority: trustme.CA
    file: Path
    folder: Path
    client: Path

    def secure(self, server: TCPServer, host: str = HOST, wants_client: bool = False) -> None:
        """Have the server speak TLS as `host`; with `wants_client` only to those it knows."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(host).configure_cert(context)
        if wants_client:
            self.authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        # the handshake is the handler's, or one client that never begins would hold up all
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )


def private_authority(folder: Path) -> PrivateAuthority:
    """Make one, with its files in `folder`."""
    authority = trustme.CA()
    files = PrivateAuthority(authority, folder / "ca.pem", folder / "hashed", folder / "client.pem")
    pem = authority.cert_pem.bytes()
    files.file.write_bytes(pem)
    files.folder.mkdir()
    name = crypto.load_certificate(crypto.FILETYPE_PEM, pem).subject_name_hash()
    (files.folder / f"{name:08x}.0").write_bytes(pem)
    files.client.write_bytes(
        authority.issue_cert("client.invalid").private_key_and_cert_chain_pem.bytes()
    )
    return files
