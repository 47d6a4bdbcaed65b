"""Requests over HTTP with limits, the words about their failures, and access tokens: all that uses the network."""
