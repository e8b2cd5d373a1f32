"""tracemill: from the traces of agent arenas to trained agents, reproducibly."""

__version__ = "0.1.0"
