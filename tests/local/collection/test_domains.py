"""Test open domains, words and texts, from device to answer."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError, QuestionRefused
from discreet.local.collection.collection import Collection, read
from discreet.local.device.device import Device
from discreet.local.device.wire import batch, frames
from discreet.local.protocols.strings.count_mean_sketch import HCMS
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.rappor import Rappor
from discreet.local.protocols.strings.sequence_fragments import FragmentPuzzle
from discreet.local.protocols.strings.strings import Alphabet
from discreet.local.server.aggregator import Aggregator
from tests.local.collections_of import MAY, WINDOW

LETTERS = Alphabet("abcdefgh", length=4)
TREE = PrefixTree.for_epsilon(LETTERS, 3, step=2, rows=256, columns=256)
PUZZLE = FragmentPuzzle.for_epsilons(LETTERS, fragment=4, word=3, rows=256, columns=256)
SKETCH = HCMS.for_epsilon(0, 3, rows=16, columns=256)


def typed(**changes: Any) -> Collection:
    return Collection.design("typed", **({"window": WINDOW} | changes))


def counted(survey: Collection, texts: dict[str, int]) -> Aggregator:
    """Count reports of so many devices on each text, through frames, with the bits of a seed."""
    server = Aggregator(survey)
    rows = np.concatenate([np.repeat(survey.one(text).row, n, axis=0) for text, n in texts.items()])
    with noise.deterministic(7):
        server.update(batch(frames(survey, survey.randomiser.encode(rows))))
    return server


@pytest.mark.parametrize("protocol", [TREE, PUZZLE], ids=lambda protocol: str(protocol.name))
def test_words_that_many_have_are_found_with_their_shares(protocol: PrefixTree | FragmentPuzzle) -> None:
    server = counted(typed(alphabet=LETTERS, protocol=protocol), {"head": 12_000, "fed": 6_000, "x": 2_000})
    answer = server.found()
    assert answer.labels[:2] == ["head", "fed"]
    truth = {"head": 0.6, "fed": 0.3, "\ufffd": 0.1}
    for word, share, _, _ in answer.rows():
        error = answer.estimate.standard_errors[answer.labels.index(word)]
        assert abs(share - truth[word]) < 6 * error
    assert server.estimate().labels == answer.labels
    assert "words found" in str(answer)
    asked = server.frequencies(["fed", "cafe", "fed"])
    assert asked.labels == ["fed", "cafe"]
    assert abs(asked.estimate.values - [0.3, 0]).max() < 6 * asked.estimate.standard_errors.max()
    assert asked.estimate.n == server.n == 20_000


@pytest.mark.parametrize(
    "protocol",
    [SKETCH, "cms", Rappor.for_losses(0, lifetime=6, each=3, bits=64, cohorts=8)],
    ids=["hcms", "cms", "rappor"],
)
def test_texts_that_nobody_listed_are_counted_for_a_list(protocol: Any) -> None:
    """Six standard errors for each of three shares: a false alarm in 10^8."""
    ask = {"protocol": protocol, "epsilon": 3} if isinstance(protocol, str) else {"protocol": protocol}
    server = counted(typed(**ask), {"naïve": 4_000, "🙂": 2_000})
    answer = server.frequencies(["naïve", "🙂", "nobody"])
    wide = np.abs(answer.estimate.values - [2 / 3, 1 / 3, 0]) / answer.estimate.standard_errors
    assert wide.max() < 6
    assert 0 < answer.malicious_shift("0.01") < 1
    with pytest.raises(ParameterError, match=r"Try: server\.frequencies\(candidates="):
        server.estimate()
    with pytest.raises(ParameterError, match="not a collection of words"):
        server.found()
    with pytest.raises(ParameterError, match="not a distribution"):
        answer.consistent()


@pytest.mark.parametrize(
    ("survey", "value"),
    [
        (typed(alphabet=LETTERS, protocol="prefix-tree", epsilon=1, longitudinal="memoised"), "head"),
        (typed(alphabet=LETTERS, protocol="fragments", epsilon=1, longitudinal="memoised"), "head"),
        (typed(protocol="hcms", epsilon=1, longitudinal="memoised"), "naïve"),
        (typed(protocol="rappor", epsilon=1, longitudinal="two-step", null="?"), None),
    ],
    ids=["prefix-tree", "fragments", "hcms", "rappor"],
)
def test_a_device_answers_for_a_text_and_its_collection_travels(
    survey: Collection, value: str | None, tmp_path: Path
) -> None:
    survey, days = read(survey.text), [date(2026, 5, day) for day in (1, 2, 3)]
    server, sent = Aggregator(survey, identified=True), []
    for day in days:
        device = Device(tmp_path, lifetime=9, per_period=9, today=lambda day=day: day)  # type: ignore[misc]
        sent.append(device.report(survey, value))
    assert server.update(batch(sent)) == 3
    assert float(device.spent) == pytest.approx(float(survey.lifetime))
    payloads = {report[-survey.randomiser.payload_bytes :] for report in sent}
    assert len(payloads) == (1 if survey.policy.policy == "memoised" else 3)


def test_other_texts_have_other_permanent_answers(tmp_path: Path) -> None:
    survey = typed(protocol=HCMS.for_epsilon(0, 1, rows=1024, columns=1024), longitudinal="memoised")
    keys = {survey.one(text).key for text in ("a", "b", "ab", "")}
    assert len(keys) == 4
    assert {len(key) for key in keys} == {32}, (
        "no key is the beginning of another, or of what a cohort is drawn by"
    )


def test_what_is_no_text_is_null_or_refused_before_it_costs(tmp_path: Path) -> None:
    open_texts = typed(protocol=SKETCH)
    device = Device(tmp_path, lifetime=9, per_period=9, today=lambda: MAY)
    for value in (None, 7):
        with pytest.raises(ParameterError, match=r'The value is not a text.*null="something else"'):
            device.report(open_texts, value)
    assert device.spent == 0
    assert typed(protocol=SKETCH, null="?").one(None).key == open_texts.one("?").key
    with pytest.raises(ParameterError, match="have no numbers"):
        open_texts.place("a")


def test_words_wait_for_their_cohort_like_all_others() -> None:
    server = Aggregator(typed(alphabet=LETTERS, protocol=TREE))
    for ask in (server.found, server.estimate, lambda: server.frequencies(["a"])):
        with pytest.raises(QuestionRefused, match="minimum cohort is 100"):
            ask()


def test_listed_values_are_not_asked_about_one_by_one() -> None:
    survey = typed(domain=["yes", "no"], protocol="grr", epsilon=1, minimum_cohort=1)
    server = Aggregator(survey)
    server.payloads(survey.randomiser.encode(np.array([0])))
    with pytest.raises(ParameterError, match=r"are listed.*Estimate all values at once"):
        server.frequencies(["yes"])
    texts = typed(protocol=SKETCH, minimum_cohort=1)
    server = Aggregator(texts)
    server.payloads(texts.randomiser.encode(texts.one("yes").row))
    with pytest.raises(ParameterError, match="one text or more"):
        server.frequencies([])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"alphabet": LETTERS, "protocol": "grr", "epsilon": 1}, "grr does not find words.*tree.*fragments"),
        ({"alphabet": LETTERS, "domain": 3, "protocol": TREE}, "Leave out the domain"),
        ({"alphabet": LETTERS, "epsilon": 1}, "need a protocol by name.*prefix-tree.*fragments"),
        ({"alphabet": Alphabet("abc", 4), "protocol": TREE}, "for words of 4 out of 10 symbols"),
        ({"domain": 4, "protocol": "prefix-tree", "epsilon": 1}, "prefix-tree is for words"),
        ({"protocol": "olh", "epsilon": 1}, "olh is not for an open dictionary"),
        ({"protocol": HCMS.for_epsilon(5, 1)}, r"is for 5 values, not for.*HCMS\.for_epsilon\(domain=0\)"),
        ({"domain": 5, "protocol": SKETCH}, "for 0 values, and the domain has 5"),
        ({"domain": "red", "epsilon": 1}, "A domain must be a list of texts"),
        ({"protocol": SKETCH, "null": 7}, "null must be a text"),
        ({"domain": 4, "protocol": "grr", "epsilon": 1, "null": "9"}, "not a number of the domain"),
    ],
)
def test_a_design_that_does_not_fit_its_values_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        typed(**changes)


@pytest.mark.parametrize("letters", ["", "aa", "a\0", ["a", "b"], "".join(map(chr, range(1, 252)))])
def test_an_invalid_alphabet_is_refused(letters: Any) -> None:
    with pytest.raises(ParameterError, match="An alphabet must be a text of 1 to 250 letters"):
        Alphabet(letters, length=4)


def test_fingerprints_are_asked_for_where_values_are_not_numbers() -> None:
    for wrong in (np.array([1]), np.array([[1.0, 2.0]]), np.array([[2**31, 0]], np.uint64)):
        with pytest.raises(ParameterError, match="open dictionary must be fingerprints"):
            SKETCH.encode(wrong)
