"""Completion: what can be typed at a place of a job."""

# The characters after which an editor asks for completions by itself. After `key:`, `-` and `<%` a line may end; the
# blank that follows otherwise asks.
TRIGGERS = (" ", "$", ".", "{", "[", ",", "/", '"', "'", "_")
