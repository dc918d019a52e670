"""Which addons have a hook."""

from mitmproxy.test import taddons

from converter.shell.layers.listeners import Listeners


class Hears:
    """An addon with the hook, and others within it."""

    def __init__(self, name: str, *addons: object) -> None:
        self.name, self.addons = name, list(addons)

    def request(self, _: object) -> None: ...


class Deaf:
    """An addon without the hook."""

    def __init__(self, name: str, *addons: object) -> None:
        self.name, self.addons = name, list(addons)


def test_addons_within_each_other_come_together_and_in_order() -> None:
    inner, deep, last = Hears("inner"), Hears("deep"), Hears("last")
    outer = Hears("outer", Deaf("between", deep), inner)
    with taddons.context(Deaf("deaf"), outer, last):
        assert Listeners().of("request") == [[outer, deep, inner], [last]]
        assert Listeners().of("response") == []


def test_an_addon_that_a_script_loads_anew_is_found() -> None:
    script = Deaf("script", first := Hears("within"))
    with taddons.context(script) as context:
        addons, listeners = context.master.addons, Listeners()
        assert listeners.of("request") == [[first]]
        addons.remove(first)
        script.addons = []
        assert listeners.of("request") == []
        script.addons = [second := Hears("within")]
        addons.register(second)
        assert listeners.of("request") == [[second]]
