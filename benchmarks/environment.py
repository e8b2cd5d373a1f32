"""The shopping environment against its peers: search, then scorer and episodes, one after the other.

    python benchmarks/environment.py --products 100000 1000000

Arguments go to `search.py`; `scorer.py` runs with its own defaults.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run both benchmarks and return the first exit status that is not zero."""
    runs = [["search.py", *sys.argv[1:]], ["scorer.py"]]
    statuses = [
        subprocess.run([sys.executable, str(HERE / name), *rest], check=False).returncode for name, *rest in runs
    ]
    return next((status for status in statuses if status), 0)


if __name__ == "__main__":
    sys.exit(main())
