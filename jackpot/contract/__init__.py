"""What other systems build against: events, replies, notices, refusal codes, topics, codec, proofs.

Pure. The link decides on these event types directly, so a payload is parsed once and the published
limits and the enforced ones are the same annotations.
"""
