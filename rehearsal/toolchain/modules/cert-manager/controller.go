package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/server"
)

// What the chart's flags say. Flags of issuers that are not built are taken and mean nothing here.
type controllerFlags struct {
	kubeconfig, resources, metrics, health string
	owned                                  bool
}

func parseController(args []string) (controllerFlags, error) {
	var told controllerFlags
	flags := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	flags.StringVar(&told.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&told.resources, "cluster-resource-namespace", "", "")
	flags.StringVar(&told.metrics, "metrics-listen-address", "0.0.0.0:9402", "")
	flags.StringVar(&told.health, "internal-healthz-listen-address", "0.0.0.0:9403", "")
	flags.BoolVar(&told.owned, "enable-certificate-owner-ref", false, "")
	flags.Int("v", 0, "")
	flags.String("leader-election-namespace", "", "")
	flags.String("acme-http01-solver-image", "", "")
	flags.Int("max-concurrent-challenges", 0, "")
	flags.Bool("enable-gateway-api", false, "")
	flags.Bool("issuer-ambient-credentials", false, "")
	flags.Bool("dns01-recursive-nameservers-only", false, "")
	return told, flags.Parse(args)
}

// runController runs the controllers of certificates, and those of issuers that sign by themselves or by a CA.
func runController(ctx context.Context, args []string) error {
	told, err := parseController(args)
	if err != nil {
		return err
	}
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         told.kubeconfig,
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: told.resources},
		CertificateOptions: controller.CertificateOptions{
			EnableOwnerRef:                           told.owned,
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		return err
	}
	base, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	base.Metrics.SetupCertificateCollector(base.SharedInformerFactory.Certmanager().V1().Certificates().Lister())
	base.Metrics.SetupIssuerCollector(base.SharedInformerFactory.Certmanager().V1().Issuers().Lister())
	metrics, err := server.Listen(ctx, "tcp", told.metrics)
	if err != nil {
		return err
	}
	group.Go(func() error { return base.Metrics.NewServer(metrics).Serve(metrics) })
	health, err := (&net.ListenConfig{}).Listen(ctx, "tcp", told.health)
	if err != nil {
		return err
	}
	group.Go(func() error { return healthz.NewServer(20*time.Second).Start(ctx, health) })
	for name, start := range controller.Known() {
		made, err := start(factory)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		group.Go(func() error { return made.Run(5, ctx) })
	}
	base.SharedInformerFactory.Start(ctx.Done())
	base.KubeSharedInformerFactory.Start(ctx.Done())
	base.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return group.Wait()
}
