"""Findings, the rules that make them, their fixes, and comments that silence them."""
