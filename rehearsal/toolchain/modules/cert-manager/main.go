// Command cert-manager runs cert-manager's controller, cainjector, webhook or startupapicheck: its packages, with the
// flags that the chart passes. The vendor keeps the programs in modules of their own, which no module proxy serves.
// Controllers are those of certificates, and of issuers that sign by themselves or by a CA: no authority is in reach
// of a rehearsal, and the libraries of other issuers are not served.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logf.InitLogs()
	defer logf.FlushLogs()
	ctrl.SetLogger(logf.Log)
	ctx = logf.NewContext(ctx, logf.Log)
	programs := map[string]func(context.Context, []string) error{
		"controller":      runController,
		"cainjector":      runCAInjector,
		"webhook":         runWebhook,
		"startupapicheck": runStartupAPICheck,
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "error: name controller, cainjector, webhook or startupapicheck first")
		os.Exit(2)
	}
	if err := programs[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
