"""Text with places: YAML read as both readers of a cluster read it, and edits that keep everything else."""
