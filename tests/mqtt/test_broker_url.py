"""The broker's URL as configured."""

import pytest

from jackpot.errors import UserError
from jackpot.mqtt.client import Broker


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("mqtt://broker", Broker("broker", 1883)),
        ("mqtt://127.0.0.1:1884/", Broker("127.0.0.1", 1884)),
        ("mqtt://[::1]:1884", Broker("::1", 1884)),
        ("mqtt://dealer:p%40ss%2F@broker", Broker("broker", 1883, None, "dealer", "p@ss/")),
        ("mqtt://dealer@broker", Broker("broker", 1883, None, "dealer")),
        ("mqtt://dealer@a,b:1884,[::1]", Broker("a", 1883, None, "dealer", None, (("b", 1884), ("::1", 1883)))),
    ],
)
def test_a_url_says_where_and_who(url: str, broker: Broker) -> None:
    assert Broker.from_url(url) == broker


def test_a_cluster_is_gone_round() -> None:
    broker = Broker.from_url("mqtt://dealer:secret@a,b:1884,c")
    assert [str(broker), str(broker.next), str(broker.next.next)] == ["a:1883", "b:1884", "c:1883"]
    assert broker.next.next.next == broker
    assert broker.next.password == "secret"
    assert Broker("alone", 1883).next == Broker("alone", 1883)


def test_mqtts_is_tls_on_its_own_port() -> None:
    broker = Broker.from_url("mqtts://broker")
    assert broker.port == 8883
    assert broker.tls is not None
    assert broker.tls.check_hostname


@pytest.mark.parametrize(
    "url",
    ["", "broker:1883", "http://broker", "mqtt://", "mqtt://broker:port", "mqtt://broker:99999", "mqtt://broker/topic",
     "mqtt://broker?tls=1", "mqtt://[::1", "mqtt://a,,b", "mqtt://a,b:port"],
)  # fmt: skip
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="the broker's URL"):
        Broker.from_url(url)


def test_certificates_without_tls_are_a_mistake() -> None:
    with pytest.raises(UserError, match="mqtts://"):
        Broker.from_url("mqtt://broker", ca="ca.pem")


def test_a_password_is_not_shown() -> None:
    broker = Broker.from_url("mqtt://dealer:secret@broker")
    assert "secret" not in repr(broker) + str(broker)


@pytest.mark.parametrize("url", ["mqtt://dealer:secret@broker:port", "http://dealer:secret@broker"])
def test_nor_in_a_complaint(url: str) -> None:
    with pytest.raises(UserError) as caught:
        Broker.from_url(url)
    assert "secret" not in str(caught.value)
