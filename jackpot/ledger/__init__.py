"""PostgreSQL: the schema, the one statement that makes a batch of decisions true, the lease, and the way back.

It stores what was decided and decides nothing itself. Facts are append-only; `links`, `rounds`, `unpaid` and
`leases` are working tables that `verify` can rebuild from them.
"""
