"""A mitmproxy script for `make run`: once the proxy listens, says where it is and what to try."""

import json
import logging
import urllib.error
import urllib.request
from typing import Any

from mitmproxy import ctx
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.shell.page.addon import address

UNKNOWN_MODEL = "NAME-OF-YOUR-MODEL"
SECONDS_TO_ANSWER = 2.0
QUESTION = {
    "seed": 1,
    "temperature": 0.7,
    "max_tokens": 200,
    "messages": [{"role": "user", "content": "12 * 7"}],
}
DIALECTS = {"OpenAI": "/v1/chat/completions", "Anthropic": "/v1/messages"}

logger = logging.getLogger(__name__)


def running() -> None:
    """mitmproxy's hook: everything listens now."""
    server = ReverseMode.parse(ctx.options.mode[0]).data
    print(
        announcement(
            server,
            f"http://127.0.0.1:{ctx.options.listen_port}",
            web_address(),
            first_model(server),
        ),
        flush=True,
    )


def announcement(server: str, proxy: str, web: str | None, model: str) -> str:
    """What to tell the person who started the proxy."""
    lines = ["", f"Proxy:   {proxy}  (in front of {server})"]
    lines += [f"mitmweb: {web}", f"Watch:   {address(web)}"] if web else []
    lines += [
        f"\n# Ask in the {name} dialect:\n{curl(proxy + path, model)}"
        for name, path in DIALECTS.items()
    ]
    return "\n".join([*lines, "\nCtrl-C stops everything.\n"])


def curl(address: str, model: str) -> str:
    """One command that asks the question."""
    body = json.dumps({"model": model} | QUESTION).replace("'", r"\u0027")
    return f"curl -s {address} -H 'content-type: application/json' -d '{body}'"


def web_address() -> str | None:
    """mitmweb's address with the token that opens it; nothing for mitmdump."""
    address: Any = getattr(ctx.master, "web_url", None)
    return address and str(address)


def first_model(server: str) -> str:
    """The first model that the server lists; whoever starts the proxy before the server is told so."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{server}/v1/models", timeout=SECONDS_TO_ANSWER) as reply:
            return str(json.load(reply)["data"][0]["id"])
    except urllib.error.HTTPError:
        pass  # it is there, and lists no models
    except OSError as error:
        logger.warning("%s does not answer yet: %s", server, getattr(error, "reason", error))
    except (ValueError, LookupError, TypeError):
        pass
    return UNKNOWN_MODEL
