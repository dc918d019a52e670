"""The hooks keep the layer_contract, and neither side imports the other."""

import ast
from pathlib import Path

import pytest

from converter.addon import layer_contract
from converter.addon.hooks.exchange_listener import ExchangeListener
from converter.addon.hooks.refused_request import RefusalReader
from converter.addon.hooks.tap import Tap
from converter.addon.layers.connection import ReplyLayer
from converter.addon.layers.promises import StreamLayer

KEPT: list[tuple[type, type]] = [
    (layer_contract.StreamFunction, Tap),
    (layer_contract.HeldStream, Tap),
    (layer_contract.BodyReader, RefusalReader),
    (layer_contract.Refusal, RefusalReader),
    (layer_contract.Listener, ExchangeListener),
    (layer_contract.Connections, ReplyLayer),
    (layer_contract.Stream, StreamLayer),
]


@pytest.mark.parametrize(("promised", "kept"), KEPT, ids=lambda each: each.__name__)
def test_each_method_of_the_contract_is_kept(promised: type, kept: type) -> None:
    methods = [name for name in vars(promised) if callable(getattr(promised, name))]
    own = [name for name in methods if not name.startswith("_") or name == "__call__"]
    for name in own:
        assert getattr(kept, name) is not getattr(promised, name), name


def test_no_layer_imports_a_hook() -> None:
    layers = Path(layer_contract.__file__).parent / "layers"
    imported = [
        node.module
        for source in layers.rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    assert [name for name in imported if name.startswith("converter.addon.hooks")] == []
