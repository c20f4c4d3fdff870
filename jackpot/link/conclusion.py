"""How a round ends: wagers given back (D4), settled (D6, D10), or void."""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from jackpot.link.changes import Accepted, Changeset
from jackpot.link.money import Kind, micros
from jackpot.link.rounds import Phase, Round, Wager
from jackpot.link.state import LinkState


def count_by_multiplier(wagers: Iterable[Wager], sign: int = 1) -> tuple[int, ...]:
    counts = [0] * 5
    for wager in wagers:
        counts[wager.multiplier - 1] += sign
    return tuple(counts)


def give_back(changeset: Changeset, round_: Round, positions: Collection[int]) -> int:
    """Return the standing wagers of these positions, their hands with them. Returns the cents that go back.

    D4: the house pays at once. The pool keeps its share, which later contributions owe the house; the reserve gives
    its own share back as far as it goes.
    """
    back = [round_.wagers[position] for position in positions]
    cents = sum(wager.stake_cents for wager in back)
    if cents and round_.phase is Phase.CLOSED:
        recoverable = cents * round_.increment_bp
        from_reserve = min(changeset.payout.balances.reserve, cents * round_.reserve_bp)
        changeset.payout.post(
            Kind.RETURN,
            round_,
            wagers=count_by_multiplier(back, -1),
            wagered=-micros(cents),
            recoverable=recoverable,
            reserve=-from_reserve,
            house=recoverable + from_reserve - micros(cents),
        )
    changeset.put(
        replace(
            round_,
            wagers={p: replace(w, returned=True) if p in positions else w for p, w in round_.wagers.items()},
            hands={p: hand for p, hand in round_.hands.items() if p not in positions},
        )
    )
    return cents


def settle_round(state: LinkState, round_: Round, at: str) -> Accepted:
    """D6: fixed awards at once; shares now if no earlier-entered round stands before, else they wait."""
    changeset = Changeset(state, at)
    changeset.payout.pay_odds(round_)
    ready = Phase.WAITING if round_.first_percentage_hand else Phase.SETTLED
    changeset.put(replace(round_, phase=ready))
    changeset.pay_ready(settled_now=round_.key)
    waits = round_.key in changeset.claims
    return changeset.accepted(
        {
            "awards": [
                award.document() for award in changeset.payout.awards if (award.table, award.round) == round_.key
            ],
            "pending": sorted(
                position for position, hand in round_.hands.items() if waits and hand.base_micros is not None
            ),
        }
    )


def void_round(state: LinkState, round_: Round, at: str) -> Accepted:
    """5.1: every wager goes back; earlier rounds stand."""
    changeset = Changeset(state, at)
    returned_cents = give_back(changeset, round_, round_.standing_wagers().keys())
    void = changeset.changed[round_.key]
    changeset.put(replace(void, phase=Phase.VOIDED, hands={}))
    changeset.pay_ready()
    return changeset.accepted({"returned_cents": returned_cents})
