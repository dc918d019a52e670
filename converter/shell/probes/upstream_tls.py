"""TLS for the addon's own probes, by the options that mitmproxy itself connects with.

Read in mitmproxy 12.2, `addons/tlsconfig.py` (tls_start_server) and `net/tls.py`
(create_proxy_server_context), which hold the same for pyOpenSSL.
"""

import ssl
import warnings
from functools import lru_cache
from pathlib import Path

import certifi
from mitmproxy import ctx


def for_host(host: str) -> ssl.SSLContext:
    """Return the context for a connection to `host`, as mitmproxy's options are now."""
    options = ctx.options
    return context(
        insecure=bool(options.ssl_insecure),
        trusted_ca=options.ssl_verify_upstream_trusted_ca,
        trusted_folder=options.ssl_verify_upstream_trusted_confdir,
        certificate=client_certificate(options.client_certs, host),
        least=options.tls_version_server_min,
        most=options.tls_version_server_max,
        ciphers=options.ciphers_server,
    )


def client_certificate(written: str | None, host: str) -> str | None:
    """Return the file for `host`: the one that `client_certs` names, or HOST.pem in its folder."""
    if not written:
        return None
    place = Path(written).expanduser()
    file = place / f"{host}.pem" if place.is_dir() else place
    return str(file) if file.is_file() else None


@lru_cache(16)
def context(
    *,
    insecure: bool = False,
    trusted_ca: str | None = None,
    trusted_folder: str | None = None,
    certificate: str | None = None,
    least: str = "TLS1_2",
    most: str = "UNBOUNDED",
    ciphers: str | None = None,
) -> ssl.SSLContext:
    """Return the context to connect with. `certificate`: the client's, a PEM file with its key.
    Neither `trusted_ca` nor `trusted_folder`: the public authorities that mitmproxy knows. Raises
    OSError or ValueError when a file cannot be read.

    Not `ssl.create_default_context`: since Python 3.13 it refuses authorities without a key usage,
    which mitmproxy takes.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _allow_versions(made, least, most)
    if ciphers:
        made.set_ciphers(ciphers)
    if insecure:
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        made.options |= ssl.OP_LEGACY_SERVER_CONNECT
    authorities = trusted_ca if trusted_ca or trusted_folder else certifi.where()
    made.load_verify_locations(authorities, trusted_folder)
    if certificate:
        made.load_cert_chain(certificate)
    return made


def _allow_versions(made: ssl.SSLContext, least: str, most: str) -> None:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # old versions are deprecated, but the user has asked for them
        made.minimum_version = _version(least, ssl.TLSVersion.MINIMUM_SUPPORTED)
        made.maximum_version = _version(most, ssl.TLSVersion.MAXIMUM_SUPPORTED)


def _version(name: str, unbounded: ssl.TLSVersion) -> ssl.TLSVersion:
    """Return the version that mitmproxy calls `TLS1_2`, and Python `TLSv1_2`."""
    return unbounded if name == "UNBOUNDED" else ssl.TLSVersion[f"{name[:3]}v{name[3:]}"]
