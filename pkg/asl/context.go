package asl

import (
	"strconv"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// contextObject builds the context object as seen from a scope.
func (t *transition) contextObject(s *scope) []byte {
	d := &t.x.data
	start := &d.Start
	b := make([]byte, 0, 512+len(start.Input))
	text := func(key, value string) {
		b = append(b, key...)
		b = rawjson.AppendString(b, value)
	}
	text(`{"Execution":{"Id":`, start.ID)
	b = append(append(b, `,"Input":`...), start.Input...)
	text(`,"StartTime":`, formatTime(d.StartTime))
	text(`,"Name":`, start.Name)
	text(`,"RoleArn":`, start.RoleARN)
	if t.x.machine.kind == Standard {
		b = append(b, `,"RedriveCount":0`...)
	}
	text(`},"StateMachine":{"Id":`, start.MachineID)
	text(`,"Name":`, start.MachineName)
	b = append(b, '}')
	if f := s.flow; f != nil && f.state != nil {
		text(`,"State":{"Name":`, f.state.name)
		text(`,"EnteredTime":`, formatTime(f.At))
		if k := f.state.kind; k == typeTask || k == typeParallel || k == typeMap {
			b = append(b, `,"RetryCount":`...)
			b = strconv.AppendInt(b, int64(f.Retries), 10)
		}
		b = append(b, '}')
	}
	if s.token != "" {
		text(`,"Task":{"Token":`, s.token)
		b = append(b, '}')
	}
	if item := s.mapItem(); item != nil {
		b = append(append(append(b, `,"Map":{"Item":`...), item...), '}')
	}
	return append(b, '}')
}

// mapItem is Map.Item: that of the ItemSelector, or of the iteration around.
func (s *scope) mapItem() []byte {
	if s.item != nil {
		return s.item
	}
	for f := s.flow; f != nil; f = f.parent {
		if f.Item != nil {
			return mapItem(f.Index, f.Item)
		}
	}
	return nil
}

func mapItem(index int, value []byte) []byte {
	b := append(make([]byte, 0, len(value)+32), `{"Index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	return append(append(append(b, `,"Value":`...), value...), '}')
}
