package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func groupsCommand(std streams) *cobra.Command {
	conn := &connection{std: std}
	c := &cobra.Command{
		Use:     "groups",
		Short:   "Show consumer groups and their lag, move their offsets, delete them",
		Example: "  pelton groups lag readers\n  pelton groups reset-offsets readers --topic logs --to-earliest --execute",
	}
	conn.flags(c)
	return family(c, groupsList(conn), groupsDescribe(conn), groupsLag(conn), groupsDelete(conn), groupsReset(conn))
}

type groupView struct {
	Group        string       `json:"group"`
	State        string       `json:"state"`
	Type         string       `json:"type,omitempty"`
	ProtocolType string       `json:"protocol_type"`
	Protocol     string       `json:"assignor,omitempty"`
	Coordinator  int32        `json:"coordinator"`
	Members      []memberView `json:"members,omitempty"`
}

type memberView struct {
	ID         string             `json:"id"`
	Instance   string             `json:"instance,omitempty"`
	Client     string             `json:"client"`
	Host       string             `json:"host"`
	Partitions map[string][]int32 `json:"partitions"`
}

func groupsList(conn *connection) *cobra.Command {
	var states []string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List groups",
		Example: "  pelton groups list --state Stable",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				list, err := a.ListGroups(ctx, states...)
				if err != nil {
					return err
				}
				views := []groupView{}
				t := newTable("GROUP", "STATE", "PROTOCOL", "COORDINATOR")
				for _, g := range list.Sorted() {
					views = append(views, groupView{Group: g.Group, State: g.State, Type: g.GroupType, ProtocolType: g.ProtocolType, Coordinator: g.Coordinator})
					t.add(g.Group, g.State, g.ProtocolType, g.Coordinator)
				}
				if conn.json {
					return printJSON(conn.std.out, views)
				}
				return t.print(conn.std.out)
			})
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "only groups in these states (Stable, Empty, PreparingRebalance, ...)")
	return c
}

func groupsDescribe(conn *connection) *cobra.Command {
	return &cobra.Command{
		Use:     "describe GROUP...",
		Short:   "Show a group's state and members",
		Example: "  pelton groups describe readers",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				list, err := a.DescribeGroups(ctx, names...)
				if err != nil {
					return err
				}
				views := []groupView{}
				for _, g := range list.Sorted() {
					if g.Err != nil {
						return brokerError("group "+g.Group, g.Err, g.ErrMessage)
					}
					views = append(views, viewOfGroup(g))
				}
				if conn.json {
					return printJSON(conn.std.out, views)
				}
				return printGroups(conn, views)
			})
		},
	}
}

func viewOfGroup(g kadm.DescribedGroup) groupView {
	v := groupView{Group: g.Group, State: g.State, ProtocolType: g.ProtocolType, Protocol: g.Protocol, Coordinator: g.Coordinator.NodeID}
	for _, m := range g.Members {
		mv := memberView{ID: m.MemberID, Instance: text(m.InstanceID), Client: m.ClientID, Host: m.ClientHost, Partitions: map[string][]int32{}}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				mv.Partitions[t.Topic] = t.Partitions
			}
		}
		v.Members = append(v.Members, mv)
	}
	return v
}

func printGroups(conn *connection, views []groupView) error {
	for i, v := range views {
		if i > 0 {
			fmt.Fprintln(conn.std.out)
		}
		fmt.Fprintf(conn.std.out, "%s  state %s  assignor %s  coordinator %d  members %d\n", v.Group, v.State, orDash(v.Protocol), v.Coordinator, len(v.Members))
		if v.State == "Dead" {
			fmt.Fprintln(conn.std.out, "(Dead also means: there is no such group)")
		}
		if len(v.Members) == 0 {
			continue
		}
		t := newTable("MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS")
		for _, m := range v.Members {
			parts := map[string]string{}
			for topic, list := range m.Partitions {
				parts[topic] = joinInts(list)
			}
			t.add(m.ID, m.Instance, m.Client, m.Host, joinConfigs(parts, " "))
		}
		if err := t.print(conn.std.out); err != nil {
			return err
		}
	}
	return nil
}

// lagView is where a group stands in one partition.
type lagView struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed *int64 `json:"committed"` // null: nothing committed
	End       int64  `json:"end"`
	Lag       *int64 `json:"lag"`
	Member    string `json:"member,omitempty"`
	Client    string `json:"client,omitempty"`
	Host      string `json:"host,omitempty"`
}

func groupsLag(conn *connection) *cobra.Command {
	return &cobra.Command{
		Use:     "lag GROUP...",
		Short:   "Show committed offsets, log ends and what is between",
		Example: "  pelton groups lag readers --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				views, err := groupLag(ctx, a, names)
				if err != nil {
					return err
				}
				if conn.json {
					return printJSON(conn.std.out, views)
				}
				t := newTable("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
				for _, v := range views {
					t.add(v.Group, v.Topic, v.Partition, shownOffset(v.Committed), v.End, shownOffset(v.Lag), v.Member, v.Host, v.Client)
				}
				return t.print(conn.std.out)
			})
		},
	}
}

func groupLag(ctx context.Context, a *kadm.Client, names []string) ([]lagView, error) {
	lags, err := a.Lag(ctx, names...)
	if err != nil {
		return nil, err
	}
	views := []lagView{}
	for _, g := range lags.Sorted() {
		if err := g.Error(); err != nil {
			return nil, fmt.Errorf("group %s: %w", g.Group, err)
		}
		for _, l := range g.Lag.Sorted() {
			v := lagView{Group: g.Group, Topic: l.Topic, Partition: l.Partition, End: l.End.Offset}
			if l.Commit.At >= 0 {
				v.Committed = &l.Commit.At
			}
			if l.Err == nil {
				v.Lag = &l.Lag
			}
			if l.Member != nil {
				v.Member, v.Client, v.Host = l.Member.MemberID, l.Member.ClientID, l.Member.ClientHost
			}
			views = append(views, v)
		}
	}
	return views, nil
}

func groupsDelete(conn *connection) *cobra.Command {
	return &cobra.Command{
		Use:     "delete GROUP...",
		Short:   "Delete groups without members, with their committed offsets",
		Example: "  pelton groups delete readers",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				list, err := a.DeleteGroups(ctx, names...)
				if err != nil {
					return err
				}
				done := newOutcome(conn)
				for _, g := range list.Sorted() {
					if g.Err != nil {
						return done.print(fmt.Errorf("group %s: %w", g.Group, g.Err))
					}
					done.add(map[string]any{"group": g.Group}, "Deleted group %s.", g.Group)
				}
				return done.print(nil)
			})
		},
	}
}
