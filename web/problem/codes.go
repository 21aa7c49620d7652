package problem

import (
	"maps"
	"slices"
)

// Code names a kind of problem, for programs.
type Code string

// The codes.
const (
	Malformed    Code = "malformed"
	Unauthorized Code = "unauthorized"
	Forbidden    Code = "forbidden"
	Origin       Code = "cross_origin"
	NotFound     Code = "not_found"
	Method       Code = "method_not_allowed"
	Slow         Code = "request_timeout"
	Conflict     Code = "conflict"
	Precondition Code = "precondition_failed"
	Large        Code = "too_large"
	Media        Code = "unsupported_media_type"
	Host         Code = "wrong_host"
	Invalid      Code = "invalid"
	KeyReused    Code = "idempotency_key_reused"
	Many         Code = "too_many_requests"
	Internal     Code = "internal"
	Damaged      Code = "damaged"
	Stopping     Code = "unavailable"
	Full         Code = "disk_full"
)

// kind is what all problems of a code have in common.
type kind struct {
	status int
	title  string
	retry  int // seconds after which it may be otherwise; 0: nobody knows
}

func kinds() map[Code]kind {
	return map[Code]kind{
		Malformed:    {400, "The request cannot be read", 0},
		Unauthorized: {401, "A token is needed", 0},
		Forbidden:    {403, "The token may not do this", 0},
		Origin:       {403, "Pages of other origins may not do this", 0},
		NotFound:     {404, "There is nothing here", 0},
		Method:       {405, "Another method is needed", 0},
		Slow:         {408, "The request took too long", 0},
		Conflict:     {409, "The task no longer takes this", 0},
		Precondition: {412, "The shared state has changed", 0},
		Large:        {413, "The body is too large", 0},
		Media:        {415, "Another content type is needed", 0},
		Host:         {421, "Nothing is served under this name", 0},
		Invalid:      {422, "The request is not as documented", 0},
		KeyReused:    {422, "The idempotency key was used for another request", 0},
		Many:         {429, "Too much at once", 5},
		Internal:     {500, "Something went wrong inside", 0},
		Damaged:      {500, "A stored record is damaged", 0},
		Stopping:     {503, "Legwork is stopping", 5},
		Full:         {507, "The disk is full", 60},
	}
}

// Codes lists all codes, by their names.
func Codes() []Code { return slices.Sorted(maps.Keys(kinds())) }

// Status is that of the replies with a code.
func (c Code) Status() int { return kinds()[c].status }
