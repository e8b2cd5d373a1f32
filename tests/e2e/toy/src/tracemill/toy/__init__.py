"""A small pipeline for the tests of the build engine."""
