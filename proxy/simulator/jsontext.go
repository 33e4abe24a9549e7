package simulator

import (
	"encoding/json"
	"strconv"
)

// obj is a JSON object as alternating keys and values, which keeps the order
// of the real providers and is written without reflection.
type obj []any

// arr is a JSON array.
type arr []any

// text returns v as JSON text.
func text(v any) []byte { return appendJSON(nil, v) }

// appendJSON appends v, built of obj, arr and plain values, to b.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case json.RawMessage:
		return append(b, v...)
	case obj:
		b = append(b, '{')
		for i := 0; i+1 < len(v); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, v[i].(string)), ':')
			b = appendJSON(b, v[i+1])
		}
		return append(b, '}')
	case arr:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	}
	// Nothing else is put into obj and arr but what encoding/json can write.
	raw, err := json.Marshal(v)
	if err != nil {
		panic("simulator: " + err.Error())
	}
	return append(b, raw...)
}

// appendString appends s in quotes. Plain text, the usual case, is copied.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			raw, err := json.Marshal(s)
			if err != nil {
				panic("simulator: " + err.Error())
			}
			return append(b, raw...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
