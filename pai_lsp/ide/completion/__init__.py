"""Completion: what can be typed at a place."""
