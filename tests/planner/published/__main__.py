"""How far the forecast lies from published runs: `python -m tests.planner.published` prints it for both files."""

from planner.step import step_time
from tests.planner.published.runs import published


def main() -> None:
    """A line for each file: runs, and how many are within 10 and 25 % and in the printed range."""
    for file in ("runs", "unseen"):
        runs = list(published(file))
        steps = [step_time(run.model, run.job, run.layout, run.cluster) for run in runs]
        off = [abs(step.seconds / run.seconds - 1) for step, run in zip(steps, runs, strict=True)]
        ranges = [step.seconds_range for step in steps]
        within = sum(low <= run.seconds <= high for (low, high), run in zip(ranges, runs, strict=True))
        found = (sum(each <= 0.10 for each in off), sum(each <= 0.25 for each in off), within)
        words = ", ".join(f"{each} ({each / len(runs):.0%})" for each in found)
        print(f"{file}: {len(runs)} runs, within 10 %, within 25 %, in the printed range: {words}")


if __name__ == "__main__":
    main()
