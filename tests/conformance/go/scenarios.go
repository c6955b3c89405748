package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func admin(s *server) {
	update := func(id, path string) string {
		name := s.subscribe(id, func(r *pubsubpb.Subscription) { r.Labels = map[string]string{"team": "shop"} })
		must(s.subscriptions.UpdateSubscription(call(), &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: name, AckDeadlineSeconds: 30},
			UpdateMask:   &fieldmaskpb.FieldMask{Paths: []string{path}},
		}))
		got := s.get(name)
		return fmt.Sprint(got.AckDeadlineSeconds, " ", got.Labels["team"])
	}
	accepts("admin/create-twice", func(id string) { s.topic(id); s.topic(id) })
	accepts("admin/get-missing", func(id string) {
		must(s.topics.GetTopic(call(), &pubsubpb.GetTopicRequest{Topic: topic + id}))
	})
	accepts("admin/reserved-name", func(id string) { s.topic("goog-" + id) })
	accepts("admin/ack-deadline", func(id string) {
		s.subscribe(id, func(r *pubsubpb.Subscription) { r.AckDeadlineSeconds = 9 })
	})
	check("admin/list", func(id string) string {
		for i := range 3 {
			name := fmt.Sprintf("projects/%s/topics/topic-%d", id, i)
			must(s.topics.CreateTopic(call(), &pubsubpb.Topic{Name: name}))
		}
		var all []string
		pages := s.topics.ListTopics(call(), &pubsubpb.ListTopicsRequest{Project: "projects/" + id, PageSize: 2})
		for {
			found, err := pages.Next()
			if errors.Is(err, iterator.Done) {
				sort.Strings(all)
				return strings.Join(all, " ")
			}
			mustDo(err)
			all = append(all, found.Name[strings.LastIndex(found.Name, "/")+1:])
		}
	})
	check("admin/update", func(id string) string { return update(id, "ack_deadline_seconds") })
	accepts("admin/update-mask", func(id string) { update(id, "no_such_field") })
	check("admin/topic-deleted", func(id string) string {
		name := s.subscribe(id)
		mustDo(s.topics.DeleteTopic(call(), &pubsubpb.DeleteTopicRequest{Topic: topic + id}))
		return s.get(name).Topic
	})
	check("admin/detached", func(id string) string {
		name := s.subscribe(id)
		must(s.topics.DetachSubscription(call(), &pubsubpb.DetachSubscriptionRequest{Subscription: name}))
		return fmt.Sprint(len(s.pull(name, 100)), " pulled")
	})
}

func (s *server) get(name string) *pubsubpb.Subscription {
	return must(s.subscriptions.GetSubscription(call(), &pubsubpb.GetSubscriptionRequest{Subscription: name}))
}

func messages(s *server) {
	one := func(id string, settings ...func(*pubsubpb.Subscription)) (string, *pubsubpb.ReceivedMessage) {
		name := s.subscribe(id, settings...)
		s.publish(id, message(1))
		return name, s.wait(name)
	}
	check("publish/round-trip", func(id string) string {
		name := s.subscribe(id)
		sent := message("é😀", "a", "v")
		sent.OrderingKey = "k"
		s.publish(id, sent)
		got := s.wait(name).Message
		return fmt.Sprintf("%s / %s / %s", got.Data, got.Attributes["a"], got.OrderingKey)
	})
	accepts("publish/empty", func(id string) { s.topic(id); s.publish(id, &pubsubpb.PubsubMessage{}) })
	accepts("publish/reserved-attribute", func(id string) { s.topic(id); s.publish(id, message(1, "googly", "v")) })
	accepts("publish/missing-topic", func(id string) { s.publish(id, message(1)) })
	check("pull/leased", func(id string) string {
		name, _ := one(id)
		return fmt.Sprint(len(s.pull(name, 100)))
	})
	check("pull/acked", func(id string) string {
		name, received := one(id)
		mustDo(s.ack(name, received))
		s.advance(61)
		return fmt.Sprint(len(s.pull(name, 100)))
	})
	check("pull/attempt", func(id string) string {
		_, received := one(id)
		return fmt.Sprint(received.DeliveryAttempt)
	})
	accepts("pull/max-messages", func(id string) { s.pull(s.subscribe(id), 0) })
	check("lease/expired", func(id string) string {
		name, first := one(id)
		s.lease(name, 1, first)
		s.advance(2)
		return again(first, s.wait(name))
	})
	check("nack/again", func(id string) string {
		name, first := one(id)
		s.lease(name, 0, first)
		return again(first, s.wait(name))
	})
	check("nack/backoff", func(id string) string {
		name, first := one(id, func(r *pubsubpb.Subscription) {
			r.RetryPolicy = &pubsubpb.RetryPolicy{
				MinimumBackoff: durationpb.New(10 * time.Second),
				MaximumBackoff: durationpb.New(20 * time.Second),
			}
		})
		s.lease(name, 0, first)
		if len(s.pull(name, 100)) > 0 {
			return "at once"
		}
		s.advance(21)
		s.wait(name)
		return "held back, then again"
	})
}

func streams(s *server) {
	check("streaming/all", func(id string) string {
		name := s.subscribe(id)
		s.publish(id, numbers(50)...)
		received := map[string]bool{}
		s.receive(name, 1000, func(m *pubsub.Message) bool {
			received[string(m.Data)] = true
			m.Ack()
			return len(received) == 50
		})
		s.advance(700)
		return fmt.Sprintf("%d received, %d left", len(received), len(s.pull(name, 100)))
	})
	check("streaming/nack", func(id string) string {
		name := s.subscribe(id)
		s.publish(id, message(1))
		deliveries := 0
		s.receive(name, 1000, func(m *pubsub.Message) bool {
			deliveries++
			if deliveries == 1 {
				m.Nack()
				return false
			}
			m.Ack()
			return true
		})
		return fmt.Sprint(deliveries, " deliveries")
	})
}

func inOrder(r *pubsubpb.Subscription) { r.EnableMessageOrdering = true }

func (s *server) ordered(id string, from, to int, settings ...func(*pubsubpb.Subscription)) string {
	name := s.subscribe(id, append(settings, inOrder)...)
	var all []*pubsubpb.PubsubMessage
	for i := from; i <= to; i++ {
		all = append(all, keyed(i, "k"))
	}
	s.publish(id, all...)
	return name
}

func ordering(s *server) {
	check("ordering/streaming", func(id string) string {
		name := s.ordered(id, 0, 19)
		var received, expected []string
		s.receive(name, 1000, func(m *pubsub.Message) bool {
			expected = append(expected, fmt.Sprint(len(received)))
			received = append(received, string(m.Data))
			m.Ack()
			return len(received) == 20
		})
		if got := strings.Join(received, " "); got != strings.Join(expected, " ") {
			return got
		}
		return "in order"
	})
	check("ordering/batch", func(id string) string { return texts(s.pull(s.ordered(id, 1, 3), 100)) })
	check("ordering/one-batch", func(id string) string {
		name := s.ordered(id, 1, 3)
		s.pull(name, 1)
		return fmt.Sprint(len(s.pull(name, 100)))
	})
	check("ordering/other-keys", func(id string) string {
		name := s.ordered(id, 1, 3)
		s.pull(name, 1)
		s.publish(id, keyed("other", "another key"))
		others := 0
		for _, r := range s.pull(name, 100) {
			if r.Message.OrderingKey == "another key" {
				others++
			}
		}
		return fmt.Sprint(others)
	})
	check("ordering/replay", func(id string) string {
		name := s.ordered(id, 1, 3)
		received := s.pull(name, 100)
		if len(received) > 1 {
			mustDo(s.ack(name, received[1:]...))
		}
		s.lease(name, 0, received[0])
		return s.drain(name)
	})
}

func deadLetters(s *server) {
	create := func(id string, attempts int32) (name, target string) {
		target = s.subscribe(id + "-dead")
		name = s.subscribe(id, func(r *pubsubpb.Subscription) {
			r.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{
				DeadLetterTopic: topic + id + "-dead", MaxDeliveryAttempts: attempts,
			}
		})
		return name, target
	}
	// Nacks a message until it is used up: the attempts, and the subscription of the dead-letter topic.
	useUp := func(id string) (attempts []string, target string) {
		name, target := create(id, 5)
		s.publish(id, message("payload"))
		for range 5 {
			received := s.wait(name)
			attempts = append(attempts, fmt.Sprint(received.DeliveryAttempt))
			s.lease(name, 0, received)
		}
		s.pull(name, 100) // Some servers forward when they would deliver.
		return attempts, target
	}
	accepts("dead-letter/attempts-4", func(id string) { create(id, 4) })
	check("dead-letter/attempts", func(id string) string {
		attempts, _ := useUp(id)
		return strings.Join(attempts, " ")
	})
	check("dead-letter/forwarded", func(id string) string {
		_, target := useUp(id)
		return string(s.wait(target).Message.Data)
	})
	check("dead-letter/attributes", func(id string) string {
		_, target := useUp(id)
		attributes := s.wait(target).Message.Attributes
		get := func(name string) string {
			if value, there := attributes["CloudPubSubDeadLetterSource"+name]; there {
				return value
			}
			return "none"
		}
		return get("DeliveryCount") + " " + get("Subscription")
	})
}

func filters(s *server) {
	filter := func(text string) func(*pubsubpb.Subscription) {
		return func(r *pubsubpb.Subscription) { r.Filter = text }
	}
	check("filter/matching", func(id string) string {
		name := s.subscribe(id, filter(`attributes.kind = "a" AND NOT hasPrefix(attributes.name, "x")`))
		s.publish(id,
			message(1, "kind", "a", "name", "y"),
			message(2, "kind", "a", "name", "x1"),
			message(3, "kind", "b"))
		return s.drain(name)
	})
	accepts("filter/syntax", func(id string) { s.subscribe(id, filter("attributes.kind = ")) })
	accepts("filter/length", func(id string) {
		s.subscribe(id, filter(`attributes.kind = "`+strings.Repeat("x", 237)+`"`))
	})
	check("filter/fixed", func(id string) string {
		name := s.subscribe(id, filter(`attributes.kind = "a"`))
		_, err := s.subscriptions.UpdateSubscription(call(), &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: name, Filter: `attributes.kind = "b"`},
			UpdateMask:   &fieldmaskpb.FieldMask{Paths: []string{"filter"}},
		})
		if err != nil && names[codeOf(err)] == "INVALID_ARGUMENT" {
			return "refused"
		}
		mustDo(err)
		return "changed"
	})
}

func exactlyOnce(s *server) {
	once := func(r *pubsubpb.Subscription) { r.EnableExactlyOnceDelivery = true }
	redelivered := func(id string) (name string, first, second *pubsubpb.ReceivedMessage) {
		name = s.subscribe(id, once)
		s.publish(id, message(1))
		first = s.wait(name)
		s.lease(name, 0, first)
		return name, first, s.wait(name)
	}
	check("exactly-once/stale-ack", func(id string) string {
		name, first, _ := redelivered(id)
		err := s.ack(name, first)
		var detailed *apierror.APIError
		if errors.As(err, &detailed) {
			return detailed.Metadata()[first.AckId]
		}
		mustDo(err)
		return "OK"
	})
	check("exactly-once/current-ack", func(id string) string {
		name, _, second := redelivered(id)
		mustDo(s.ack(name, second))
		return "OK"
	})
	check("exactly-once/subscriber", func(id string) string {
		name := s.subscribe(id, once)
		s.publish(id, message(1))
		var result *pubsub.AckResult
		s.receive(name, 1000, func(m *pubsub.Message) bool {
			result = m.AckWithResult()
			return true
		})
		status := must(result.Get(call()))
		if status == pubsub.AcknowledgeStatusSuccess {
			return "success"
		}
		return fmt.Sprint("status ", status)
	})
}

func flow(s *server) {
	check("flow/outstanding", func(id string) string {
		name := s.subscribe(id)
		s.publish(id, numbers(20)...)
		received := map[string]bool{}
		var held []*pubsub.Message
		left := -1
		s.receive(name, 5, func(m *pubsub.Message) bool {
			received[string(m.Data)] = true
			held = append(held, m)
			if left < 0 && len(held) < 5 {
				return false
			}
			if left < 0 {
				rest := s.pull(name, 100)
				left = len(rest)
				if left > 0 {
					s.lease(name, 0, rest...)
				}
			}
			for _, m := range held {
				m.Ack()
			}
			held = nil
			return len(received) == 20
		})
		return fmt.Sprintf("%d left, %d in all", left, len(received))
	})
}

func seeks(s *server) {
	retain := func(r *pubsubpb.Subscription) { r.RetainAckedMessages = true }
	to := func(name string, when time.Time) {
		target := &pubsubpb.SeekRequest_Time{Time: timestamppb.New(when)}
		must(s.subscriptions.Seek(call(), &pubsubpb.SeekRequest{Subscription: name, Target: target}))
	}
	// Pulls and acks all, then seeks to before it.
	back := func(name string) {
		var published time.Time
		for {
			received := s.pull(name, 100)
			if len(received) == 0 {
				break
			}
			if published.IsZero() {
				published = received[0].Message.PublishTime.AsTime()
			}
			mustDo(s.ack(name, received...))
		}
		to(name, published.Add(-time.Second))
	}
	backOne := func(id string, settings ...func(*pubsubpb.Subscription)) string {
		name := s.subscribe(id, settings...)
		s.publish(id, message(1))
		back(name)
		return fmt.Sprint(len(s.pull(name, 100)))
	}
	check("seek/future", func(id string) string {
		name := s.subscribe(id)
		s.publish(id, message(1), message(2))
		to(name, time.Now().Add(24*time.Hour))
		return fmt.Sprint(len(s.pull(name, 100)))
	})
	check("seek/snapshot", func(id string) string {
		name := s.subscribe(id)
		s.publish(id, message(1))
		snapshot := "projects/" + project + "/snapshots/" + id
		must(s.subscriptions.CreateSnapshot(call(), &pubsubpb.CreateSnapshotRequest{Name: snapshot, Subscription: name}))
		mustDo(s.ack(name, s.wait(name)))
		target := &pubsubpb.SeekRequest_Snapshot{Snapshot: snapshot}
		must(s.subscriptions.Seek(call(), &pubsubpb.SeekRequest{Subscription: name, Target: target}))
		return fmt.Sprint(len(s.pull(name, 100)))
	})
	check("seek/not-retained", func(id string) string { return backOne(id) })
	check("seek/retained", func(id string) string { return backOne(id, retain) })
	check("seek/ordered", func(id string) string {
		name := s.ordered(id, 1, 3, retain)
		back(name)
		return s.drain(name)
	})
}
