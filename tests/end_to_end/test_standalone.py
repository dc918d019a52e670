"""mitmproxy's own binaries hold what their program imports, and no more: mitmdump's is without the
parts of mitmweb and the console. The addon loads there all the same.
"""

import subprocess
import sys

import pytest

from tests.support.harness import TESTS

pytestmark = pytest.mark.slow

ALONE = """
import sys
for other in ("mitmproxy.tools.web", "mitmproxy.tools.console"):
    sys.modules[other] = None
from mitmproxy.tools import dump, main
held = {name for name in sys.modules if name.startswith("mitmproxy.")}

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("mitmproxy.") and name not in held:
            raise ModuleNotFoundError(f"{name} is not in the binary")

sys.meta_path.insert(0, Refusing())
{imports}
print("loaded")
"""


def _run(imports: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ALONE.replace("{imports}", imports)],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_addon_loads_where_only_mitmdump_is() -> None:
    done = _run("import think_addon; assert think_addon.addons")
    assert (done.stdout, done.returncode) == ("loaded\n", 0), done.stderr


def test_what_mitmdump_does_without_is_refused_here() -> None:
    assert (
        "mitmproxy.addons.view is not in the binary" in _run("import mitmproxy.addons.view").stderr
    )
