"""The structural filter: gates, hard rejects, axis split, duplicate removal, ranking."""
