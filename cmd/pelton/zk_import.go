package main

import (
	"fmt"
	"path/filepath"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/txnlog"
	"github.com/spf13/cobra"
)

// zkImportCommand moves the data of an Apache ZooKeeper over.
func zkImportCommand(std streams) *cobra.Command {
	var to, logs string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import DIR --to DIR",
		Short: "Take over the data of an Apache ZooKeeper, 3.4 to 3.9",
		Long: "Reads the snapshots and logs below the dataDir of a server that is stopped (take the one with the highest zxid of an ensemble) and " +
			"writes what they amount to into the dataDir of a new one. The source is only read.",
		Example: "  pelton zk import /var/lib/zookeeper --to /var/lib/pelton-zk",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if to == "" {
				return usageError("say where to: --to DIR, the dataDir of the new server")
			}
			fs := disk.OS()
			version2 := func(dir string) string {
				if filepath.Base(dir) == txnlog.Sub {
					return dir
				}
				return filepath.Join(dir, txnlog.Sub)
			}
			if logs == "" {
				logs = args[0]
			}
			rec, err := txnlog.Import(fs, version2(args[0]), version2(logs), version2(to))
			if err != nil {
				return err
			}
			for _, torn := range rec.Torn {
				fmt.Fprintf(std.err, "%s ends in a torn write that nobody was answered for\n", torn)
			}
			if asJSON {
				return printJSON(std.out, map[string]any{"nodes": rec.Tree.Count(), "sessions": len(rec.Sessions), "zxid": rec.Zxid, "to": to})
			}
			_, err = fmt.Fprintf(std.out, "Imported %d nodes and %d open sessions up to zxid 0x%x into %s.\n", rec.Tree.Count(), len(rec.Sessions), rec.Zxid, to)
			return err
		},
	}
	c.Flags().StringVar(&to, "to", "", "dataDir of the new server; it must not hold data yet")
	c.Flags().StringVar(&logs, "logs", "", "dataLogDir of the old server, when it is not the same directory")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
