"""Marketplaces: where jobs' references by address find their definitions, and what is known of them.

A `Catalog` is an immutable value and answers from memory. Only the modules whose docstrings mention it use the disk
or the network.
"""
