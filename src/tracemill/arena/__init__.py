"""The built-in SN15 arena: catalogue, problems, scripted miners of every kind, and a judge."""
