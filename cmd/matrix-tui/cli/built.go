package cli

import "runtime/debug"

// Built is the commit that this program was built from, "" if the build did not say. Main sets it before anything else.
var Built string

// Version returns the module's version, with the commit if it is known, such as "v1.2.0", "devel" or
// "devel+1a2b3c4d5e6f".
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info, Built)
}

func versionOf(info *debug.BuildInfo, commit string) string {
	name, modified := "devel", ""
	if info != nil {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return v // the go command adds the commit
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && commit == "":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = "-modified"
			}
		}
	}
	if commit == "" {
		return name
	}
	return name + "+" + commit[:min(len(commit), 12)] + modified
}
