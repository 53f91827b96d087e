"""Kubeflow Pipelines' own library, which tests speak with, in an environment of its own."""

from pathlib import Path

from rehearsal.toolchain.pythons import Environment

KFP = Environment(Path(__file__).with_name("kfp.txt"))
