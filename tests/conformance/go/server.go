package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	vkit "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

const (
	project      = "conformance"
	callTimeout  = 5 * time.Second
	patience     = 20 * time.Second
	subscription = "projects/" + project + "/subscriptions/"
	topic        = "projects/" + project + "/topics/"
)

// server is the server under test, through Google's client.
type server struct {
	client        *pubsub.Client
	topics        *vkit.TopicAdminClient
	subscriptions *vkit.SubscriptionAdminClient
	control       string
}

func call() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// advance moves the server's time on, where there is a control port.
func (s *server) advance(seconds int) {
	if s.control == "" {
		return
	}
	body := strings.NewReader(fmt.Sprintf(`{"seconds":%d}`, seconds))
	response := must(http.Post("http://"+s.control+"/clock/advance", "application/json", body))
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		panic(response.Status)
	}
}

func (s *server) topic(id string) {
	must(s.topics.CreateTopic(call(), &pubsubpb.Topic{Name: topic + id}))
}

// subscribe makes a topic with a subscription, both of that id.
func (s *server) subscribe(id string, settings ...func(*pubsubpb.Subscription)) string {
	s.topic(id)
	request := &pubsubpb.Subscription{Name: subscription + id, Topic: topic + id, AckDeadlineSeconds: 60}
	for _, set := range settings {
		set(request)
	}
	must(s.subscriptions.CreateSubscription(call(), request))
	return request.Name
}

func message(data any, attributes ...string) *pubsubpb.PubsubMessage {
	m := &pubsubpb.PubsubMessage{Data: []byte(fmt.Sprint(data)), Attributes: map[string]string{}}
	for i := 0; i < len(attributes); i += 2 {
		m.Attributes[attributes[i]] = attributes[i+1]
	}
	return m
}

func keyed(data any, key string) *pubsubpb.PubsubMessage {
	m := message(data)
	m.OrderingKey = key
	return m
}

func numbers(count int) []*pubsubpb.PubsubMessage {
	var all []*pubsubpb.PubsubMessage
	for i := range count {
		all = append(all, message(i))
	}
	return all
}

func (s *server) publish(id string, messages ...*pubsubpb.PubsubMessage) {
	must(s.topics.Publish(call(), &pubsubpb.PublishRequest{Topic: topic + id, Messages: messages}))
}

// pull takes a single look, which the deprecated ReturnImmediately is for.
func (s *server) pull(name string, max int32) []*pubsubpb.ReceivedMessage {
	request := &pubsubpb.PullRequest{Subscription: name, MaxMessages: max, ReturnImmediately: true}
	return must(s.subscriptions.Pull(call(), request)).ReceivedMessages
}

// wait answers the first message that comes.
func (s *server) wait(name string) *pubsubpb.ReceivedMessage {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		response, err := s.subscriptions.Pull(call(), &pubsubpb.PullRequest{Subscription: name, MaxMessages: 1})
		if err != nil && codeOf(err) != codes.DeadlineExceeded {
			panic(err)
		}
		if received := response.GetReceivedMessages(); len(received) > 0 {
			return received[0]
		}
	}
	panic("no message came")
}

func ids(received []*pubsubpb.ReceivedMessage) []string {
	var all []string
	for _, r := range received {
		all = append(all, r.AckId)
	}
	return all
}

func (s *server) ack(name string, received ...*pubsubpb.ReceivedMessage) error {
	request := &pubsubpb.AcknowledgeRequest{Subscription: name, AckIds: ids(received)}
	return s.subscriptions.Acknowledge(call(), request)
}

func (s *server) lease(name string, seconds int32, received ...*pubsubpb.ReceivedMessage) {
	mustDo(s.subscriptions.ModifyAckDeadline(call(), &pubsubpb.ModifyAckDeadlineRequest{
		Subscription: name, AckIds: ids(received), AckDeadlineSeconds: seconds,
	}))
}

func texts(received []*pubsubpb.ReceivedMessage) string {
	var all []string
	for _, r := range received {
		all = append(all, string(r.Message.Data))
	}
	return strings.Join(all, " ")
}

// drain pulls and acks until nothing is left.
func (s *server) drain(name string) string {
	var all []*pubsubpb.ReceivedMessage
	for {
		received := s.pull(name, 100)
		if len(received) == 0 {
			return texts(all)
		}
		mustDo(s.ack(name, received...))
		all = append(all, received...)
	}
}

// receive runs a subscriber until handle answers true. Calls of handle do not overlap.
func (s *server) receive(name string, limit int, handle func(*pubsub.Message) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	subscriber := s.client.Subscriber(name)
	subscriber.ReceiveSettings.MaxOutstandingMessages = limit
	subscriber.ReceiveSettings.NumGoroutines = 1
	var lock sync.Mutex
	done := false
	mustDo(subscriber.Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		lock.Lock()
		defer lock.Unlock()
		if done {
			m.Nack() // Receive waits for an answer to every message.
		} else if handle(m) {
			done = true
			cancel()
		}
	}))
	if !done {
		panic("too few messages came")
	}
}

func again(first, second *pubsubpb.ReceivedMessage) string {
	if first.AckId == second.AckId {
		return "again, same ack id"
	}
	return "again, new ack id"
}
