"""The core needs no package: it is imported by a Python that finds nothing but the repository."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
USED = """
import sys
sys.path.append({root!r})
from converter.core.library import read, rewrite
from importlib import import_module
for name in {modules!r}:
    import_module(name)
reply = b'data: {{"choices": [{{"delta": {{"content": "<think>hm</think>So"}}}}]}}\\n\\n'
message = read(b"".join(rewrite([reply], client="anthropic")))
outside = [name for name, module in sys.modules.items() if "site-packages" in str(module)]
ours = {{name.split(".")[1] for name in sys.modules if name.startswith("converter.")}}
print([message.thinking, message.text, outside, sorted(ours)])
"""


def test_the_core_is_imported_where_nothing_is_installed() -> None:
    files = (ROOT / "converter" / "core").rglob("*.py")
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    modules = sorted(name.removesuffix(".__init__") for name in names)
    script = USED.format(root=str(ROOT), modules=modules)
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    )
    assert ast.literal_eval(run.stdout) == ["hm", "So", [], ["core"]]
