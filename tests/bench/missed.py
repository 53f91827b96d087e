"""Why a figure misses its goal, by its name: one paragraph each in docs/benchmarks.md, where it does.

A reason says what the time goes to and what would have to change; one that holds no longer is removed with its cause.
"""

from collections import Counter
from pathlib import Path

REASONS = {
    "program share of a preview, prod": (
        "Before the first resource the program reads some 500 modules of its own: pydantic builds the models of the "
        "settings, the planner's rules are imported plainly, and each component is a class. The flat program has none "
        "of them. Importing rules only when they are asked would save about 0.1 s of CPU, and hide a broken rule from "
        "the type checker and from every test that does not ask it; it was so once and was given up."
    ),
    "32 machines prepared over one": (
        "What prepares a machine runs on it: shell scripts and the tools that they call, a hundred processes, each "
        "of which starts an interpreter here. The time that tools wait for hardware passes on all machines at once; "
        "their CPU does not, because 32 rehearsed machines share the cores of one: 32 times the seconds of CPU of one, "
        "by the cores, is the least that they take, whatever the program does, which opens one connection for each. "
        "Machines of a site prepare themselves on cores of their own; how long 32 of them take there was not measured."
    ),
    "up of a gang of 256 over kubectl": (
        "Before it makes the job, `up` runs the program and compares each of its resources with what is there, as it "
        "does for any change; from the job's creation on, both take the same. While a rehearsed cluster took 66 s to "
        "start 256 pods the ratio was 1.18, the preview included, and since it takes 29 s those seconds weigh more."
    ),
    "make quick": (
        "The quick tier holds some ten thousand tests of settings, plans, policies and of what every stack registers; "
        "what costs more than it finds is in `make slow`. On two cores it takes as long as its CPU allows: on four it "
        "takes half."
    ),
}

OF_THE_REVIEW = ("NetworkRules", "PinnedMemory", "vpc-cni-identity", "training-operator-access-jobs")
"""Words in names of dev's resources that nothing but the review of safety asked for."""
BEFORE = 177
"""Resources of dev at commit 88b4fa0."""


def of_the_review() -> Counter[str]:
    """How many of today's resources of dev the review alone asked for, by type."""
    urns = (Path(__file__).parents[1] / "graph/golden/dev.urns").read_text(encoding="utf-8").splitlines()
    theirs = (urn.split("::") for urn in urns if any(word in urn for word in OF_THE_REVIEW))
    return Counter(types.rpartition("$")[2].rpartition(":")[2] for _, _, types, _ in theirs)


def beside() -> dict[str, str]:
    """Goals without a row of their own, with what was last measured."""
    found = of_the_review()
    more = found.total()
    return {
        "staging and copies of saves, at the speed of `cp` alone within 10 %": (
            "What was written is read back from the disk and compared, and every byte is hashed; `cp` does neither. "
            "The rows say what each takes. Hashes are most of it: without instructions for SHA-256 a core reaches 0.3 "
            "GiB/s, so that hashes of 512 MiB take two cores 0.8 s at least, whatever else is done, and `cp` of the "
            "same files takes 0.5 to 0.7 s, as the disk here is as fast as memory. They run beside the copy, on as "
            "many cores as there are; another hash would be faster, but `sha256sum --check` would not know it. Of 2.1 "
            "s of CPU that a copy takes, 0.7 s are left without its hashes, for reading, writing and reading back; "
            "`cp` takes 0.2 s. What a processor with such instructions (`sha_ni` in /proc/cpuinfo), or more cores, "
            "makes of it was not measured: `python -m tests.bench.copies` on a node says it. Beside `cp` and the same "
            "check, one after the other, staging and copies are no slower."
        ),
        "make up of dev, 1.1 times of what it took before the review of safety, 1.5 before monitoring": (
            "It takes 1.84 times: 78.3 s for 328 resources, and 42.6 s for 177 at commit 88b4fa0, which is before both."
            " It grew as the resources did, 1.85 times: NetworkPolicies, roles, admission policies and monitoring are "
            f"made in every `up`. Of safety alone are {more} "
            f"({', '.join(f'{many} {kind}' for kind, many in found.most_common())}; `python -m tests.bench.missed` "
            f"counts them), {(BEFORE + more) / BEFORE:.2f} times by themselves, where 1.1 times is 17 more: a "
            "namespace that denies by default takes a policy for each thing that it lets through. What the review "
            "added to the command itself, policies before and a comparison after, takes 4 % (the row of the checks)."
        ),
    }


def paragraphs(missed: list[str]) -> str:
    """The section of the page for the figures that miss, and for goals that no figure is of."""
    told = [f"**{name}.** {REASONS.get(name, 'Nobody has looked into it yet.')}" for name in missed]
    told += [f"**{name}.** {reason}" for name, reason in beside().items()]
    return "\n## Goals that are missed\n\n" + "\n\n".join(told) + "\n"


if __name__ == "__main__":
    print(paragraphs([]))
