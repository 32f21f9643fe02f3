package pgstore

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

const selectLetters = `select key, topic, hash, body, size, reason, detail, message_id, route, count, first_at, last_at
 from dead_letters`

// DeadLetters reads up to most dead letters, newest first, and how often each came.
func (s *Store) DeadLetters(ctx context.Context, most int) ([]intents.BuriedLetter, error) {
	return s.letters(ctx, selectLetters+` order by last_at desc, key desc limit $1`, int64(most))
}

// DeadLettersBefore reads a page of dead letters, newest first: those that last came before the given one, of which only Key
// and LastAt are looked at; from the newest on where it is zero.
func (s *Store) DeadLettersBefore(ctx context.Context, last intents.BuriedLetter, most int) ([]intents.BuriedLetter, error) {
	if last.LastAt.IsZero() {
		return s.DeadLetters(ctx, most)
	}
	return s.letters(ctx, selectLetters+` where (last_at, key) < ($1, $2) order by last_at desc, key desc limit $3`, last.LastAt, last.Key, int64(most))
}

// FindDeadLetters reads up to most dead letters whose hash, in hexadecimal digits, begins as given, newest first.
func (s *Store) FindDeadLetters(ctx context.Context, start string, most int) ([]intents.BuriedLetter, error) {
	from, to, ok := hashes(start)
	if !ok {
		return nil, nil
	}
	return s.letters(ctx, selectLetters+` where hash between $1 and $2 order by last_at desc, key desc limit $3`, from, to, int64(most))
}

// hashes are the first and the last hash that begin as given; false where none does.
func hashes(start string) (from, to []byte, ok bool) {
	const digits = 64
	rest := digits - len(start)
	if rest < 0 {
		return nil, nil, false
	}
	from, err := hex.DecodeString(start + strings.Repeat("0", rest))
	if err != nil {
		return nil, nil, false
	}
	to, err = hex.DecodeString(start + strings.Repeat("f", rest))
	return from, to, err == nil
}

func (s *Store) letters(ctx context.Context, query string, args ...any) ([]intents.BuriedLetter, error) {
	rows, err := s.pool.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	defer rows.Close()
	var all []intents.BuriedLetter
	for rows.Next() {
		var l intents.BuriedLetter
		var hash []byte
		if err := rows.Scan(&l.Key, &l.Topic, &hash, &l.Body, &l.Size, &l.Reason, &l.Detail, &l.MessageID, &l.Route, &l.Count,
			stamp{&l.FirstAt}, stamp{&l.LastAt}); err != nil {
			return nil, err
		}
		copy(l.Hash[:], hash)
		all = append(all, l)
	}
	return all, ofRead(rows.Err())
}
