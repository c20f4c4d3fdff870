"""What holds of the link whatever is played: alone, without the naive link beside it."""

import random
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackpot.link.awards import split_royal_flush, split_straight_flush
from jackpot.link.changes import Accepted
from jackpot.link.money import Kind
from jackpot.link.parameters import Parameters, Reading
from jackpot.link.rounds import Hand, Phase, Round, Wager
from jackpot.rules.megalink import Rank, jackpot_rank
from tests.link.link_driver import LinkDriver
from tests.properties.naive_messages import DECK, rank_of
from tests.properties.test_link_against_naive import play_by_seed
from tests.properties.twin_links import ACCOUNTS, written_and_read

QUICK = settings(max_examples=60, deadline=None, derandomize=True)
PURE = settings(max_examples=100, deadline=None, derandomize=True)

FIXED_OR_NOTHING = [
    "2c 2d 2h 2s 3c",
    "Kc Kd Kh Qc Qd",
    "2h 5h 8h Jh Kh",
    "9s Td Jc Qh Ks",
    "2d 4s 6d 8s Ts",
]

# Interleaving.

Script = list[tuple[str, dict[str, Any]]]


def script(draw: Any, rounds: int) -> Script:
    """Rounds of one Bullseye table, without percentage hands."""
    said: Script = []
    for number in range(rounds):
        name = {"round": f"r{number}"}
        said.append(("round.opened", name))
        positions = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True))
        said += [("wager.placed", {**name, "position": position}) for position in positions]
        said.append(("round.closed", name))
        for position, cards in zip(positions, draw(st.permutations(FIXED_OR_NOTHING)), strict=False):
            hand = {"cards": cards.split(), "community": []}
            said.append(
                draw(
                    st.sampled_from(
                        [
                            ("hand.entered", {**name, "position": position, **hand}),
                            ("hand.declined", {**name, "position": position}),
                            ("wager.returned", {**name, "position": position, "reason": "5.7"}),
                        ]
                    )
                )
            )
        said.append(draw(st.sampled_from([("round.settled", name), ("round.voided", {**name, "reason": "5.1"})])))
    return said


def own_answers(scripts: dict[str, Script], order: list[str]) -> tuple[dict[str, list[Any]], LinkDriver]:
    """Play the scripts in this order of tables; what each table was told, but for what the whole link shares."""
    pit = LinkDriver(*scripts, reset_cents=1_000)
    left = {table: iter(lines) for table, lines in scripts.items()}
    answers: dict[str, list[Any]] = {table: [] for table in scripts}
    for table in order:
        kind, fields = next(left[table])
        decision = pit.say(table, kind, **fields)
        if not isinstance(decision, Accepted):
            answers[table].append((kind, decision))
            continue
        result = {name: value for name, value in decision.result.items() if name not in ("entry", "displayed_cents")}
        if "awards" in result:
            result["awards"] = [(award["position"], award["rank"], award["amount_cents"]) for award in result["awards"]]
        answers[table].append((kind, result))
    return answers, pit


@QUICK
@given(st.data())
def test_without_percentage_hands_each_table_is_told_the_same_however_the_tables_interleave(data: Any) -> None:
    scripts = {table: script(data.draw, 2) for table in ("BE-01", "BE-02", "BE-03")}
    turns = [table for table, lines in scripts.items() for _ in lines]
    told, pit = own_answers(scripts, turns)
    told_otherwise, other = own_answers(scripts, data.draw(st.permutations(turns)))
    assert told == told_otherwise
    assert (pit.balances.wagered, pit.balances.awarded) == (other.balances.wagered, other.balances.awarded)


# Money.


DIRECTIONS = {
    Kind.CONTRIBUTION: {"wagered": 1, "recoverable": -1, "pool": 1, "reserve": 1, "house": 1},
    Kind.RETURN: {"wagered": -1, "recoverable": 1, "reserve": -1, "house": -1},
    Kind.SHARE: {"pool": -1, "awarded": 1},
    Kind.ODDS: {"house": -1, "awarded": 1},
    Kind.FUNDING: {"pool": 1, "reserve": -1, "house": -1},
    Kind.RESET: {"pool": 1, "reserve": -1, "house": -1},
}
"""Which accounts a journal may touch, and which way. The pool goes down for a share only (D4)."""


@pytest.mark.parametrize("seed", range(7_000, 7_008))
def test_money_is_never_created_and_moves_in_its_own_direction_only(seed: int) -> None:
    links = play_by_seed(seed, steps=60)
    total = dict.fromkeys(ACCOUNTS, 0)
    for journal in links.journals:
        moved = {account: getattr(journal.postings, account) for account in ACCOUNTS}
        total = {account: total[account] + micros for account, micros in moved.items()}
        counts_wagers = journal.kind in (Kind.CONTRIBUTION, Kind.RETURN)
        assert any(journal.wagers) == counts_wagers
        if journal.kind in DIRECTIONS:
            directions = DIRECTIONS[journal.kind]
            assert all(micros * directions.get(account, 0) > 0 for account, micros in moved.items() if micros)
        else:
            assert moved["house"] == -moved["pool"] - moved["reserve"]
    assert total == links.naive.now.money
    assert total["wagered"] + total["recoverable"] == sum(
        total[account] for account in ("pool", "reserve", "house", "awarded")
    )


@PURE
@given(
    base=st.integers(0, 10**12),
    winners=st.integers(1, 4),
    reset=st.integers(0, 10**10),
    reading=st.sampled_from(list(Reading)),
)
def test_a_split_pays_out_all_it_takes_but_the_odd_cents(base: int, winners: int, reset: int, reading: Reading) -> None:
    parameters = Parameters(reset_cents=reset, shared_straight_flush=reading)
    flush, royal = split_straight_flush(base, winners, parameters), split_royal_flush(base, winners, parameters)
    assert royal.each_cents * winners + royal.odd_cents == base + royal.funded_cents
    assert 0 <= flush.odd_cents < winners
    assert flush.each_cents * winners + flush.odd_cents <= base + flush.funded_cents
    # n draws of a tenth leave at least nine tenths to the power of n.
    taken_from_pool = flush.each_cents * winners - flush.funded_cents
    assert (base - taken_from_pool) * 10**winners >= base * 9**winners
    assert flush.each_cents <= max(base, reset) // 10


# Documents.

ROUNDS = st.builds(
    Round,
    table=st.text(min_size=1),
    id=st.text(min_size=1),
    phase=st.sampled_from(list(Phase)),
    wagers=st.dictionaries(
        st.integers(1, 7), st.builds(Wager, st.integers(1, 5), st.integers(1, 10**15), st.booleans())
    ),
    hands=st.dictionaries(
        st.integers(1, 7),
        st.builds(
            Hand,
            entry=st.integers(1, 10**9),
            cards=st.lists(st.sampled_from(DECK), max_size=5).map(tuple),
            community=st.lists(st.sampled_from(DECK), max_size=3).map(tuple),
            rank=st.sampled_from(list(Rank)),
            base_micros=st.none() | st.integers(0, 10**18),
        ),
    ),
    declined=st.frozensets(st.integers(1, 7)),
    increment_bp=st.integers(0, 10_000),
    reserve_bp=st.integers(0, 10_000),
)


@PURE
@given(ROUNDS)
def test_a_round_written_and_read_is_the_same_round(round_: Round) -> None:
    assert written_and_read(round_) == round_


# Ranking, beside brute force.


@PURE
@given(st.lists(st.sampled_from(DECK), min_size=5, max_size=5, unique=True))
def test_any_five_cards_rank_as_by_brute_force(cards: list[str]) -> None:
    assert jackpot_rank(cards) == rank_of(cards)


def test_many_random_hands_rank_as_by_brute_force() -> None:
    generator = random.Random(20261116)
    for _ in range(5_000):
        suit = generator.choice("shdc")
        few = [card for card in DECK if card[1] == suit or card[0] in "A5T"]  # so that all ranks come up
        cards = generator.sample(few, 5)
        assert jackpot_rank(cards) == rank_of(cards)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_hand_of_the_deck_ranks_as_by_brute_force() -> None:
    counts: dict[str, int] = {}
    for cards in combinations(DECK, 5):
        rank = jackpot_rank(cards)
        assert rank == rank_of(list(cards))
        counts[rank.value] = counts.get(rank.value, 0) + 1
    counts.pop("none")
    assert counts == {
        "royal_flush": 4,
        "straight_flush": 36,
        "four_of_a_kind": 624,
        "full_house": 3_744,
        "flush": 5_108,
        "straight": 10_200,
    }
