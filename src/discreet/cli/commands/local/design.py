"""Define `discreet local design` and `simulate`: design a question to devices, and rehearse it.

`encode` and `aggregate` are in `local_reports`, `estimate` in `local_estimate`. Files are checked before anything
is made.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import local_options, options, output
from discreet.cli.local_options import Confidence, Delta, Labels, Public
from discreet.cli.progress import waiting
from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection
    from discreet.local.design.choose import Choice
    from discreet.local.design.simulate import Simulation
    from discreet.local.protocols.protocol import Randomiser

_SHOWN = 20  # values that the table shows
_ASSUMED = "0.01"  # the fraction of malicious reports that bounds are for, unless it is given
_LISTED = 1 << 20  # the most values of a protocol that sends one bit for each

_DOMAINS = (Fix("domain", ["yes", "no"]), Fix("labels", "FILE"), Fix("domain", 1000))


def design(
    name: Annotated[str, typer.Argument(help="The name of the collection.")],
    epsilon: Annotated[str, typer.Option(help="The ε of one report, such as 1.")],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The file for the signed collection; its public key goes beside it."),
    ],
    key: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The file of the private key that signs; made if it does not exist."),
    ],
    begins: Annotated[str, typer.Option("--from", metavar="DAY", help="The first day of reports: 2026-01-01.")],
    ends: Annotated[str, typer.Option("--to", metavar="DAY", help="The last day of reports.")],
    values: Annotated[str | None, typer.Option(metavar="LABELS", help="The domain: yes,no,unsure.")] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The domain, one label on each line.")
    ] = None,
    size: Annotated[int | None, typer.Option(help="The size of the domain 0, 1, …")] = None,
    alphabet: Annotated[str | None, typer.Option(help="The letters of words that are not listed.")] = None,
    length: Annotated[int, typer.Option(help="The number of letters of a word that count.")] = 8,
    protocol: Annotated[str | None, typer.Option(help="The protocol. [the best for domain and ε]")] = None,
    bits: Annotated[int | None, typer.Option(help="The most bits that a report may have.")] = None,
    policy: Annotated[
        str, typer.Option(help="The policy for repeated reports: none, memoised, two-step.")
    ] = "none",
    reports: Annotated[
        int | None, typer.Option(help="With none: the most reports of a device. Their ε add up.")
    ] = None,
    distinct: Annotated[
        int | None, typer.Option(help="With a memory: the most different values of a device.")
    ] = None,
    lifetime: Annotated[str | None, typer.Option(help="With two-step: the ε of all reports on a value.")] = None,
    every: Annotated[int, typer.Option(help="The least number of days between two reports.")] = 1,
    minimum_cohort: Annotated[int, typer.Option(help="The least number of reports for an estimate.")] = 100,
    null: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The label for values outside the domain.")
    ] = None,
    delta: Delta = "1e-6",
    as_json: Annotated[bool, typer.Option("--json", help="Print the design as JSON.")] = False,
) -> None:
    """Design a question to devices: choose the protocol, show why and what it guarantees, and sign it.

    [bold]Examples[/bold]

    [cyan]discreet local design cheating --values yes,no --epsilon 0.5 --from 2026-01-01 --to 2026-12-31
    --key survey.key --out cheating.json[/cyan]

    [cyan]discreet local design pages --labels pages.txt --epsilon 1 --policy two-step --lifetime 2 …[/cyan]
      reports every day; a value never costs a device more than ε = 2

    [cyan]discreet local design words --alphabet abcdefghijklmnopqrstuvwxyz --protocol prefix-tree …[/cyan]
      new words that are not listed
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
    opened(envelope, public, today=date.min)  # fails if the two keys are not a pair
    local_options.replaced(out, envelope)
    local_options.replaced(out.with_suffix(".pub"), public.hex().encode() + b"\n")
    _show_design(collection, choice, delta, out, as_json)


def simulate(
    collection: Annotated[
        Path | None,
        typer.Argument(metavar="[COLLECTION]", help="A signed collection; else --values and --epsilon."),
    ] = None,
    devices: Annotated[int, typer.Option(help="The number of devices.")] = 100_000,
    population: Annotated[
        str, typer.Option(help="zipf, uniform, geometric, or a CSV with the columns value and count.")
    ] = "zipf",
    values: Annotated[str | None, typer.Option(metavar="LABELS", help="The domain: yes,no,unsure.")] = None,
    size: Annotated[int | None, typer.Option(help="The size of the domain 0, 1, …")] = None,
    epsilon: Annotated[str, typer.Option(help="The ε of one report, without a collection.")] = "1",
    protocol: Annotated[str | None, typer.Option(help="The protocol. [the best]")] = None,
    malicious: Annotated[
        str | None,
        typer.Option(help="The fraction of devices that send malicious reports, for a rare value. [none]"),
    ] = None,
    confidence: Confidence = "0.95",
    delta: Delta = "1e-6",
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: .svg, .png, .html or .pdf.")] = None,
    public: Public = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print truth and estimates as JSON.")] = False,
) -> None:
    """Rehearse a collection on a known population: show estimates with intervals beside the truth.

    [bold]Examples[/bold]

    [cyan]discreet local simulate --size 1000 --epsilon 1 --devices 1000000[/cyan]

    [cyan]discreet local simulate cheating.json --population students.csv --plot rehearsal.png[/cyan]

    [cyan]discreet local simulate cheating.json --devices 5000 --malicious 0.02[/cyan]
      one device in fifty sends malicious reports
    """
    from discreet.local.design import simulate as rehearsal

    if plot is not None:
        output.expect_picture("--plot", plot)
    made = _rehearsed(collection, public, labels, _domain(values, None, size), epsilon, protocol)
    counts = _counts(made, population, devices)
    with waiting(f"{int(sum(counts)):,} devices report"):
        found = rehearsal.simulate(local_options.one_report(made), counts, malicious=malicious or "0")
    if as_json:
        output.data(_simulated(found, confidence, delta, malicious or _ASSUMED))
    else:
        _show_simulation(found, confidence, delta, malicious or _ASSUMED)
    output.write("--plot", plot, lambda to: output.picture(found.plot(confidence), to), quiet=as_json)


# -- designing ---------------------------------------------------------------------------------------------------


def _expect_new(out: Path) -> None:
    output.expect_writable("--out", out)
    if out.suffix == ".pub":
        raise DiscreetError(
            "The public key goes to the file with the ending .pub.",
            found=out,
            fix=Fix("out", out.with_suffix(".json")),
        )
    if out.exists():
        raise DiscreetError(
            "The file for --out exists already, and collections never change.",
            found=out,
            fix="Name a new file for a new collection.",
        )


def _expect_listed(alphabet: str | None) -> None:
    """Refuse to choose a protocol for a domain that is not listed: it may have been forgotten."""
    from discreet.local.collection.domains import TEXTS, WORDS

    if alphabet is not None:
        raise DiscreetError(
            "Words of an alphabet need a protocol.", fix=[Fix("protocol", protocol) for protocol in WORDS]
        )
    raise DiscreetError(
        "The domain of the answers is missing.",
        fix=[
            *_DOMAINS,
            f"Answers that cannot be listed need --protocol {' or '.join(TEXTS)}; words to find need --alphabet.",
        ],
    )


def _domain(values: str | None, labels: Path | None, size: int | None) -> list[str] | int | None:
    if sum(each is not None for each in (values, labels, size)) > 1:
        raise DiscreetError("The domain is given twice.", fix=_DOMAINS)
    return options.names(values) or (local_options.lines(labels) if labels is not None else size)


def _protocol(
    count: int | None, epsilon: str, protocol: str | None, bits: int | None, policy: str, lifetime: str | None
) -> tuple[Choice | None, Randomiser | None]:
    """Return the choice, if there was one, and the protocol, if its name alone does not determine it."""
    from discreet.local.design.choose import choose

    if bits is not None and (protocol is not None or policy == "two-step" or count is None):
        raise DiscreetError(
            "--bits is only for choosing a protocol.",
            fix=[Fix("bits", None), "Or leave out --protocol and --policy."],
        )
    if policy == "two-step":
        return None, _two_steps(count, epsilon, protocol, lifetime)
    if lifetime is not None:
        raise DiscreetError(
            "--lifetime is for --policy two-step. Otherwise the ε of a life follows from --epsilon.",
            fix=[Fix("policy", "two-step"), Fix("lifetime", None)],
        )
    if count is None or protocol is not None:
        return None, None
    choice = choose(count, epsilon, bits=bits)
    return choice, choice.randomiser


def _two_steps(count: int | None, epsilon: str, protocol: str | None, lifetime: str | None) -> Randomiser:
    """Return the named protocol, or the better of two; `count` is None for an open domain."""
    from discreet.local.protocols.registry import canonical, kind

    if lifetime is None:
        raise DiscreetError(
            "The ε of all reports on a value is missing.", fix=Fix("lifetime", 2, note="more than --epsilon")
        )
    chosen = ("two-step-grr", "two-step-unary")
    names = ("rappor",) if count is None else (*chosen, "rappor")
    protocol = canonical(protocol) if protocol else None
    if protocol not in (None, *names) or (protocol is None and count is None):
        asked = (
            f"The protocol {protocol} has no second step" if protocol else "A policy of two steps needs a protocol"
        )
        raise DiscreetError(f"{asked} here.", fix=[Fix("protocol", name) for name in names])
    if protocol is not None:
        only: Randomiser = kind(protocol).for_losses(count or 0, lifetime=lifetime, each=epsilon)
        return only
    kinds: list[Any] = [kind(name) for name in (chosen if (count or 0) <= _LISTED else chosen[:1])]
    both = [each.for_losses(count, lifetime=lifetime, each=epsilon) for each in kinds]
    best: Randomiser = min(both, key=lambda randomiser: randomiser.variance())
    return best


def _show_design(collection: Collection, choice: Choice | None, delta: str, out: Path, as_json: bool) -> None:
    from discreet.local.collection.guarantee import promised

    promise = promised(collection, n=collection.minimum_cohort, delta=delta)
    randomiser = collection.randomiser
    why = choice.why if choice else local_options.protocol_in_words(randomiser.name, randomiser.payload_bytes)
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
    output.say(f"Wrote {out}, and the public key with which devices check it to {out.with_suffix('.pub')}")


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
        raise DiscreetError(
            "Name a signed collection, or give a domain.", fix=[Fix("domain", ["yes", "no"]), Fix("domain", 1000)]
        )
    if file is not None and domain is not None:
        raise DiscreetError("A collection has its own domain.", fix="Leave out --values and --size.")
    if file is None:
        always = ("2000-01-01", "2099-12-31")
        return Collection.design("rehearsal", domain=domain, epsilon=epsilon, protocol=protocol, window=always)
    made = local_options.opened(file, public, labels)
    if not isinstance(made.domain, Listed):
        raise DiscreetError(
            f"The values of {made.name!r} are not listed, so estimates cannot be compared with the truth.",
            fix="Rehearse a collection whose domain is listed.",
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
        raise DiscreetError(
            "The population is neither a known shape nor a file.",
            found=population,
            fix=[Fix("population", shape) for shape in SHAPES],
        )
    written = local_options.lines(file, "count")
    if not all(count.strip().isdigit() for count in written):
        raise DiscreetError(
            f"{file} has a count that is not a whole number.",
            fix="Write the number of devices with each value in the column count.",
        )
    counts = [0] * size
    codes = local_options.coded(collection, local_options.lines(file, "value"))
    for code, count in zip(codes.tolist(), written, strict=True):
        counts[code] += int(count)
    return counts


def _simulated(found: Simulation, confidence: str, delta: str, malicious: str) -> dict[str, Any]:
    from discreet.local.collection.guarantee import promised
    from discreet.local.design.poisoning import poisoning

    collection, estimate = found.answer.collection, found.estimate
    harm = poisoning(collection.randomiser, estimate, malicious, confidence)
    rows = found.rows(confidence)
    return {
        "protocol": collection.randomiser.name,
        "devices": estimate.n,
        "malicious_devices": found.malicious,
        "error": found.error,
        "expected_error": found.expected_error,
        "consistent_error": found.consistent_error,
        "covered": found.covered(confidence),
        "confidence": float(confidence),
        **local_options.guaranteed(promised(collection, n=estimate.n, delta=delta, malicious=malicious)),
        "malicious": harm.fraction,
        "malicious_shift": harm.shift,
        "values": [dict(zip(("value", "truth", "estimate", "low", "high"), row, strict=True)) for row in rows],
    }


def _show_simulation(found: Simulation, confidence: str, delta: str, malicious: str) -> None:
    from discreet.local.collection.guarantee import promised
    from discreet.local.design.poisoning import poisoning

    collection, estimate = found.answer.collection, found.estimate
    among = f", {found.malicious:,} of them malicious, in favour of {found.favoured}" if found.malicious else ""
    output.say(f"{local_options.some(estimate.n, 'device')}{among}; {collection.randomiser.name}", style="bold")
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
    heads = ("value", "truth", "estimate", f"{local_options.percent(confidence)} interval", "")
    output.table(heads, rows, right=(1, 2), whole=(3,))
    if len(kept) > _SHOWN:
        output.say(f"… and {len(kept) - _SHOWN:,} more: --json has them all")
    summed = found.consistent_error
    consistent = "" if summed is None else f"; {summed:.5f} if shares are made to add up"
    output.say(
        "",
        f"{local_options.percent(found.covered(confidence))} of the intervals contain the truth. A typical "
        f"estimate is off by {found.error:.5f} (expected: {found.expected_error:.5f}{consistent}).",
        str(poisoning(collection.randomiser, estimate, malicious, confidence)),
        *promised(collection, n=estimate.n, delta=delta, malicious=malicious).sentences,
    )
