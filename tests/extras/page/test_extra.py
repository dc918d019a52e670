"""The addons of this extra."""

from pathlib import Path

from converter.addon.exchange import settings
from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.known_servers import KnownServers
from converter.addon.watcher import ExtraServices
from converter.extras import command
from converter.extras.page import extra


def test_the_script_that_prints_the_address_is_recognised_by_its_name() -> None:
    assert (Path(command.__file__).parent / extra.ANNOUNCEMENT).is_file()


def test_all_addons_are_created() -> None:
    services = ExtraServices(settings.read, UpstreamClient(KnownServers()))
    assert [type(each).__name__ for each in extra.addons(services)] == [
        "KeptExchanges",
        "MountedPage",
    ]
