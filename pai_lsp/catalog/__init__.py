"""Marketplaces: where definitions come from that jobs name by an address, and what is known of them at this moment.

A `Catalog` is a value: it answers from memory. Only the modules that say so touch the disk or the network.
"""
