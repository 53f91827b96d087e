package main

import (
	"context"

	"github.com/spf13/pflag"

	cmwebhook "github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

func runWebhook(ctx context.Context, args []string) error {
	opts, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	flags := pflag.NewFlagSet("webhook", pflag.ContinueOnError)
	options.NewWebhookFlags().AddFlags(flags)
	options.AddConfigFlags(flags, opts)
	if err := flags.Parse(args); err != nil {
		return err
	}
	made, err := cmwebhook.NewCertManagerWebhookServer(logf.FromContext(ctx, "webhook"), *opts)
	if err != nil {
		return err
	}
	return made.Run(ctx)
}
