"""Tasks for lm-evaluation-harness: `--include_path` takes this folder."""
