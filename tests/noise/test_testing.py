from __future__ import annotations

import asyncio
import contextvars
import copy
import io
import pickle
import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import NotForRelease
from discreet.noise.random_bits import system_bits
from tests.noise.interruptions import at_every_line, in_child

DRAWS: dict[str, Callable[[], Any]] = {
    "laplace": lambda: noise.discrete_laplace(10, 50),
    "one laplace": lambda: noise.discrete_laplace(10**6),
    "gaussian": lambda: noise.discrete_gaussian(10**6, (5, 10)),
    "one gaussian": lambda: noise.discrete_gaussian(10**6),
    "bernoulli": lambda: noise.bernoulli("1/2", 50),
    "bernoulli_exp": lambda: noise.bernoulli_exp("1/2", 50),
    "bernoulli_exp of an array": lambda: noise.bernoulli_exp(np.full(50, 3), over=5),
    "uniform": lambda: noise.uniform_below(1000, 50),
    "a long integer": lambda: noise.uniform_below(10**30),
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def seeded(draw: Callable[[], Any], seed: int) -> Any:
    with noise.deterministic(seed):
        return draw()


def made_for_test() -> bool:
    return noise.is_test_noise(noise.discrete_laplace(3))


@draws
def test_the_seed_decides_the_result(draw: Callable[[], Any]) -> None:
    assert np.array_equal(seeded(draw, 1), seeded(draw, 1))
    assert any(not np.array_equal(seeded(draw, 1), seeded(draw, seed)) for seed in (2, 3))


@draws
def test_every_result_is_marked_and_real_ones_are_not(draw: Callable[[], Any]) -> None:
    assert noise.is_test_noise(seeded(draw, 1))
    assert not noise.is_test_noise(draw())


@draws
def test_real_bits_and_reserves_are_not_touched(draw: Callable[[], Any]) -> None:
    draw()
    left = system_bits()._idle[-1]._left
    seeded(draw, 1)
    assert system_bits()._idle[-1]._left == left


def test_the_mark_stays_through_indexing_and_arithmetic() -> None:
    made = seeded(lambda: noise.discrete_laplace(10, 50), 1)
    exact = np.arange(50)
    for result in (
        made + exact,
        exact + made,
        -made,
        3 * made,
        made[3],
        made[3:5],
        made.sum(),
        abs(made),
        made / 7,
    ):
        assert noise.is_test_noise(result)
    single = made[3]
    for result in (np.where(exact > 3, made, 0), np.concatenate([exact, made]), np.argmax(made), np.cumsum(made)):
        assert noise.is_test_noise(result)
    for result in (single + 1, 1 + single, -single, single * 2):
        assert noise.is_test_noise(result)


KEEP_THE_MARK: list[Callable[[Any], Any]] = [
    lambda made: made.astype(float).reshape(5, 10).T.copy(),
    lambda made: made.cumsum().max(),
    lambda made: made.argsort(),
    lambda made: made @ made,
    lambda made: (made > 3).any(),
    lambda made: np.where(made > 0, made, 0),
    lambda made: np.concatenate([np.arange(3), made]),
    lambda made: np.stack([made[0], made[1]]),
    lambda made: np.argmax(made),
    lambda made: np.flatnonzero(made),
    lambda made: np.count_nonzero(made),
    lambda made: np.median(made),
    lambda made: np.unique(made),
    lambda made: next(iter(made)),
    lambda made: sum(made),
    lambda made: np.split(made, 2)[0],
]

DROP_THE_MARK: list[Callable[[Any], Any]] = [
    lambda made: int(made[0]),
    lambda made: made[0].item(),
    lambda made: bool(made[0] > 3),
    lambda made: made.tolist()[0],
    lambda made: made.tobytes(),
    lambda made: made.flat[0],
    lambda made: made.argmax(),
    lambda made: made.searchsorted(3),
    lambda made: made.dot(made),
    lambda made: made.nonzero()[0],
    lambda made: np.nonzero(made)[0],
    lambda made: np.where(made > 0)[0],
    lambda made: np.histogram(made)[0],
    lambda made: np.asarray(made),
    lambda made: np.array(made),
    lambda made: np.array([made[0], made[1]]),
    lambda made: np.add(made, 1, out=np.empty(50, int)),
    lambda made: saved_and_loaded(made),
]


def saved_and_loaded(made: Any) -> Any:
    file = io.BytesIO()
    np.save(file, made)
    file.seek(0)
    return np.load(file)


@pytest.mark.parametrize("change", KEEP_THE_MARK)
def test_the_mark_stays_where_the_documentation_says_so(change: Callable[[Any], Any]) -> None:
    assert noise.is_test_noise(change(seeded(lambda: noise.discrete_laplace(10, 50), 1)))


@pytest.mark.parametrize("change", DROP_THE_MARK)
def test_the_mark_is_lost_where_the_documentation_says_so(change: Callable[[Any], Any]) -> None:
    assert not noise.is_test_noise(change(seeded(lambda: noise.discrete_laplace(10, 50), 1)))


def test_a_single_draw_serves_as_an_integer() -> None:
    made = seeded(lambda: noise.uniform_below(5), 1)
    assert list(range(5))[made] == int(made)
    assert int(seeded(lambda: noise.uniform_below(10**30), 1)) < 10**30


def test_it_says_that_it_is_not_for_release() -> None:
    for made in (seeded(lambda: noise.discrete_laplace(3), 1), seeded(lambda: noise.discrete_laplace(3, 2), 1)):
        assert "not for release" in repr(made)
        assert "not for release" in str(made)


def test_it_refuses_pickling_and_copies_stay_marked() -> None:
    made = seeded(lambda: noise.discrete_laplace(3, 2), 1)
    with pytest.raises(NotForRelease, match="predictable"):
        pickle.dumps(made)
    assert noise.is_test_noise(copy.copy(made))
    assert noise.is_test_noise(copy.deepcopy(made))


def test_other_threads_draw_real_noise() -> None:
    marks: list[bool] = []
    with noise.deterministic(1):
        thread = threading.Thread(target=lambda: marks.append(made_for_test()))
        thread.start()
        thread.join()
        assert noise.is_test_noise(noise.discrete_laplace(3))
    assert marks == [False]


def test_a_thread_that_inherits_the_context_draws_real_noise_as_well() -> None:
    marks: list[bool] = []
    with noise.deterministic(1):
        inherited = contextvars.copy_context()
        thread = threading.Thread(target=inherited.run, args=(lambda: marks.append(made_for_test()),))
        thread.start()
        thread.join()
    assert marks == [False]


def test_a_task_that_outlives_the_block_draws_real_noise() -> None:
    async def outlive() -> tuple[bool, bool]:
        ended = asyncio.Event()

        async def work() -> tuple[bool, bool]:
            inside = made_for_test()
            await ended.wait()
            return inside, made_for_test()

        with noise.deterministic(1):
            task = asyncio.create_task(work())
            await asyncio.sleep(0)  # the task runs until it waits
        ended.set()
        return await task

    assert asyncio.run(outlive()) == (True, False)


def test_a_generator_suspended_inside_keeps_its_caller_inside_until_it_is_closed() -> None:
    def suspended() -> Generator[None, None, None]:
        with noise.deterministic(1):
            yield

    inside = suspended()
    next(inside)
    assert made_for_test()
    inside.close()
    assert not made_for_test()


def test_a_draw_may_interrupt_another_inside() -> None:
    def marks() -> list[int]:
        between: list[Any] = []
        with noise.deterministic(1):
            made = at_every_line(lambda: between.append(noise.uniform_below(2**63)), DRAWS["laplace"])
        return [int(noise.is_test_noise(value)) for value in (made, *between)]

    assert set(in_child(marks)) == {1}  # where an alarm ends what hangs


def test_contexts_nest_and_end_even_after_an_error() -> None:
    with noise.deterministic(1):
        noise.discrete_laplace(3)
        outer = noise.discrete_laplace(10**6)
    with noise.deterministic(1):
        noise.discrete_laplace(3)
        with pytest.raises(ZeroDivisionError), noise.deterministic(2):
            raise ZeroDivisionError
        assert noise.discrete_laplace(10**6) == outer
    assert not noise.is_test_noise(noise.discrete_laplace(3))


def test_a_long_draw_never_meets_its_own_beginning() -> None:
    words = seeded(lambda: noise.uniform_below(2**63, 400_000), 1)
    assert len(np.unique(np.asarray(words))) == 400_000
