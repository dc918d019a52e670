"""This mitmproxy has what we use of it; one that lacks something is found out."""

import inspect

import pytest
from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow

from converter.shell import mitmproxy_internals as internals
from tests.support.proxy_core import Core


def test_this_mitmproxy_lacks_nothing() -> None:
    assert internals.missing() == []


def test_what_a_later_version_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(internals.HttpLayer, "make_stream")
    monkeypatch.setattr(internals.HttpStream, "check_invalid", lambda _: None)
    assert internals.missing() == ["HttpLayer.make_stream", "HttpStream.check_invalid"]


def test_a_version_without_these_modules_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internals, "_not_importable", "No module named 'x'")
    assert internals.missing() == ["No module named 'x'"]


def test_functions_are_compared_by_their_parameters() -> None:
    for path, parameters in internals.BUILT_UPON.items():
        owner, _, name = path.partition(".")
        found = getattr(getattr(internals, owner), name, None)
        assert inspect.isfunction(found) == bool(parameters)


def test_a_layer_is_paused_while_it_waits() -> None:
    with Core() as core:
        core.hold = "request"
        core.ask()
        stream = core.layer.streams[1]
        assert internals.is_paused(stream)
        core.release()
        assert not internals.is_paused(stream)


def test_an_option_set_to_its_default_is_set() -> None:
    with taddons.context() as context:
        context.options.add_option("strategy", str, "eager", "")
        assert not internals.is_set_by_user("strategy")
        context.options.update(strategy="eager")
        assert internals.is_set_by_user("strategy")


def test_the_state_before_is_the_one_that_revert_restores() -> None:
    flow = tflow.tflow(resp=True)
    assert not internals.state_before(flow)
    assert not internals.state_before(None)
    flow.backup()
    flow.request.path = "/changed"
    assert internals.state_before(flow)["request"]["path"] == b"/path"
    internals.forget_state_before(flow)
    flow.revert()
    assert flow.request.path == "/changed"


def test_mitmdump_has_no_list_of_flows_and_mitmweb_has_one() -> None:
    with taddons.context() as context:
        assert internals.flow_list() is None
        context.master.addons.add(view := View())
        assert internals.flow_list() is view
