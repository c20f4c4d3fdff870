"""MQTT: topics, message shapes, strict decoding, and the connection. It decides nothing and knows no database."""
