"""Hands entered, withdrawn and declined. The cards decide: the link ranks them itself (D13)."""

from collections import Counter

from msgspec.structs import replace

from jackpot.contract import events as ev
from jackpot.contract.refusals import Code, Refused
from jackpot.link.changes import Accepted, Changeset, Decision, HandEntry
from jackpot.link.rounds import PERCENTAGE, Hand, Round
from jackpot.link.state import LinkState, Table
from jackpot.rules.cards import DECK
from jackpot.rules.megalink import jackpot_rank


def wager_refusal(round_: Round, position: int) -> Refused | None:
    wager = round_.wagers.get(position)
    if wager is None:
        return Refused(Code.NO_WAGER, f"Position {position} has no jackpot wager in round {round_.id}.")
    if wager.returned:
        return Refused(Code.WAGER_RETURNED, f"The jackpot wager of position {position} was returned.")
    return None


def hand_entered(state: LinkState, table: Table, round_: Round, event: ev.HandEntered) -> Decision:
    position = event.position
    refused = (
        wager_refusal(round_, position)
        or _hand_refusal(table, round_, position)
        or _cards_refusal(table, round_, event)
    )
    if refused is not None:
        return refused
    rank = jackpot_rank((*event.cards, *event.community))
    # D5: the base is the pool as it stands now; contributions after this feed the next jackpot.
    base_micros = state.balances.pool if rank in PERCENTAGE else None
    entry = state.entry + 1
    hand = Hand(entry, tuple(event.cards), tuple(event.community), rank, base_micros)
    return Accepted(
        {"rank": rank.value, "entry": entry},
        rounds=(replace(round_, hands={**round_.hands, position: hand}),),
        entered=HandEntry(round_.table, round_.id, position, hand),
    )


def hand_withdrawn(state: LinkState, round_: Round, event: ev.HandWithdrawn, at: str) -> Decision:
    position = event.position
    refused = wager_refusal(round_, position)
    if refused is not None:
        return refused
    if position in round_.declined:
        return _declined(state.tables[round_.table], position)
    if position not in round_.hands:
        return Refused(Code.NO_HAND, f"Position {position} has no hand to withdraw in round {round_.id}.")
    changeset = Changeset(state, at)
    changeset.put(replace(round_, hands={p: hand for p, hand in round_.hands.items() if p != position}))
    changeset.pay_ready()
    return changeset.accepted({})


def hand_declined(table: Table, round_: Round, event: ev.HandDeclined) -> Decision:
    refused = wager_refusal(round_, event.position) or _hand_refusal(table, round_, event.position)
    if refused is not None:
        return refused
    return Accepted(rounds=(replace(round_, declined=round_.declined | {event.position}),))


def _hand_refusal(table: Table, round_: Round, position: int) -> Refused | None:
    if position in round_.hands:
        return Refused(
            Code.HAND_EXISTS,
            f"Position {position} has its hand; withdraw it first if it was entered in error.",
        )
    return _declined(table, position) if position in round_.declined else None


def _declined(table: Table, position: int) -> Refused:
    return Refused(
        Code.HAND_DECLINED,
        f"Position {position} declined to expose its hand: no jackpot, and the hand is settled.",
        table.game.declined,
    )


def _cards_refusal(table: Table, round_: Round, event: ev.HandEntered) -> Refused | None:
    """D13: cards that cannot be true are refused. Only hands that stand count."""
    game, own, community = table.game, event.cards, event.community
    if (len(own), len(community)) != (game.cards, game.community):
        return Refused(
            Code.WRONG_CARD_COUNT,
            f"{game.name} has {game.cards} cards and {game.community} community cards, "
            f"not {len(own)} and {len(community)}.",
            game.wrong_card_count if len(own) != game.cards else game.wrong_community_count,
        )
    unknown = [card for card in (*own, *community) if card not in DECK]
    if unknown:
        return Refused(
            Code.UNKNOWN_CARD, f"{unknown[0]!r} is no card; cards are written As, Td, 9h, 2c.", game.one_deck
        )
    others = [card for hand in round_.hands.values() for card in hand.cards]
    shared = next((hand.community for hand in round_.hands.values()), tuple(community))
    twice = [card for card, times in Counter((*own, *community, *others)).items() if times > 1]
    twice += [card for card in own if card in shared]
    if twice:
        return Refused(
            Code.DUPLICATE_CARD,
            f"{twice[0]} is in round {round_.id} already; one deck is used.",
            game.one_deck,
        )
    if sorted(community) != sorted(shared):
        return Refused(
            Code.COMMUNITY_MISMATCH,
            f"The community cards of round {round_.id} are {' '.join(shared)}, not {' '.join(community)}.",
            game.jackpot_hand,
        )
    return None
