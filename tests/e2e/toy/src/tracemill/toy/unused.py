"""No stage imports this module."""
