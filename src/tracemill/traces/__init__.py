"""Raw snapshots: fetching, readers for each raw format, and the canonical trajectory."""
