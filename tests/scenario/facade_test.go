package scenario

import (
	"testing"

	"breakwater/proxy/client"
	"breakwater/proxy/client/facadetest"
)

// The service and the client of its API keep the one contract of a facade.
func TestServiceKeepsTheContract(t *testing.T) {
	t.Run("in process", func(t *testing.T) { facadetest.Contract(t, Start(t).Facade()) })
	t.Run("over the API", func(t *testing.T) {
		k := Start(t)
		c := client.New(k.URL, k.Token, client.Options{})
		t.Cleanup(c.Close)
		facadetest.Contract(t, c)
	})
}
