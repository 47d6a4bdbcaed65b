"""OpenPAI as data: its schemas, events, plugins, environment variables and exit codes, each with its source."""
