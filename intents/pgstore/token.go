package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	insertToken = `insert into tokens (name, hash, scopes, created_by, expires_at) values ($1, $2, $3, $4, $5)
 on conflict do nothing returning ` + tokenColumns
	tokenColumns = `name, scopes, created_at, created_by, expires_at, revoked_at, coalesce(revoked_by, '')`
	selectTokens = `select ` + tokenColumns + ` from tokens order by created_at, name`
	findToken    = `select ` + tokenColumns + ` from tokens where hash = $1 and ` + usable
	usable       = `revoked_at is null and (expires_at is null or expires_at > clock_timestamp())`
	countTokens  = `select count(*) > 0, coalesce(bool_or(` + usable + `), false) from tokens`
	revokeToken  = `update tokens set revoked_at = coalesce(revoked_at, clock_timestamp()), revoked_by = coalesce(revoked_by, $2)
 where name = $1 returning ` + tokenColumns
)

// CreateToken keeps a new token with the hash of its secret. Errors: *intents.InvalidError when the name is taken, also by
// one that was revoked.
func (s *Store) CreateToken(ctx context.Context, t intents.Token, hash [32]byte) (intents.Token, error) {
	got, err := s.changeToken(ctx, insertToken, t.Name, hash[:], scopesText(t.Scopes), t.CreatedBy, timeOrNull(t.ExpiresAt))
	if errors.Is(err, sql.ErrNoRows) {
		return got, &intents.InvalidError{Field: "name", Value: t.Name, Want: "a name that no token had before"}
	}
	return got, err
}

// RevokeToken ends a token; once revoked it stays so. Errors: *intents.InvalidError when there is none of the name.
func (s *Store) RevokeToken(ctx context.Context, name, by string) (intents.Token, error) {
	got, err := s.changeToken(ctx, revokeToken, name, by)
	if errors.Is(err, sql.ErrNoRows) {
		return got, &intents.InvalidError{Field: "name", Value: name, Want: "the name of a token"}
	}
	return got, err
}

func (s *Store) changeToken(ctx context.Context, query string, args ...any) (t intents.Token, err error) {
	none := false
	err = s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		t, err = scanToken(tx.QueryRowContext(ctx, query, args...))
		none = errors.Is(err, sql.ErrNoRows)
		if none {
			return nil
		}
		return err
	})
	if none && err == nil {
		err = sql.ErrNoRows
	}
	return t, err
}

// FindToken reads the token with the hash of a secret; false where there is none that can be used.
func (s *Store) FindToken(ctx context.Context, hash [32]byte) (intents.Token, bool, error) {
	t, err := scanToken(s.pool.QueryRowContext(ctx, findToken, hash[:]))
	if errors.Is(err, sql.ErrNoRows) {
		return t, false, nil
	}
	return t, err == nil, ofRead(err)
}

// HasTokens says whether a token was ever made, and whether one can be used.
func (s *Store) HasTokens(ctx context.Context) (made, usable bool, err error) {
	err = s.pool.QueryRowContext(ctx, countTokens).Scan(&made, &usable)
	return made, usable, ofRead(err)
}

// Tokens reads every token that was ever made, oldest first.
func (s *Store) Tokens(ctx context.Context) ([]intents.Token, error) {
	rows, err := s.pool.QueryContext(ctx, selectTokens)
	if err != nil {
		return nil, ofPool(err)
	}
	defer rows.Close()
	var all []intents.Token
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, ofRead(rows.Err())
}

func scanToken(row interface{ Scan(...any) error }) (intents.Token, error) {
	var t intents.Token
	var scopes string
	err := row.Scan(&t.Name, &scopes, stamp{&t.CreatedAt}, &t.CreatedBy, stamp{&t.ExpiresAt}, stamp{&t.RevokedAt}, &t.RevokedBy)
	for name := range strings.SplitSeq(scopes, ",") { // one of a later version gives nothing here
		t.Scopes = append(t.Scopes, intents.Scope(name))
	}
	return t, err
}

func scopesText(scopes []intents.Scope) string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}
