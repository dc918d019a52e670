"""The members of mitmproxy that we use do as we expect."""

from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow

from converter.addon import mitmproxy_internals as internals


def test_an_option_set_to_its_default_is_set() -> None:
    with taddons.context() as context:
        context.options.add_option("strategy", str, "eager", "")
        assert not internals.is_set_by_user("strategy")
        context.options.update(strategy="eager")
        assert internals.is_set_by_user("strategy")


def test_an_options_value_is_the_one_that_mitmproxy_tells() -> None:
    with taddons.context() as context:
        context.options.add_option("strategy", str, "eager", "")
        assert internals.value_of("strategy") == context.options.strategy == "eager"
        context.options.update(strategy="lazy")
        assert internals.value_of("strategy") == context.options.strategy == "lazy"
        assert internals.value_of("none of this name") is None


def test_the_state_before_is_the_one_that_revert_restores() -> None:
    flow = tflow.tflow(resp=True)
    assert not internals.flow_backup(flow)
    assert not internals.flow_backup(None)
    flow.backup()
    flow.request.path = "/changed"
    assert internals.flow_backup(flow)["request"]["path"] == b"/path"
    internals.remove_flow_backup(flow)
    flow.revert()
    assert flow.request.path == "/changed"


def test_mitmdump_has_no_list_of_flows_and_mitmweb_has_one() -> None:
    with taddons.context() as context:
        assert internals.flow_list() is None
        context.master.addons.add(view := View())
        assert internals.flow_list() is view
