"""The leak guard: similarity, clusters, pools, audit."""
