package main

import (
	"context"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cmscheme "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/util"
)

func runCAInjector(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("cainjector", pflag.ContinueOnError)
	_ = flags.IntP("v", "v", 0, "")
	kubeconfig := flags.String("kubeconfig", "", "")
	election := flags.String("leader-election-namespace", "kube-system", "")
	metrics := flags.String("metrics-listen-address", "0", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	rest, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	// What it writes it signs by the first part of its agent's name, and without one nothing is written.
	rest = util.RestConfigWithUserAgent(rest, "cainjector")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kscheme.AddToScheme, cmscheme.AddToScheme, apiext.AddToScheme, apireg.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{ReaderFailOnMissingInformer: true},
		Client:                  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		LeaderElection:          true,
		LeaderElectionNamespace: *election,
		LeaderElectionID:        "cert-manager-cainjector-leader-election",
		Metrics:                 metricsserver.Options{BindAddress: *metrics},
	})
	if err != nil {
		return err
	}
	all := map[string]bool{
		cainjector.MutatingWebhookConfigurationName:   true,
		cainjector.ValidatingWebhookConfigurationName: true,
		cainjector.APIServiceName:                     true,
		cainjector.CustomResourceDefinitionName:       true,
	}
	setup := cainjector.SetupOptions{EnableCertificatesDataSource: true, EnabledReconcilersFor: all}
	if err := cainjector.RegisterAllInjectors(ctx, manager, setup); err != nil {
		return err
	}
	return manager.Start(ctx)
}
