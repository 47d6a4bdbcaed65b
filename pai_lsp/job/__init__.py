"""The job model: what a tree means as an OpenPAI job, and what in it refers to what."""
