package pgstore

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// literal writes an array that a column built as text: {1,NULL,"a \"b\""}. Every driver takes that.
func literal(array []byte) string {
	if len(array) < arrayHeader { // an empty one has no dimensions
		return "{}"
	}
	oid, n, rest := binary.BigEndian.Uint32(array[8:]), binary.BigEndian.Uint32(array[12:]), array[arrayHeader:]
	elements := make([]string, n)
	for i := range elements {
		size := int32(binary.BigEndian.Uint32(rest))
		rest = rest[4:]
		if size < 0 {
			elements[i] = "NULL"
			continue
		}
		elements[i] = element(oid, rest[:size])
		rest = rest[size:]
	}
	return "{" + strings.Join(elements, ",") + "}"
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// element writes one element, by its type.
func element(oid uint32, b []byte) string {
	switch oid {
	case oidBool:
		return strconv.FormatBool(b[0] != 0)
	case oidInt2:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b))))
	case oidInt4:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b))))
	case oidInt8:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)
	case oidTimestamptz:
		at := time.UnixMicro(int64(binary.BigEndian.Uint64(b)) + epoch).UTC()
		return `"` + at.Format("2006-01-02 15:04:05.999999Z07:00") + `"`
	case oidBytea:
		return `"\\x` + hex.EncodeToString(b) + `"`
	}
	return `"` + quoted.Replace(string(b)) + `"`
}
