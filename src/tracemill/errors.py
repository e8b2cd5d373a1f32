"""The few kinds of error that tracemill raises on purpose.

Each message says which file, line, row or stage; what was found; what was expected; and what to do. The command line
prints the message alone (no traceback) and ends with `exit_code`.
"""


class TracemillError(Exception):
    """Base of all errors that a user can act on; `exit_code` is the process's exit status."""

    exit_code = 1


class ParamsError(TracemillError):
    """params.yaml (or an overlay) holds an unknown, missing or mistyped value."""

    exit_code = 2


class InputError(TracemillError):
    """A file, snapshot or trace cannot be used as it is."""

    exit_code = 3


class SyncError(TracemillError):
    """The DVC files no longer say what the rules say; the remedy is `make sync`."""

    exit_code = 4


class BusyError(TracemillError):
    """Another process holds the build or a stage; the message names its process id."""

    exit_code = 5


class StageError(TracemillError):
    """A stage could not do its work or did not leave the outputs it declares."""

    exit_code = 6


class GateError(TracemillError):
    """A gate (leak audit, mask gate) found what must not be there; the message carries the evidence."""

    exit_code = 7
