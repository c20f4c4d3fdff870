"""Every series, named once, after Prometheus' conventions."""

from prometheus_client import Counter, Gauge, Histogram

events = Counter("jackpot_events", "Events judged, by what became of them.", ["link", "type", "outcome"])
unreadable = Counter("jackpot_unreadable", "Payloads that are no event.", ["link", "code"])
unproved = Counter("jackpot_unproved", "Events without the proof that their table's key gives.", ["link", "table"])
ids_reused = Counter("jackpot_ids_reused", "Event ids that came again with another content.", ["link"])
invariants_broken = Counter("jackpot_invariants_broken", "Batches rolled back by a broken invariant.", ["link"])
commit_retries = Counter("jackpot_commit_retries", "Batches decided again, by reason.", ["link", "why"])
batch_events = Histogram(
    "jackpot_batch_events", "Events committed together.", ["link"], buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
)
commit_seconds = Histogram(
    "jackpot_commit_seconds",
    "From a batch being decided to its being durable.",
    ["link"],
    buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
)
waiting_events = Gauge("jackpot_waiting_events", "Events that wait to be taken.", ["link"])
displayed_cents = Gauge("jackpot_displayed_cents", "What the sign shows.", ["link"])
balance_micros = Gauge("jackpot_balance_micros", "Balances by account.", ["link", "account"])
claims_waiting = Gauge("jackpot_claims_waiting", "Rounds that hold an unpaid Royal or Straight Flush.", ["link"])
awards_unpaid = Gauge("jackpot_awards_unpaid", "Awards made and not yet paid at the table.", ["link"])
forged = Counter(
    "jackpot_forged", "Accounts, sessions and orders in the database that no console of ours wrote so.", ["table"]
)
money_orders = Counter("jackpot_money_orders", "Changes of money or its terms that two people ordered.", ["link"])
broker_refused = Counter("jackpot_broker_refused", "What the broker refused, as its log tells.", ["what"])
leading = Gauge("jackpot_leading", "1 while this daemon holds the link's lease.", ["link"])
suspended = Gauge("jackpot_suspended", "1 while play on the link is suspended.", ["link"])
broker_connected = Gauge("jackpot_broker_connected", "1 while the link's connection to the broker stands.", ["link"])
sign_connected = Gauge(
    "jackpot_sign_connected",
    "1 while the board takes what it is told and has no fault: 0 too if it once answered and does not now.",
    ["sign", "link"],
)
sign_history_lost = Counter("jackpot_sign_history_lost", "What boards were told and could not be kept.")
head_signed = Gauge(
    "jackpot_head_signed_timestamp_seconds", "When the link's newest head was known to be signed.", ["link"]
)
head_contradicted = Gauge(
    "jackpot_head_contradicted", "1 while the link's ledger does not hold what this daemon has signed.", ["link"]
)
certificate_not_after = Gauge(
    "jackpot_certificate_not_after_timestamp_seconds",
    "When a certificate in use ends, by the key that names it in the configuration; `broker`: the one that it shows.",
    ["role"],
)


def expect(link: str) -> None:
    """Start a link's series at 0: an alert sees a counter grow and a gauge stay low, but not one that is not there."""
    for counter in (ids_reused, invariants_broken, money_orders):
        counter.labels(link)
    stand_by(link)


def stand_by(link: str) -> None:
    """Another daemon has the link's figures: ours must not go on to alarm anybody."""
    for gauge in (
        waiting_events,
        claims_waiting,
        awards_unpaid,
        leading,
        suspended,
        broker_connected,
        head_contradicted,
    ):
        gauge.labels(link).set(0)
