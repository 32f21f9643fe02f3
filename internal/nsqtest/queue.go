package nsqtest

import (
	"encoding/json"

	"github.com/nsqio/nsq/nsqd"
)

// CreateChannel makes the topic and the channel.
func (n *NSQD) CreateChannel(topic, channel string) { n.d.GetTopic(topic).GetChannel(channel) }

// Publish puts one message for each body into the topic.
func (n *NSQD) Publish(topic string, bodies ...string) {
	n.tb.Helper()
	t := n.d.GetTopic(topic)
	for _, b := range bodies {
		if err := t.PutMessage(nsqd.NewMessage(t.GenerateID(), []byte(b))); err != nil {
			n.tb.Fatalf("publish: %v", err)
		}
	}
}

// ChannelStats is what nsqd counts for one channel.
type ChannelStats struct {
	Depth    int64 // waiting, in memory or on disk
	InFlight int
	Deferred int
	Messages uint64
	Requeued uint64
	TimedOut uint64
	Finished uint64 // by clients that are connected now
	Clients  []Client
}

// Client is one consumer as nsqd (and nsqadmin) shows it.
type Client struct {
	ClientID  string `json:"client_id"`
	Hostname  string `json:"hostname"`
	UserAgent string `json:"user_agent"`
	Ready     int64  `json:"ready_count"`
	InFlight  int64  `json:"in_flight_count"`
	Finished  uint64 `json:"finish_count"`
	Requeued  uint64 `json:"requeue_count"`
}

// Stats reads a channel's numbers; they are zero when it does not exist.
func (n *NSQD) Stats(topic, channel string) ChannelStats {
	n.tb.Helper()
	for _, t := range n.d.GetStats(topic, channel, true).Topics {
		for _, c := range t.Channels {
			return n.channelStats(c)
		}
	}
	return ChannelStats{}
}

func (n *NSQD) channelStats(c nsqd.ChannelStats) ChannelStats {
	n.tb.Helper()
	s := ChannelStats{
		Depth: c.Depth, InFlight: c.InFlightCount, Deferred: c.DeferredCount,
		Messages: c.MessageCount, Requeued: c.RequeueCount, TimedOut: c.TimeoutCount,
	}
	raw, err := json.Marshal(c.Clients) // their type has no fields of its own, only its JSON is public
	if err == nil {
		err = json.Unmarshal(raw, &s.Clients)
	}
	if err != nil {
		n.tb.Fatalf("stats: %v", err)
	}
	for _, cl := range s.Clients {
		s.Finished += cl.Finished
	}
	return s
}

// TopicDepth is how many messages wait in the topic itself, before any channel.
func (n *NSQD) TopicDepth(topic string) int64 {
	for _, t := range n.d.GetStats(topic, "", false).Topics {
		return t.Depth
	}
	return 0
}
