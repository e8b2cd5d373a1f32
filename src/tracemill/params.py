"""params.yaml: one loader, one schema, one line per mistake.

The file is read as YAML 1.2 (so `1e-5`, `1.0e-5` and `0.00001` are one float). Each package declares the models of its own
sections in `<package>/params.py`; this module puts them together and says where a wrong value stands and what comes nearest.
"""
