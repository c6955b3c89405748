"""The scenarios with Google's Python client.

Usage: conformance.py HOST:PORT [CONTROL_HOST:PORT]. Prints a line `check<TAB>observed` for each check of
../checks.tsv. With a control address, time is moved on the server; without one, it passes.
"""

import datetime
import json
import os
import queue
import sys
import time
import urllib.request
import warnings

from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.protobuf import field_mask_pb2

PROJECT = "projects/conformance"
CALL = {"timeout": 5, "retry": None}
PATIENCE = 20

os.environ["PUBSUB_EMULATOR_HOST"] = sys.argv[1]
control = sys.argv[2] if len(sys.argv) > 2 else ""
# A single look is what the deprecated return_immediately is for.
warnings.simplefilter("ignore", DeprecationWarning)
topics = pubsub_v1.PublisherClient()
subscriptions = pubsub_v1.SubscriberClient()


def code(error):
    if isinstance(error, (exceptions.ServiceUnavailable, exceptions.DeadlineExceeded)):
        return "no answer"
    return error.grpc_status_code.name if error.grpc_status_code else type(error).__name__


def check(name, observe):
    try:
        observed = observe(name.replace("/", "-"))
    except exceptions.GoogleAPICallError as error:
        observed = code(error)
    except Exception as error:  # One check that breaks must not hide the others.
        observed = f"{type(error).__name__}: {error}".split("\n")[0]
    print(name, observed, sep="\t", flush=True)


def accepts(do):
    """A check of something that must be refused."""

    def observe(id):
        do(id)
        return "accepted"

    return observe


def advance(seconds):
    if control:
        body = json.dumps({"seconds": seconds}).encode()
        request = urllib.request.Request(f"http://{control}/clock/advance", body, {"content-type": "application/json"})
        urllib.request.urlopen(request, timeout=5).read()


def topic(id):
    name = f"{PROJECT}/topics/{id}"
    topics.create_topic(request={"name": name}, **CALL)
    return name


def subscribe(id, **settings):
    """A topic with a subscription, both of that id."""
    name = f"{PROJECT}/subscriptions/{id}"
    request = {"name": name, "topic": topic(id), "ack_deadline_seconds": 60, **settings}
    subscriptions.create_subscription(request=request, **CALL)
    return name


def message(data, key="", **attributes):
    return {"data": str(data).encode(), "ordering_key": key, "attributes": attributes}


def publish(id, *messages):
    topics.api.publish(request={"topic": f"{PROJECT}/topics/{id}", "messages": messages}, **CALL)


def pull(subscription, max_messages=100):
    request = {"subscription": subscription, "max_messages": max_messages, "return_immediately": True}
    return list(subscriptions.pull(request=request, **CALL).received_messages)


def wait(subscription):
    """The first message that comes."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            request = {"subscription": subscription, "max_messages": 1}
            for received in subscriptions.pull(request=request, **CALL).received_messages:
                return received
        except exceptions.DeadlineExceeded:
            pass
    raise TimeoutError("no message came")


def ack(subscription, *received):
    ids = [r.ack_id for r in received]
    subscriptions.acknowledge(request={"subscription": subscription, "ack_ids": ids}, **CALL)


def lease(subscription, seconds, *received):
    ids = [r.ack_id for r in received]
    request = {"subscription": subscription, "ack_ids": ids, "ack_deadline_seconds": seconds}
    subscriptions.modify_ack_deadline(request=request, **CALL)


def drain(subscription):
    """What can be pulled and acked until nothing is left."""
    data = []
    while received := pull(subscription):
        data += [r.message.data.decode() for r in received]
        ack(subscription, *received)
    return " ".join(data)


def again(first, second):
    new = "new" if first.ack_id != second.ack_id else "same"
    return f"again, {new} ack id"


def receive(subscription, handle, limit=1000):
    """Runs a subscriber until `handle` answers true."""
    arrived = queue.Queue()
    flow = pubsub_v1.types.FlowControl(max_messages=limit)
    future = subscriptions.subscribe(subscription, callback=arrived.put, flow_control=flow)
    try:
        while not handle(arrived.get(timeout=PATIENCE)):
            pass
    finally:
        future.cancel()
        future.result(timeout=PATIENCE)


# admin


def create_twice(id):
    topic(id)
    topic(id)


def get_missing(id):
    topics.get_topic(request={"topic": f"{PROJECT}/topics/{id}"}, **CALL)


def list_topics(id):
    for i in range(3):
        topics.create_topic(request={"name": f"projects/{id}/topics/topic-{i}"}, **CALL)
    pages = topics.list_topics(request={"project": f"projects/{id}", "page_size": 2}, **CALL)
    return " ".join(sorted(t.name.split("/")[-1] for t in pages))


def update(id, path="ack_deadline_seconds", **settings):
    name = subscribe(id, labels={"team": "shop"})
    changed = {"name": name, "ack_deadline_seconds": 30, "labels": {}, **settings}
    mask = field_mask_pb2.FieldMask(paths=[path])
    subscriptions.update_subscription(request={"subscription": changed, "update_mask": mask}, **CALL)
    got = subscriptions.get_subscription(request={"subscription": name}, **CALL)
    return f"{got.ack_deadline_seconds} {got.labels.get('team', '')}"


def topic_deleted(id):
    name = subscribe(id)
    topics.delete_topic(request={"topic": f"{PROJECT}/topics/{id}"}, **CALL)
    return subscriptions.get_subscription(request={"subscription": name}, **CALL).topic


def detached(id):
    name = subscribe(id)
    topics.detach_subscription(request={"subscription": name}, **CALL)
    return f"{len(pull(name))} pulled"


check("admin/create-twice", accepts(create_twice))
check("admin/get-missing", accepts(get_missing))
check("admin/reserved-name", accepts(lambda id: topic("goog-" + id)))
check("admin/ack-deadline", accepts(lambda id: subscribe(id, ack_deadline_seconds=9)))
check("admin/list", list_topics)
check("admin/update", update)
check("admin/update-mask", accepts(lambda id: update(id, "no_such_field")))
check("admin/topic-deleted", topic_deleted)
check("admin/detached", detached)

# publish and pull


def round_trip(id):
    name = subscribe(id)
    publish(id, message("é😀", "k", a="v"))
    got = wait(name).message
    return f"{got.data.decode()} / {got.attributes['a']} / {got.ordering_key}"


def publish_one(id, sent):
    topic(id)
    publish(id, sent)


def leased(id):
    name = subscribe(id)
    publish(id, message(1))
    wait(name)
    return len(pull(name))


def acked(id):
    name = subscribe(id)
    publish(id, message(1))
    ack(name, wait(name))
    advance(61)
    return len(pull(name))


def attempt(id):
    name = subscribe(id)
    publish(id, message(1))
    return wait(name).delivery_attempt


check("publish/round-trip", round_trip)
check("publish/empty", accepts(lambda id: publish_one(id, {})))
check("publish/reserved-attribute", accepts(lambda id: publish_one(id, message(1, googly="v"))))
check("publish/missing-topic", accepts(lambda id: publish(id, message(1))))
check("pull/leased", leased)
check("pull/acked", acked)
check("pull/attempt", attempt)
check("pull/max-messages", accepts(lambda id: pull(subscribe(id), 0)))

# leases and nacks


def expired(id):
    name = subscribe(id)
    publish(id, message(1))
    first = wait(name)
    lease(name, 1, first)
    advance(2)
    return again(first, wait(name))


def nacked(id):
    name = subscribe(id)
    publish(id, message(1))
    first = wait(name)
    lease(name, 0, first)
    return again(first, wait(name))


def backoff(id):
    policy = {"minimum_backoff": datetime.timedelta(seconds=10), "maximum_backoff": datetime.timedelta(seconds=20)}
    name = subscribe(id, retry_policy=policy)
    publish(id, message(1))
    lease(name, 0, wait(name))
    if pull(name):
        return "at once"
    advance(21)
    wait(name)
    return "held back, then again"


check("lease/expired", expired)
check("nack/again", nacked)
check("nack/backoff", backoff)

# streaming


def stream_all(id):
    name = subscribe(id)
    publish(id, *(message(i) for i in range(50)))
    received = set()

    def handle(m):
        received.add(m.data)
        m.ack()
        return len(received) == 50

    receive(name, handle)
    advance(700)
    return f"{len(received)} received, {len(pull(name))} left"


def stream_nack(id):
    name = subscribe(id)
    publish(id, message(1))
    deliveries = []

    def handle(m):
        deliveries.append(m.ack_id)
        if len(deliveries) == 1:
            m.nack()
        else:
            m.ack()
        return len(deliveries) == 2

    receive(name, handle)
    return f"{len(deliveries)} deliveries"


check("streaming/all", stream_all)
check("streaming/nack", stream_nack)

# ordering


def ordered(id, *data, **settings):
    name = subscribe(id, enable_message_ordering=True, **settings)
    publish(id, *(message(d, "k") for d in data))
    return name


def stream_ordered(id):
    name = ordered(id, *range(20))
    received = []

    def handle(m):
        received.append(int(m.data))
        m.ack()
        return len(received) == 20

    receive(name, handle)
    return "in order" if received == list(range(20)) else " ".join(map(str, received))


def batch(id):
    return " ".join(r.message.data.decode() for r in pull(ordered(id, 1, 2, 3)))


def one_batch(id):
    name = ordered(id, 1, 2, 3)
    pull(name, 1)
    return len(pull(name))


def other_keys(id):
    name = ordered(id, 1, 2, 3)
    pull(name, 1)
    publish(id, message("other", "another key"))
    return sum(r.message.ordering_key == "another key" for r in pull(name))


def replay(id):
    name = ordered(id, 1, 2, 3)
    received = pull(name)
    if received[1:]:
        ack(name, *received[1:])
    lease(name, 0, received[0])
    return drain(name)


check("ordering/streaming", stream_ordered)
check("ordering/batch", batch)
check("ordering/one-batch", one_batch)
check("ordering/other-keys", other_keys)
check("ordering/replay", replay)

# dead letters


def dead_letters(id, attempts=5):
    target = subscribe(id + "-dead")
    policy = {"dead_letter_topic": f"{PROJECT}/topics/{id}-dead", "max_delivery_attempts": attempts}
    return subscribe(id, dead_letter_policy=policy), target


def use_up(id):
    """Nacks a message until it is used up; the attempts, and what arrives at the dead-letter topic."""
    name, target = dead_letters(id)
    publish(id, message("payload"))
    attempts = []
    for _ in range(5):
        received = wait(name)
        attempts.append(received.delivery_attempt)
        lease(name, 0, received)
    pull(name)  # Some servers forward when they would deliver.
    return attempts, target


def dead_attributes(id):
    got = wait(use_up(id)[1]).message.attributes
    count = got.get("CloudPubSubDeadLetterSourceDeliveryCount", "none")
    source = got.get("CloudPubSubDeadLetterSourceSubscription", "none")
    return f"{count} {source}"


check("dead-letter/attempts-4", accepts(lambda id: dead_letters(id, 4)))
check("dead-letter/attempts", lambda id: " ".join(map(str, use_up(id)[0])))
check("dead-letter/forwarded", lambda id: wait(use_up(id)[1]).message.data.decode())
check("dead-letter/attributes", dead_attributes)

# filters


def matching(id):
    name = subscribe(id, filter='attributes.kind = "a" AND NOT hasPrefix(attributes.name, "x")')
    publish(id, message(1, kind="a", name="y"), message(2, kind="a", name="x1"), message(3, kind="b"))
    return drain(name)


def fixed(id):
    name = subscribe(id, filter='attributes.kind = "a"')
    changed = {"name": name, "filter": 'attributes.kind = "b"'}
    mask = field_mask_pb2.FieldMask(paths=["filter"])
    try:
        subscriptions.update_subscription(request={"subscription": changed, "update_mask": mask}, **CALL)
    except exceptions.InvalidArgument:
        return "refused"
    return "changed"


check("filter/matching", matching)
check("filter/syntax", accepts(lambda id: subscribe(id, filter="attributes.kind = ")))
check("filter/length", accepts(lambda id: subscribe(id, filter='attributes.kind = "' + "x" * 237 + '"')))
check("filter/fixed", fixed)

# exactly once


def redelivered(id):
    name = subscribe(id, enable_exactly_once_delivery=True)
    publish(id, message(1))
    first = wait(name)
    lease(name, 0, first)
    return name, first, wait(name)


def stale_ack(id):
    name, first, _ = redelivered(id)
    try:
        ack(name, first)
    except exceptions.FailedPrecondition as error:
        return error.metadata.get(first.ack_id, "not named")
    return "OK"


def current_ack(id):
    name, _, second = redelivered(id)
    ack(name, second)
    return "OK"


def confirmed(id):
    name = subscribe(id, enable_exactly_once_delivery=True)
    publish(id, message(1))
    results = []

    def handle(m):
        results.append(m.ack_with_response().result(timeout=PATIENCE))
        return True

    receive(name, handle)
    return results[0].name.lower()


check("exactly-once/stale-ack", stale_ack)
check("exactly-once/current-ack", current_ack)
check("exactly-once/subscriber", confirmed)

# flow control


def outstanding(id):
    name = subscribe(id)
    publish(id, *(message(i) for i in range(20)))
    held, received, left = [], set(), []

    def handle(m):
        received.add(m.data)
        held.append(m)
        if not left and len(held) < 5:
            return False
        if not left:
            rest = pull(name)
            left.append(len(rest))
            if rest:
                lease(name, 0, *rest)
        while held:
            held.pop().ack()
        return len(received) == 20

    receive(name, handle, limit=5)
    return f"{left[0]} left, {len(received)} in all"


check("flow/outstanding", outstanding)

# seek


def seek(name, **target):
    subscriptions.seek(request={"subscription": name, **target}, **CALL)


def future(id):
    name = subscribe(id)
    publish(id, message(1), message(2))
    seek(name, time=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1))
    return len(pull(name))


def snapshot(id):
    name = subscribe(id)
    publish(id, message(1))
    kept = f"{PROJECT}/snapshots/{id}"
    subscriptions.create_snapshot(request={"name": kept, "subscription": name}, **CALL)
    ack(name, wait(name))
    seek(name, snapshot=kept)
    return len(pull(name))


def back(name):
    """Pulls and acks all, then seeks to before it."""
    published = None
    while received := pull(name):
        published = published or received[0].message.publish_time
        ack(name, *received)
    seek(name, time=published - datetime.timedelta(seconds=1))


def back_one(id, **settings):
    name = subscribe(id, **settings)
    publish(id, message(1))
    back(name)
    return len(pull(name))


def back_ordered(id):
    name = ordered(id, 1, 2, 3, retain_acked_messages=True)
    back(name)
    return drain(name)


check("seek/future", future)
check("seek/snapshot", snapshot)
check("seek/not-retained", back_one)
check("seek/retained", lambda id: back_one(id, retain_acked_messages=True))
check("seek/ordered", back_ordered)
