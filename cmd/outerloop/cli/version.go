package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionView is `version -o json`.
type versionView struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  outerloop version\n  outerloop version -o json",
		Args:    none,
		RunE: func(*cobra.Command, []string) error {
			view := a.versionView()
			if a.asJSON() {
				return a.writeJSON(view)
			}
			a.say("outerloop %s (%s, %s)", view.Version, view.Go, view.System)
			return nil
		},
	}
}

func (a *app) versionView() versionView {
	view := versionView{Version: a.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		if view.Version == "" {
			view.Version = info.Main.Version
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				view.Commit = setting.Value
			}
		}
	}
	if view.Version == "" {
		view.Version = "unknown"
	}
	return view
}
