package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cert-manager/cert-manager/pkg/util/cmapichecker"
)

// runStartupAPICheck asks for certificates without meaning them until the webhook answers, as `check api --wait` does.
func runStartupAPICheck(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("startupapicheck", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	namespace := flags.String("namespace", "default", "")
	wait := flags.Duration("wait", 0, "")
	flags.CountP("verbose", "v", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	rest, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	checker, err := cmapichecker.New(rest, *namespace)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, *wait)
	defer stop()
	for {
		err := checker.Check(ctx)
		if err == nil {
			fmt.Println("The cert-manager API is ready")
			return nil
		}
		fmt.Println("Not ready:", err)
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}
