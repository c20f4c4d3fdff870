"""Runs the migrations on the connection that `jackpot.ledger.migrate` hands over."""

from alembic import context

from jackpot.ledger.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
