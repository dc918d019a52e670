"""The addons of this extra."""

from converter.addon.exchange import settings
from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.known_servers import KnownServers
from converter.addon.watcher import ExtraServices
from converter.extras.recordings import extra


def test_all_addons_are_created() -> None:
    services = ExtraServices(settings.read, UpstreamClient(KnownServers()))
    assert [type(each).__name__ for each in extra.addons(services)] == ["Recorder"]
