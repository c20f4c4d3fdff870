"""MQTT transport: client, session, broker address. Knows nothing of jackpots."""
