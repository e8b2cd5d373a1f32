"""Merges snapshots by content."""


def merge(snapshots: list[list[str]], header: str) -> list[str]:
    return [header, *sorted({line for lines in snapshots for line in lines})]
