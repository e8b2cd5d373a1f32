# The whole build: rules/*.smk hold one rule for each kind of artifact, `tracemill.build` connects them with DVC.
import os
import sys

from snakemake.utils import min_version

min_version("9.27.1")
if os.path.isdir("src/tracemill"):  # a copy of the project runs its own code
    sys.path.insert(0, os.path.abspath("src"))

from tracemill.build.workflow import JOB, Build


container: "docker://ghcr.io/tracemill/tracemill:0.1.0"


BUILD = Build(workflow)
PROJECT = BUILD.project


rule all:
    input:
        BUILD.everything(),


# `snakemake corpus` builds what rules/corpus.smk declares, and so on.
for path in BUILD.rule_files():

    include: path

    rule:
        name:
            os.path.splitext(os.path.basename(path))[0]
        input:
            BUILD.everything(path),


BUILD.begin()


onsuccess:
    BUILD.end("done")


onerror:
    BUILD.end("failed")
