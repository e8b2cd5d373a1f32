"""Where raw snapshots come from: one module for each kind of source, `fetch` for all of them."""
