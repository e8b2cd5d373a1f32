"""Keeps the lines of a snapshot that are long enough."""


def keep(lines: list[str], minimum: int) -> list[str]:
    return [line for line in lines if len(line) >= minimum]
