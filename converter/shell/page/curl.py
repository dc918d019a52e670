"""An exchange as one command for a shell. No key is in it: a person pastes such a command into a
chat or an issue. And it sends what stands in it: `--data-raw` reads no file for a body that begins
with `@`, `-g` takes no bracket of an address for a pattern.
"""

import re
import shlex

from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.dialects.table import DIALECTS
from converter.observe.printable import ACTING
from converter.shell.messages import content_of

_KEYS = {"authorization": "Authorization: Bearer $API_KEY", "x-api-key": "X-Api-Key: $API_KEY"}
"""Headers that hold a key, and what stands in their place."""
_KEPT = {"content-type", "accept", *(name for each in DIALECTS for name in each.label.headers)}
_KEY_IN_LINK = re.compile(
    r"(?<=[?&;])(?=[^=&;]*(?:key|token|secret|sig|auth|pass|pwd|credential|session|jwt))"
    r"([^=&;]++)=[^&;]*",
    re.IGNORECASE,
)


def command(flow: HTTPFlow) -> str:
    """Return the command that asks the same again. Raises ValueError for a body that is no text."""
    try:
        body = content_of(flow.request).decode()
    except UnicodeDecodeError:
        raise ValueError("the request is no text") from None
    words = [
        "curl",
        "-sNg",
        *(["-X", flow.request.method] if flow.request.method != "POST" else []),
        _KEY_IN_LINK.sub(r"\1=API_KEY", _address(flow)),
    ]
    lines = [shlex.join(ACTING.sub("", word) for word in words)]
    for name, value in flow.request.headers.items():
        if name.lower() in _KEYS:
            lines.append(f'-H "{_KEYS[name.lower()]}"')
        elif name.lower() in _KEPT:
            lines.append(f"-H {shlex.quote(ACTING.sub('', f'{name}: {value}'))}")
    lines += [f"--data-raw {shlex.quote(_in_json(body))}"] if body else []
    return " \\\n  ".join(lines)


def _address(flow: HTTPFlow) -> str:
    """Return where the client asked: the proxy itself where it stands before a server."""
    here = flow.client_conn.sockname
    if isinstance(flow.client_conn.proxy_mode, ReverseMode) and here and here[1]:
        host = f"[{here[0]}]" if ":" in here[0] else here[0]
        return f"http://{host}:{here[1]}{flow.request.path}"
    return flow.request.url


def _in_json(body: str) -> str:
    """Return the body with all that acts on a terminal escaped, for it stands within strings."""
    return ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", body.replace("\r\n", "\n"))
