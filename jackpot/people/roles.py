"""Six roles and what each may do: as little as its work needs, and nobody alone changes money.

Nor does an engineer with two accounts that he made himself: what an account may do with money rests until one who may
approve money, and is no engineer, has confirmed it; again after each password that another has set. Accounts made at
the terminal are confirmed by that: whoever types there has the machine and its database, and is beyond all roles.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Role(StrEnum):
    DEALER = "dealer"
    PIT_SUPERVISOR = "pit_supervisor"
    PIT_MANAGER = "pit_manager"
    FINANCE = "finance"
    AUDITOR = "auditor"
    ENGINEER = "engineer"


class Permission(StrEnum):
    WATCH = "watch"
    """Meters, tables, rounds, claims and boards: what can be seen on the floor anyway."""
    SEE_AWARDS = "see_awards"
    SEE_EVENTS = "see_events"
    """What tables sent, what they were answered, and what could not be read."""
    SEE_MONEY = "see_money"
    """Journals with the hidden accounts, the day's reconciliation, proposals."""
    SEE_AUDIT = "see_audit"
    SUSPEND = "suspend"
    RESUME = "resume"
    CONCLUDE_ROUNDS = "conclude_rounds"
    PROPOSE_ADJUSTMENTS = "propose_adjustments"
    APPROVE_ADJUSTMENTS = "approve_adjustments"
    PROPOSE_PARAMETERS = "propose_parameters"
    APPROVE_PARAMETERS = "approve_parameters"
    SEE_PEOPLE = "see_people"
    MANAGE_PEOPLE = "manage_people"
    CONFIRM_PEOPLE = "confirm_people"
    """To say that a new account, or one with a new password, is in the hands of the person it is named after."""


PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = MappingProxyType(
    {
        Role.DEALER: frozenset({Permission.WATCH, Permission.SEE_AWARDS}),
        # Whoever watches a pit may stop play; to let it go on, or to end a round, takes the pit manager.
        Role.PIT_SUPERVISOR: frozenset(
            {Permission.WATCH, Permission.SEE_AWARDS, Permission.SEE_EVENTS, Permission.SUSPEND}
        ),
        Role.PIT_MANAGER: frozenset(
            {
                Permission.WATCH,
                Permission.SEE_AWARDS,
                Permission.SEE_EVENTS,
                Permission.SEE_MONEY,
                Permission.SUSPEND,
                Permission.RESUME,
                Permission.CONCLUDE_ROUNDS,
                Permission.PROPOSE_ADJUSTMENTS,
                Permission.APPROVE_PARAMETERS,
                Permission.SEE_PEOPLE,
                Permission.CONFIRM_PEOPLE,
            }
        ),
        # Money is corrected with finance's consent, its parameters with the pit's: no side does both.
        Role.FINANCE: frozenset(
            {
                Permission.WATCH,
                Permission.SEE_AWARDS,
                Permission.SEE_EVENTS,
                Permission.SEE_MONEY,
                Permission.PROPOSE_ADJUSTMENTS,
                Permission.APPROVE_ADJUSTMENTS,
                Permission.PROPOSE_PARAMETERS,
                Permission.SEE_PEOPLE,
                Permission.CONFIRM_PEOPLE,
            }
        ),
        # Sees all, changes nothing.
        Role.AUDITOR: frozenset(
            {
                Permission.WATCH,
                Permission.SEE_AWARDS,
                Permission.SEE_EVENTS,
                Permission.SEE_MONEY,
                Permission.SEE_AUDIT,
                Permission.SEE_PEOPLE,
            }
        ),
        # Keeps the machine and the accounts; the money is not his.
        Role.ENGINEER: frozenset(
            {
                Permission.WATCH,
                Permission.SEE_EVENTS,
                Permission.SUSPEND,
                Permission.SEE_PEOPLE,
                Permission.MANAGE_PEOPLE,
            }
        ),
    }
)

SEES: Final = frozenset(
    {
        Permission.WATCH,
        Permission.SEE_AWARDS,
        Permission.SEE_EVENTS,
        Permission.SEE_MONEY,
        Permission.SEE_AUDIT,
        Permission.SEE_PEOPLE,
    }
)
CHANGES: Final = frozenset(Permission) - SEES
"""Permissions that change something; a session that has none of them may stay on a wall screen all day."""

OF_THE_CONFIRMED: Final = frozenset(
    {
        Permission.PROPOSE_ADJUSTMENTS,
        Permission.APPROVE_ADJUSTMENTS,
        Permission.PROPOSE_PARAMETERS,
        Permission.APPROVE_PARAMETERS,
        Permission.CONFIRM_PEOPLE,
    }
)
"""What an account may not do before it is confirmed."""


def may(role: Role, permission: Permission) -> bool:
    return permission in PERMISSIONS[role]


def only_watches(role: Role) -> bool:
    return not PERMISSIONS[role] & CHANGES


def must_be_confirmed(role: Role) -> bool:
    return bool(PERMISSIONS[role] & OF_THE_CONFIRMED)
