"""`PromptCache`, an addon, reports in log and comment that a server must read a part of a prompt
again, because this part differs from the cached prompt. `prefix.py` finds the difference and its
cause.
"""

import logging
from concurrent.futures import Future
from functools import partial

from converter.addon.aside import begin_aside
from converter.addon.keep.flow_record import BEFORE, FlowRecord
from converter.addon.log_lines import report
from converter.addon.watcher import Watcher
from converter.core.model.housekeeping import housekeeping_of
from converter.extras.prompt_cache.prefix import Break, Prompt, Prompts, first_break


class PromptCache(Watcher):
    """The addon that compares each prompt with the earlier prompt that it continues, and reports a
    break of the server's cache.
    """

    name = "think-prompt-cache"
    """The name of this addon in mitmproxy."""

    def __init__(self) -> None:
        self._prompts = Prompts()
        self._followed: dict[str, tuple[Prompt, Prompt | None, Future[Break | None] | None]] = {}
        """The id of a running exchange's flow -> its prompt, the earlier prompt that it continues,
        and the comparison of both; None for the last two if it continues no prompt.
        """

    def asked(self, seen: FlowRecord) -> None:
        """Begin to compare a request's prompt with the earlier prompt that it continues; in a
        thread if the prompt is long.
        """
        sent = seen.awaited.sent_fields if seen.awaited else {}
        # A request that a client sends for its own needs, such as for a title, is not part of the
        # conversation.
        if not sent or housekeeping_of(sent):
            return
        name, size = seen.flow.id, seen.body_size
        prompt = Prompt(f"{seen.exchange.owner} {seen.upstream}", name, sent, size)
        before = self._prompts.replace_earlier(prompt)
        comparison = begin_aside(size, partial(first_break, before.body, sent)) if before else None
        self._followed[name] = prompt, before, comparison

    def ended(self, seen: FlowRecord) -> None:
        """Report a break of the cache in the log and on the flow. Report nothing if the server's
        count of cached tokens shows that no cache was broken, if the comparison still runs, or if
        no reply was rewritten.
        """
        followed = self._followed.pop(seen.flow.id, None)
        if followed is None or seen.rewriter is None:
            return
        prompt, before, comparison = followed
        usage = seen.rewriter.summary.counted
        counts = (usage.input, usage.cached) if usage else (None, None)
        prompt.tokens = counts[0]
        broken = comparison.result() if comparison and comparison.done() else None
        if before and broken and (message := broken.message(before.tokens, *counts)):
            seen.flow.metadata[BEFORE] = before.name
            short = report(seen.client_request, [message], logging.INFO)
            seen.hints += short if seen.flow.error else [message]
