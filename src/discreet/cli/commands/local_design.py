"""`discreet local design` and `simulate`: a question to devices, and its rehearsal, before anyone is asked.

`encode`, `aggregate` and `estimate` are in `reports`. Files are checked before anything is made.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import files, local_options, options, output
from discreet.cli.local_options import Confidence, Delta, Labels, Liars, Public
from discreet.cli.progress import waiting
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection
    from discreet.local.design.choose import Choice
    from discreet.local.design.simulate import Simulation
    from discreet.local.protocols.protocol import Randomiser

_SHOWN = 20  # values of a table
_LISTED = 1 << 20  # values with a bit of each in every report


def design(
    name: Annotated[str, typer.Argument(help="What the collection is called.")],
    epsilon: Annotated[str, typer.Option(help="What one report may cost its device, such as 1.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the signed collection goes; its key beside it.")
    ],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The private key that signs; made if there is none.")],
    begins: Annotated[str, typer.Option("--from", metavar="DAY", help="The first day of reports: 2026-01-01.")],
    ends: Annotated[str, typer.Option("--to", metavar="DAY", help="The last one.")],
    values: Annotated[str | None, typer.Option(metavar="LABELS", help="The domain: yes,no,unsure.")] = None,
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="The domain, a label in each line.")] = None,
    size: Annotated[int | None, typer.Option(help="The domain 0, 1, … of so many numbers.")] = None,
    alphabet: Annotated[str | None, typer.Option(help="Words of these letters, that nobody has to list.")] = None,
    length: Annotated[int, typer.Option(help="How many letters of a word count.")] = 8,
    protocol: Annotated[str | None, typer.Option(help="By name; the best for domain and ε if unsaid.")] = None,
    bits: Annotated[int | None, typer.Option(help="The most that a report may have.")] = None,
    policy: Annotated[str, typer.Option(help="How a device answers again: none, memoised, two-step.")] = "none",
    reports: Annotated[int | None, typer.Option(help="With none: how many in a life. Their ε add up.")] = None,
    distinct: Annotated[int | None, typer.Option(help="With a memory: for how many different values.")] = None,
    lifetime: Annotated[str | None, typer.Option(help="With two-step: the ε of all reports on a value.")] = None,
    every: Annotated[int, typer.Option(help="Days from one report to the next, at least.")] = 1,
    minimum_cohort: Annotated[int, typer.Option(help="Below so many reports nothing is estimated.")] = 100,
    null: Annotated[str | None, typer.Option(metavar="LABEL", help="What a value outside is reported as.")] = None,
    delta: Delta = "1e-6",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was designed as JSON.")] = False,
) -> None:
    """Design a question to devices: choose the protocol, say why and what it promises, and sign it.

    [bold]Examples[/bold]

    [cyan]discreet local design cheating --values yes,no --epsilon 0.5 --from 2026-01-01 --to 2026-12-31
    --key survey.key --out cheating.json[/cyan]

    [cyan]discreet local design pages --labels pages.txt --epsilon 1 --policy two-step --lifetime 2 …[/cyan]
      reports every day, on what never costs more than ε = 2 in a life

    [cyan]discreet local design words --alphabet abcdefghijklmnopqrstuvwxyz --protocol prefix-tree …[/cyan]
      new words, that nobody has to list
    """
    from discreet.local.collection.collection import Collection
    from discreet.local.collection.policy import Policy
    from discreet.local.collection.signing import opened, signed
    from discreet.local.protocols.strings.strings import Alphabet

    _expect_new(out)
    output.expect_writable("--key", key)
    domain = _domain(values, labels, size)
    if protocol is None and domain is None:
        _expect_listed(alphabet)
    count = len(domain) if isinstance(domain, list) else domain
    choice, made = _protocol(count, epsilon, protocol, bits, policy, lifetime)
    collection = Collection.design(
        name,
        domain=domain,
        alphabet=Alphabet(alphabet, length) if alphabet is not None else None,
        protocol=made if made is not None else protocol,
        epsilon=None if made is not None else epsilon,
        longitudinal=Policy(policy, reports=reports, distinct=distinct, every=every),
        window=(begins, ends),
        minimum_cohort=minimum_cohort,
        null=null,
    )
    private, public = local_options.signing_key(key)
    envelope = signed(collection, private)
    opened(envelope, public, today=date.min)  # two keys that are no pair are found out here
    local_options.replaced(out, envelope)
    local_options.replaced(out.with_suffix(".pub"), public.hex().encode() + b"\n")
    _show_design(collection, choice, delta, out, as_json)


def simulate(
    collection: Annotated[
        Path | None,
        typer.Argument(metavar="[COLLECTION]", help="A signed collection; else --values and --epsilon."),
    ] = None,
    devices: Annotated[int, typer.Option(help="How many take part.")] = 100_000,
    population: Annotated[
        str, typer.Option(help="zipf, uniform, geometric, or a CSV with the columns value and count.")
    ] = "zipf",
    values: Annotated[str | None, typer.Option(metavar="LABELS", help="The domain: yes,no,unsure.")] = None,
    size: Annotated[int | None, typer.Option(help="The domain 0, 1, … of so many numbers.")] = None,
    epsilon: Annotated[str, typer.Option(help="What one report costs, without a collection.")] = "1",
    protocol: Annotated[str | None, typer.Option(help="By name; the best if unsaid.")] = None,
    lying: Annotated[str, typer.Option(help="Let this fraction of devices lie in favour of a rare value.")] = "0",
    liars: Liars = "0.01",
    confidence: Confidence = "0.95",
    delta: Delta = "1e-6",
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: .svg, .png, .html or .pdf.")] = None,
    public: Public = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print truth and estimates as JSON.")] = False,
) -> None:
    """Rehearse a collection on a population that is known: estimates with intervals beside the truth.

    [bold]Examples[/bold]

    [cyan]discreet local simulate --size 1000 --epsilon 1 --devices 1000000[/cyan]

    [cyan]discreet local simulate cheating.json --population students.csv --plot rehearsal.png[/cyan]

    [cyan]discreet local simulate cheating.json --devices 5000 --lying 0.02[/cyan]
      one in fifty lies
    """
    from discreet.local.design import simulate as rehearsal

    if plot is not None:
        files.expect_picture("--plot", plot)
    made = _rehearsed(collection, public, labels, _domain(values, None, size), epsilon, protocol)
    counts = _counts(made, population, devices)
    with waiting(f"{int(sum(counts)):,} devices report"):
        found = rehearsal.simulate(local_options.one_report(made), counts, malicious=lying)
    if as_json:
        output.data(_simulated(found, confidence, delta, liars))
    else:
        _show_simulation(found, confidence, delta, liars)
    files.write("--plot", plot, lambda to: files.picture(found.plot(confidence), to), quiet=as_json)


# -- designing ---------------------------------------------------------------------------------------------------


def _expect_new(out: Path) -> None:
    output.expect_writable("--out", out)
    if out.suffix == ".pub":
        raise DiscreetError(f"--out {out} is where the key goes: name it {out.with_suffix('.json')}")
    if out.exists():
        raise DiscreetError(f"--out {out} is there already. Collections never change: give a new one a new file.")


def _expect_listed(alphabet: str | None) -> None:
    """Refuse to choose a protocol for values that nobody listed. A domain that was left out is no open one."""
    from discreet.local.collection.domains import TEXTS, WORDS

    if alphabet is not None:
        raise DiscreetError(
            f"Which protocol finds words of --alphabet? --protocol {' or --protocol '.join(WORDS)}"
        )
    raise DiscreetError(
        "What may a device answer? List it: --values yes,no or --labels FILE or --size 1000. Answers that nobody "
        f"can list need --protocol, {' or '.join(TEXTS)}, and words to be found --alphabet."
    )


def _domain(values: str | None, labels: Path | None, size: int | None) -> list[str] | int | None:
    if sum(each is not None for each in (values, labels, size)) > 1:
        raise DiscreetError("A domain is one of --values yes,no or --labels FILE or --size 1000.")
    return options.names(values) or (local_options.lines(labels) if labels is not None else size)


def _protocol(
    count: int | None, epsilon: str, protocol: str | None, bits: int | None, policy: str, lifetime: str | None
) -> tuple[Choice | None, Randomiser | None]:
    """Return what was chosen, if it was, and the protocol, if the name alone does not say it."""
    from discreet.local.design.choose import choose

    if bits is not None and (protocol is not None or policy == "two-step" or count is None):
        raise DiscreetError(
            "--bits is for choosing a protocol: leave it out, or leave out --protocol and --policy."
        )
    if policy == "two-step":
        return None, _two_steps(count, epsilon, protocol, lifetime)
    if lifetime is not None:
        raise DiscreetError("--lifetime is for --policy two-step: else the ε of a life follows from --epsilon.")
    if count is None or protocol is not None:
        return None, None
    choice = choose(count, epsilon, bits=bits)
    return choice, choice.randomiser


def _two_steps(count: int | None, epsilon: str, protocol: str | None, lifetime: str | None) -> Randomiser:
    """Return the protocol that was asked for, or the better of two; `count` is None where nothing is listed."""
    from discreet.local.protocols.registry import kind

    if lifetime is None:
        raise DiscreetError("What may all reports on a value cost together? --lifetime 2, more than --epsilon.")
    chosen = ("two-step-grr", "two-step-unary")
    names = ("rappor",) if count is None else (*chosen, "rappor")
    if protocol not in (None, *names) or (protocol is None and count is None):
        asked = f"--protocol {protocol} has no second step" if protocol else "Nothing with two steps is chosen"
        raise DiscreetError(f"{asked} here. Take --protocol {' or '.join(names)}.")
    if protocol is not None:
        made: Any = kind(protocol)
        only: Randomiser = made.for_losses(count or 0, lifetime=lifetime, each=epsilon)
        return only
    kinds: list[Any] = [kind(name) for name in (chosen if (count or 0) <= _LISTED else chosen[:1])]
    both = [each.for_losses(count, lifetime=lifetime, each=epsilon) for each in kinds]
    best: Randomiser = min(both, key=lambda randomiser: randomiser.variance())
    return best


def _show_design(collection: Collection, choice: Choice | None, delta: str, out: Path, as_json: bool) -> None:
    from discreet.local.collection.guarantee import promised

    promise = promised(collection, n=collection.minimum_cohort, delta=delta)
    randomiser = collection.randomiser
    why = choice.why if choice else f"{randomiser.name}, as asked ({randomiser.payload_bytes} bytes)."
    if as_json:
        output.data(
            {
                "name": collection.name,
                "id": collection.id.hex(),
                "protocol": randomiser.name,
                "why": why,
                "payload_bytes": randomiser.payload_bytes,
                **local_options.guaranteed(promise),
                "file": str(out),
                "public_key": str(out.with_suffix(".pub")),
            }
        )
        return
    output.say(f"{collection.name}, {collection.id.hex()[:16]}", style="bold")
    output.say(why, "")
    if choice:
        rows = [(c.randomiser.name, f"{c.variance:.4g}", f"{c.bits:,}") for c in choice.table]
        output.table(("protocol", "n·Var", "bits"), rows, right=(1, 2))
        output.say("")
    output.say(*promise.sentences, *collection.guarantee().split("\n")[2:], "")
    output.say(f"Wrote {out}, and the key that devices check it with to {out.with_suffix('.pub')}")


# -- rehearsing --------------------------------------------------------------------------------------------------


def _rehearsed(
    file: Path | None,
    public: Path | None,
    labels: Path | None,
    domain: list[str] | int | None,
    epsilon: str,
    protocol: str | None,
) -> Collection:
    from discreet.local.collection.collection import Collection
    from discreet.local.collection.domains import Labels as Listed

    if file is None and domain is None:
        raise DiscreetError("What is asked? Name a signed collection, or a domain: --values yes,no or --size 1000")
    if file is not None and domain is not None:
        raise DiscreetError("A collection has its domain: leave out --values and --size.")
    if file is None:
        always = ("2000-01-01", "2099-12-31")
        return Collection.design("rehearsal", domain=domain, epsilon=epsilon, protocol=protocol, window=always)
    made = local_options.opened(file, public, labels)
    if not isinstance(made.domain, Listed):
        raise DiscreetError(
            f"The values of {made.name!r} cannot be listed, so that no truth can be laid beside them."
        )
    return made


def _counts(collection: Collection, population: str, devices: int) -> list[int]:
    from discreet.local.design.simulate import SHAPES
    from discreet.local.design.simulate import population as shaped

    size = collection.randomiser.domain
    if population in SHAPES:
        return [int(count) for count in shaped(population, size, devices)]
    file = Path(population)
    if not file.is_file():
        raise DiscreetError(f"--population {population} is none of {', '.join(SHAPES)}, nor a file.")
    written = local_options.lines(file, "count")
    if not all(count.strip().isdigit() for count in written):
        raise DiscreetError(
            f"{file} has a count that is no whole number: the column count says how many hold a value."
        )
    counts = [0] * size
    places = local_options.coded(collection, local_options.lines(file, "value"))
    for place, count in zip(places.tolist(), written, strict=True):
        counts[place] += int(count)
    return counts


def _simulated(found: Simulation, confidence: str, delta: str, liars: str) -> dict[str, Any]:
    from discreet.local.collection.guarantee import promised
    from discreet.local.design.poisoning import poisoning

    collection, estimate = found.answer.collection, found.estimate
    harm = poisoning(collection.randomiser, estimate, liars, confidence)
    rows = found.rows(confidence)
    return {
        "protocol": collection.randomiser.name,
        "devices": estimate.n,
        "lying": found.malicious,
        "error": found.error,
        "expected_error": found.expected_error,
        "consistent_error": found.consistent_error,
        "covered": found.covered(confidence),
        "confidence": float(confidence),
        **local_options.guaranteed(promised(collection, n=estimate.n, delta=delta, malicious=liars)),
        "liars": harm.fraction,
        "liars_shift": harm.shift,
        "values": [dict(zip(("value", "truth", "estimate", "low", "high"), row, strict=True)) for row in rows],
    }


def _show_simulation(found: Simulation, confidence: str, delta: str, liars: str) -> None:
    from discreet.local.collection.guarantee import promised
    from discreet.local.design.poisoning import poisoning

    collection, estimate = found.answer.collection, found.estimate
    lying = f", {found.malicious:,} of them malicious, in favour of {found.favoured}" if found.malicious else ""
    output.say(f"{local_options.some(estimate.n, 'device')}{lying}; {collection.randomiser.name}", style="bold")
    kept = found.rows(confidence)
    rows = [
        (
            label,
            f"{truth:.4f}",
            f"{value:.4f}",
            f"{low:.4f} to {high:.4f}",
            "" if low <= truth <= high else "missed",
        )
        for label, truth, value, low, high in kept[:_SHOWN]
    ]
    output.table(("value", "truth", "estimate", f"interval of {confidence}", ""), rows, right=(1, 2), whole=(3,))
    if len(kept) > _SHOWN:
        output.say(f"… and {len(kept) - _SHOWN:,} more: --json has them all")
    consistent = (
        "" if found.consistent_error is None else f", {found.consistent_error:.5f} in the consistent version"
    )
    output.say(
        "",
        f"Intervals hold the truth for {found.covered(confidence):.1%} of the values. Estimates are off by "
        f"{found.error:.5f} (theory: {found.expected_error:.5f}){consistent}.",
        str(poisoning(collection.randomiser, estimate, liars, confidence)),
        *promised(collection, n=estimate.n, delta=delta, malicious=liars).sentences,
    )
