"""Find the imports between the project's modules: all that a module needs (`closure`), and modules
that import one another (`circles`).

    python -m tools.imports converter.core.reply.rewriter

prints each module that the rewriter imports, directly or through others, with its number of lines.
An import counts wherever it stands: at the head, in a function, or under TYPE_CHECKING.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The folder of this project."""


@cache
def file_of(module: str) -> Path | None:
    """Return the file of a module or package of this project; None for any other.

    `converter.core.wire.sse` -> `converter/core/wire/sse.py`,
    `converter.core.wire` -> `converter/core/wire/__init__.py`.
    """
    path = ROOT / module.replace(".", "/")
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def imported_by(module: str) -> frozenset[str]:
    """Return the project's modules that a module imports directly."""
    file = file_of(module)
    names = _imported_names(ast.parse(file.read_text())) if file else ()
    return frozenset(name for name in names if name != module)


def _imported_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the project's modules that the file `tree` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if file_of(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if file_of(name) or file_of(node.module):
                    yield name if file_of(name) else node.module


def closure(module: str) -> set[str]:
    """Return the module and all of the project's modules that it imports, directly or not.

    The packages of these modules count too, because an import runs their `__init__.py`.
    """
    waiting, seen = [module], {module}
    while waiting:
        name = waiting.pop()
        packages = {name.rpartition(".")[0]} - {""}
        for other in (imported_by(name) | packages) - seen:
            seen.add(other)
            waiting.append(other)
    return {name for name in seen if file_of(name)}


def count_lines(modules: set[str]) -> Mapping[str, int]:
    """Return name of a module -> how many lines its file has."""
    files = {name: file_of(name) for name in sorted(modules)}
    return {name: file.read_text().count("\n") for name, file in files.items() if file}


def circles(modules: Sequence[str]) -> list[list[str]]:
    """Return each group of modules that import one another, directly or through others."""
    reached = {module: _reachable_from(module) for module in modules}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached.get(other, ())))
        for module in modules
    }
    return sorted([*group] for group in groups if group)


def _reachable_from(module: str) -> set[str]:
    """Return the modules that a module imports, directly or through others.

    The module itself is among them only if it is in a circle of imports.
    """
    waiting, seen = [*imported_by(module)], set(imported_by(module))
    while waiting:
        for other in imported_by(waiting.pop()) - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def main(arguments: Sequence[str]) -> int:
    """Print each module in the `closure` of the named one, with its number of lines.

    Return the exit code: 2 if there is no such module, else 0.
    """
    if len(arguments) != 1 or file_of(arguments[0]) is None:
        print("expected the name of a module, such as converter.core.reply.rewriter")
        return 2
    counted = count_lines(closure(arguments[0]))
    for name, count in counted.items():
        print(f"{count:6} {name}")
    print(f"{sum(counted.values()):6} lines in {len(counted)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
