"""Rollouts, pass@k, intervals, lm-eval tasks."""
