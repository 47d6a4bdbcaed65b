"""Measurements beside the peers, in one run: `make bench`. Figures are medians; these are whole processes."""
