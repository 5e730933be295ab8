package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// moveView is how far a partition's move is.
type moveView struct {
	Broker    int32  `json:"broker"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      string `json:"from"`
	To        string `json:"to"`
	State     string `json:"state"` // moving, moved, there (nothing to do)
	Size      int64  `json:"size_bytes"`
	Copied    int64  `json:"copied_bytes"`
	Lag       int64  `json:"offset_lag"` // records that are missing
}

// moveEvery is the pause between looks at a move.
const moveEvery = 300 * time.Millisecond

func logDirsMoveCommand(std streams) *cobra.Command {
	conn := &connection{std: std}
	var broker int32
	var noWait bool
	c := &cobra.Command{
		Use:     "move TOPIC PARTITION DIR",
		Short:   "Move a partition to another log directory of its broker",
		Long:    "Move a partition to another log directory of its broker. Choosing the directory where it is ends a move that is under way.",
		Example: "  pelton log-dirs move logs 0 /data2\n  pelton log-dirs move logs 0 /data2 --no-wait --json",
		Args:    cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil || n < 0 {
				return usageError("%q is no partition", args[1])
			}
			m := &mover{conn: conn, view: moveView{Broker: broker, Topic: args[0], Partition: int32(n), To: args[2]}}
			client, err := conn.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			return m.run(cmd.Context(), client, noWait)
		},
	}
	conn.flags(c)
	c.Flags().Int32Var(&broker, "broker", -1, "the broker, when several have a log directory of that name with the partition in it")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until it is there")
	return c
}

// mover asks for a move and follows it.
type mover struct {
	conn  *connection
	admin *kadm.Client
	view  moveView
}

func (m *mover) run(ctx context.Context, client *kgo.Client, noWait bool) error {
	m.admin = kadm.NewClient(client)
	if err := m.find(ctx); err != nil {
		return err
	}
	if err := m.ask(ctx); err != nil {
		return err
	}
	for last := int64(-1); ; {
		if err := m.look(ctx); err != nil {
			return err
		}
		if m.view.State != "moving" || noWait {
			return m.print()
		}
		if m.view.Copied != last {
			last = m.view.Copied
			if err := m.print(); err != nil {
				return err
			}
		}
		select {
		case <-time.After(moveEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// find looks for the broker that has the partition and the directory.
func (m *mover) find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.conn.timeout)
	defer cancel()
	all, err := m.admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return err
	}
	var have, fit []int32
	for broker, dirs := range all {
		for _, d := range dirs {
			if p, ok := d.Topics[m.view.Topic][m.view.Partition]; !ok || p.IsFuture {
				continue
			}
			have = append(have, broker)
			if _, ok := dirs[m.view.To]; ok && (m.view.Broker < 0 || m.view.Broker == broker) {
				fit, m.view.From = append(fit, broker), d.Dir
			}
		}
	}
	switch {
	case len(have) == 0:
		return fmt.Errorf("partition %s-%d is in no log directory that is online", m.view.Topic, m.view.Partition)
	case len(fit) == 0:
		return fmt.Errorf("no broker that has partition %s-%d has the log directory %s", m.view.Topic, m.view.Partition, m.view.To)
	case len(fit) > 1:
		return usageError("brokers %v have the partition and that directory: name one with --broker", fit)
	}
	m.view.Broker = fit[0]
	return nil
}

func (m *mover) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.conn.timeout)
	defer cancel()
	set := kadm.TopicsSet{}
	set.Add(m.view.Topic, m.view.Partition)
	req := kadm.AlterReplicaLogDirsReq{m.view.To: set}
	resp, err := m.admin.AlterBrokerReplicaLogDirs(ctx, m.view.Broker, req)
	if err != nil {
		return err
	}
	return resp[m.view.Topic][m.view.Partition].Err
}

// look asks how far the move is.
func (m *mover) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.conn.timeout)
	defer cancel()
	set := kadm.TopicsSet{}
	set.Add(m.view.Topic, m.view.Partition)
	dirs, err := m.admin.DescribeBrokerLogDirs(ctx, m.view.Broker, set)
	if err != nil {
		return err
	}
	v := &m.view
	v.State = ""
	for _, d := range dirs {
		p, ok := d.Topics[v.Topic][v.Partition]
		switch {
		case !ok:
		case p.IsFuture && d.Dir == v.To:
			v.State, v.Copied, v.Lag = "moving", p.Size, p.OffsetLag
		case !p.IsFuture:
			v.Size = p.Size
			if d.Dir == v.To && v.State == "" {
				v.State, v.Copied, v.Lag = "moved", p.Size, 0
			}
		}
	}
	switch {
	case v.State == "":
		return fmt.Errorf("partition %s-%d does not move to %s any more: another request came, or its directory has failed", v.Topic, v.Partition, v.To)
	case v.State == "moved" && v.From == v.To:
		v.State = "there"
	}
	return nil
}

func (m *mover) print() error {
	v := &m.view
	if m.conn.json {
		return printJSON(m.conn.std.out, v)
	}
	_, err := fmt.Fprintf(m.conn.std.out, "%s-%d %s on broker %d: %s of %s in %s, %d records missing\n", v.Topic, v.Partition, v.State, v.Broker,
		humanBytes(v.Copied), humanBytes(v.Size), v.To, v.Lag)
	return err
}
