"""The characters after which an editor should ask for completions by itself; a module of its own, quick to load."""

from __future__ import annotations

TRIGGERS = (":", " ", "-", "$", ".", "%", "{", "[", ",", "/", '"', "'", "_")
