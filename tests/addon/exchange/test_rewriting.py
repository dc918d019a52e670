from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import reading_of, rewriter_of
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from converter.core.model.initial_state import InitialState
from converter.core.reading.reading import Expected
from tests.support.frames import whole

THINKING = Expected(InitialState.THINKING)


def test_what_the_user_chose_decides_how_a_reply_is_read() -> None:
    chosen = settings.read({"start": "text", "attributes": False, "blanks": "trim"})
    reading = reading_of(chosen, THINKING)
    assert (reading.tags, reading.attributes) == (chosen.tags, False)
    assert reading.types_values
    assert not reading_of(settings.read({"values": "sent"}), Expected()).types_values
    assert (reading.trims_blanks, reading.phrases, reading.whole) == (True, False, False)
    assert not reading.inside


def test_the_expected_facts_of_a_reply_are_read_with() -> None:
    assert reading_of(settings.read(), THINKING, whole=True).inside


def test_the_names_that_clients_get_are_the_users() -> None:
    chosen = settings.read({"signature": "of-mine", "fields": ["reasoning"]})
    body = whole(content="<think>t</think>a")
    assert b'"of-mine"' in b"".join(rewriter_of(chosen, ANTHROPIC, Form.WHOLE).whole(body))
    rewritten = b"".join(rewriter_of(chosen, OPENAI_CHAT, Form.WHOLE).whole(body))
    assert b'"reasoning":"t"' in rewritten.replace(b" ", b"")


def test_a_field_of_the_servers_own_goes_where_the_user_says() -> None:
    chosen = settings.read({"map": ["inner=thinking:thinking"]})
    rewriter = rewriter_of(chosen, ANTHROPIC, Form.WHOLE)
    assert b'"thinking":"t"' in b"".join(rewriter.whole(whole(content="a", inner="t")))
