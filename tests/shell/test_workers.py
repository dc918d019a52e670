"""What workers can be asked for; that they work is proven by processes in tests/end_to_end."""

import pytest

from converter.shell import event_loop
from converter.shell.workers import check


def test_there_is_at_least_one_worker() -> None:
    with pytest.raises(ValueError, match="from 1, got 0"):
        check(0, [])
    check(1, [])


@pytest.mark.parametrize("saves", [["-w", "flows"], ["--set", "save_stream_file=flows"]])
def test_workers_do_not_write_into_one_flow_file(saves: list[str]) -> None:
    check(1, saves)
    with pytest.raises(ValueError, match=r"put \{worker\} into its name"):
        check(2, saves)
    check(2, [*saves[:-1], saves[-1] + "-{worker}"])


def test_several_workers_need_a_system_that_shares_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "can_share_port", lambda: False)
    check(1, [])
    with pytest.raises(ValueError, match="lets no two processes share a port"):
        check(2, [])
