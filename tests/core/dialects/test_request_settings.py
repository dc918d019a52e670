from converter.addon.servers.profiles import GENERIC, request_settings
from converter.core.dialects.request_settings import RequestSettings
from converter.core.model.conversation import Conversation, TextBlock, Turn

HI = (Turn("user", (TextBlock("hi"),)),)


def test_the_defaults_are_those_of_a_server_without_a_profile() -> None:
    assert request_settings(GENERIC, Conversation("m", HI)) == RequestSettings()
