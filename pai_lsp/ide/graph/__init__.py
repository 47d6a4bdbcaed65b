"""The prerequisite graph as values, as DOT and as Mermaid."""
