"""The characters after which an editor should ask for completions by itself; a module of its own, quick to load."""

from __future__ import annotations

# After `key:` and `-` a line may end; the blank that follows otherwise asks.
TRIGGERS = (" ", "$", ".", "%", "{", "[", ",", "/", '"', "'", "_")
