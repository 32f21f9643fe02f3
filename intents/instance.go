package intents

import "time"

// Instance is a process that works routes, as it last told of itself.
type Instance struct {
	Name      string // HOST-PID, as in timelines and leases
	StartedAt time.Time
	SeenAt    time.Time
	Pulse
}

// Pulse is what a process tells of itself.
type Pulse struct {
	Host     string   `json:"host"`
	PID      int      `json:"pid"`
	Version  string   `json:"version"`
	Routes   []string `json:"routes"`
	InFlight int      `json:"in_flight"` // messages of all routes
	Draining bool     `json:"draining"`
}

// PulseEvery is how often a process tells of itself.
const PulseEvery = 10 * time.Second

// Silent says whether a process has missed too many pulses to be thought alive.
func (i Instance) Silent(now time.Time) bool { return now.Sub(i.SeenAt) > 3*PulseEvery }

// InstanceView is an instance as programs read it in JSON.
type InstanceView struct {
	Name      string    `json:"name"`
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	SeenAt    time.Time `json:"seen_at"`
	Routes    []string  `json:"routes"`
	InFlight  int       `json:"in_flight"`
	Draining  bool      `json:"draining"`
}

// InstanceJSON gives the view of an instance.
func InstanceJSON(i Instance) InstanceView {
	v := InstanceView{i.Name, i.Host, i.PID, i.Version, i.StartedAt.UTC(), i.SeenAt.UTC(), i.Routes, i.InFlight, i.Draining}
	if v.Routes == nil {
		v.Routes = []string{}
	}
	return v
}
