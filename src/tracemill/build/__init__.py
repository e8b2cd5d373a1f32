"""The agreement of the two engines: stages declared by rules, judged and cached by DVC, scheduled by Snakemake."""
