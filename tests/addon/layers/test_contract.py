"""The hooks keep the contract, and neither side imports the other."""

import ast
from pathlib import Path

import pytest

from converter.addon.hooks.exchange_listener import ExchangeListener
from converter.addon.hooks.refused import RefusalReader
from converter.addon.hooks.tap import Tap
from converter.addon.layers import contract
from converter.addon.layers.connection import ReplyLayer
from converter.addon.layers.promises import StreamLayer

KEPT: list[tuple[type, type]] = [
    (contract.StreamFunction, Tap),
    (contract.HeldStream, Tap),
    (contract.BodyReader, RefusalReader),
    (contract.Refusal, RefusalReader),
    (contract.Listener, ExchangeListener),
    (contract.Connections, ReplyLayer),
    (contract.Stream, StreamLayer),
]


@pytest.mark.parametrize(("promised", "kept"), KEPT, ids=lambda each: each.__name__)
def test_each_method_of_the_contract_is_kept(promised: type, kept: type) -> None:
    methods = [name for name in vars(promised) if callable(getattr(promised, name))]
    own = [name for name in methods if not name.startswith("_") or name == "__call__"]
    for name in own:
        assert getattr(kept, name) is not getattr(promised, name), name


def test_no_layer_imports_a_hook() -> None:
    layers = Path(contract.__file__).parent
    imported = [
        node.module
        for source in layers.rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    assert [name for name in imported if name.startswith("converter.addon.hooks")] == []
