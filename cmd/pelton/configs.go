package main

import (
	"context"
	"fmt"
	"sort"
	"strconv"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// resource names what a config verb is about.
type resource struct {
	topic   string
	broker  string
	cluster bool
}

func (r *resource) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.topic, "topic", "", "topic")
	c.Flags().StringVar(&r.broker, "broker", "", "number of a broker")
	c.Flags().BoolVar(&r.cluster, "all-brokers", false, "the values for every broker of the cluster")
}

// name is the protocol's kind and name of the resource, and the broker that must be asked (-1: any).
func (r *resource) name() (kind kmsg.ConfigResourceType, name string, ask int, err error) {
	given := 0
	for _, set := range [...]bool{r.topic != "", r.broker != "", r.cluster} {
		if set {
			given++
		}
	}
	if given != 1 {
		return 0, "", 0, usageError("say whose configs: one of --topic NAME, --broker N, --all-brokers")
	}
	if r.topic != "" {
		return kmsg.ConfigResourceTypeTopic, r.topic, -1, nil
	}
	if r.cluster {
		return kmsg.ConfigResourceTypeBroker, "", -1, nil
	}
	id, err := strconv.Atoi(r.broker)
	if err != nil || id < 0 {
		return 0, "", 0, usageError("--broker %s: not a broker's number", r.broker)
	}
	return kmsg.ConfigResourceTypeBroker, r.broker, id, nil
}

func configsCommand(std streams) *cobra.Command {
	conn := &connection{std: std}
	c := &cobra.Command{
		Use:   "configs",
		Short: "Show and change configs of topics and brokers",
		Example: `  pelton configs describe --topic logs
  pelton configs alter --topic logs --add retention.ms=3600000 --add cleanup.policy=compact
  pelton configs delete --topic logs retention.ms
  pelton configs alter --all-brokers --add log.retention.ms=86400000`,
	}
	conn.flags(c)
	return family(c, configsDescribe(conn), configsAlter(conn), configsDelete(conn))
}

// configView is one key as describe shows it.
type configView struct {
	Name      string        `json:"name"`
	Value     *string       `json:"value"`
	Source    string        `json:"source"`
	Type      string        `json:"type"`
	ReadOnly  bool          `json:"read_only"`
	Sensitive bool          `json:"sensitive"`
	Synonyms  []synonymView `json:"synonyms"`
	Doc       *string       `json:"doc,omitempty"`
}

type synonymView struct {
	Name   string  `json:"name"`
	Value  *string `json:"value"`
	Source string  `json:"source"`
}

func configsDescribe(conn *connection) *cobra.Command {
	r := &resource{}
	var all, docs bool
	c := &cobra.Command{
		Use:     "describe [KEY...]",
		Short:   "Show configs that are not just defaults, or all of them",
		Example: "  pelton configs describe --topic logs --all\n  pelton configs describe --broker 0 log.dirs",
		RunE: func(cmd *cobra.Command, keys []string) error {
			views, err := conn.describeConfigs(cmd.Context(), r, keys, docs)
			if err != nil {
				return err
			}
			if !all && len(keys) == 0 {
				views = notDefault(views)
			}
			if conn.json {
				return printJSON(conn.std.out, views)
			}
			if len(views) == 0 && len(keys) == 0 {
				_, err := fmt.Fprintln(conn.std.out, "Nothing but defaults; --all shows those too.")
				return err
			}
			t := newTable("KEY", "VALUE", "SOURCE", "NOTE")
			for _, v := range views {
				note := ""
				switch {
				case v.Sensitive:
					note = "sensitive"
				case v.ReadOnly:
					note = "read-only"
				}
				t.add(v.Name, text(v.Value), v.Source, note)
				if docs && v.Doc != nil {
					t.add("", *v.Doc)
				}
			}
			return t.print(conn.std.out)
		},
	}
	r.flags(c)
	c.Flags().BoolVar(&all, "all", false, "defaults too")
	c.Flags().BoolVar(&docs, "docs", false, "what each key means")
	return c
}

func notDefault(views []configView) []configView {
	out := []configView{}
	for _, v := range views {
		if v.Source != "DEFAULT_CONFIG" {
			out = append(out, v)
		}
	}
	return out
}

func (c *connection) describeConfigs(ctx context.Context, r *resource, keys []string, docs bool) ([]configView, error) {
	kind, name, ask, err := r.name()
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, docs
	one := kmsg.NewDescribeConfigsRequestResource()
	one.ResourceType, one.ResourceName, one.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, one)
	answer, err := c.askBroker(ctx, ask, req)
	if err != nil {
		return nil, err
	}
	views := []configView{}
	for _, res := range answer.(*kmsg.DescribeConfigsResponse).Resources {
		if err := brokerError("configs", kerr.ErrorForCode(res.ErrorCode), text(res.ErrorMessage)); err != nil {
			return nil, err
		}
		for _, e := range res.Configs {
			v := configView{Name: e.Name, Value: e.Value, Source: e.Source.String(), Type: e.ConfigType.String(), ReadOnly: e.ReadOnly, Sensitive: e.IsSensitive, Doc: e.Documentation, Synonyms: []synonymView{}}
			for _, s := range e.ConfigSynonyms {
				v.Synonyms = append(v.Synonyms, synonymView{s.Name, s.Value, s.Source.String()})
			}
			views = append(views, v)
		}
	}
	sort.Slice(views, func(i, j int) bool { return views[i].Name < views[j].Name })
	return views, nil
}

// askBroker sends to one broker, or to any when id is negative.
func (c *connection) askBroker(ctx context.Context, id int, req kmsg.Request) (resp kmsg.Response, err error) {
	err = c.with(ctx, func(ctx context.Context, client *kgo.Client) (err error) {
		if id >= 0 {
			resp, err = client.Broker(id).RetriableRequest(ctx, req)
		} else {
			resp, err = client.Request(ctx, req)
		}
		return err
	})
	return resp, err
}

func configsAlter(conn *connection) *cobra.Command {
	r := &resource{}
	var add, appends, subtracts, deletes []string
	var validate bool
	c := &cobra.Command{
		Use:     "alter",
		Short:   "Change configs, leaving those that are not named",
		Example: "  pelton configs alter --topic logs --add retention.ms=3600000 --delete segment.ms\n  pelton configs alter --topic logs --append cleanup.policy=compact",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var changes []config.Change
			for _, group := range []struct {
				flag  string
				op    config.Op
				texts []string
			}{{"--add", config.OpSet, add}, {"--append", config.OpAppend, appends}, {"--subtract", config.OpSubtract, subtracts}} {
				for _, t := range group.texts {
					key, value, err := config.ParseOverride(t)
					if err != nil {
						return usageError("%s %v", group.flag, err)
					}
					changes = append(changes, config.Change{Name: key, Op: group.op, Value: value})
				}
			}
			for _, key := range deletes {
				changes = append(changes, config.Change{Name: key, Op: config.OpDelete})
			}
			return conn.alterConfigs(cmd.Context(), r, changes, validate)
		},
	}
	r.flags(c)
	f := c.Flags()
	f.StringArrayVar(&add, "add", nil, "set key=value, may be repeated")
	f.StringArrayVar(&appends, "append", nil, "add entries to a list, key=entry,...")
	f.StringArrayVar(&subtracts, "subtract", nil, "take entries off a list, key=entry,...")
	f.StringArrayVar(&deletes, "delete", nil, "take a key's value away, may be repeated")
	f.BoolVar(&validate, "validate-only", false, "ask whether it would work, without doing it")
	return c
}

func configsDelete(conn *connection) *cobra.Command {
	r := &resource{}
	c := &cobra.Command{
		Use:     "delete KEY...",
		Short:   "Take values away, so that the next layer's count again",
		Example: "  pelton configs delete --topic logs retention.ms",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, keys []string) error {
			var changes []config.Change
			for _, k := range keys {
				changes = append(changes, config.Change{Name: k, Op: config.OpDelete})
			}
			return conn.alterConfigs(cmd.Context(), r, changes, false)
		},
	}
	r.flags(c)
	return c
}

func (c *connection) alterConfigs(ctx context.Context, r *resource, changes []config.Change, validate bool) error {
	kind, name, ask, err := r.name()
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return usageError("say what to change: --add key=value, --delete key, --append key=entry or --subtract key=entry")
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = validate
	one := kmsg.NewIncrementalAlterConfigsRequestResource()
	one.ResourceType, one.ResourceName = kind, name
	for _, ch := range changes {
		e := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		e.Name, e.Op = ch.Name, kmsg.IncrementalAlterConfigOp(ch.Op)
		if ch.Op != config.OpDelete {
			e.Value = kmsg.StringPtr(ch.Value)
		}
		one.Configs = append(one.Configs, e)
	}
	req.Resources = append(req.Resources, one)
	answer, err := c.askBroker(ctx, ask, req)
	if err != nil {
		return err
	}
	for _, res := range answer.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if err := brokerError("configs", kerr.ErrorForCode(res.ErrorCode), text(res.ErrorMessage)); err != nil {
			return err
		}
	}
	if !c.json {
		fmt.Fprintf(c.std.out, "Changed %s.\n", plural(len(changes), "key"))
		return nil
	}
	done := newOutcome(c)
	for _, ch := range changes {
		done.add(map[string]any{"key": ch.Name}, "")
	}
	return done.print(nil)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
