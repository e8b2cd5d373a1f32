"""The shopping environment: catalogue search, tools, episodes and the production scorer of SN15."""
