package nsqworker

import "github.com/nsqio/go-nsq"

// UserAgent is how a program of a version shows in nsqadmin: "relayer/1.2.3 go-nsq/1.1.0".
func UserAgent(version string) string { return "relayer/" + version + " go-nsq/" + nsq.VERSION }
