"""What an assistant that writes jobs asks, and the server of the Model Context Protocol that it asks.

The tools are described in schemas/assistant_tools.json. Nothing is written, run, sent or submitted.
"""
