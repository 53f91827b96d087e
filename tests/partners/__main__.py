"""`python -m tests.partners`: make what the slow tests need, before they wait for it."""

from tests.partners import python

python("kfp")
python("mlflow")
