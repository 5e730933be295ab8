package meta

import "testing"

func TestQuotasOfAnImage(t *testing.T) {
	alice, all := QuotaEntity{User: "alice"}, QuotaEntity{User: DefaultEntity, Client: "app"}
	b := NewBuilder(nil)
	b.SetQuota(alice, map[string]string{"producer_byte_rate": "10"})
	base := b.Build()
	same := NewBuilder(base)
	same.SetQuota(alice, map[string]string{"producer_byte_rate": "10"})
	same.SetQuota(all, nil)
	if same.Changed() {
		t.Fatal("setting what is set already is no change")
	}
	next := NewBuilder(base)
	next.SetQuota(alice, nil)
	next.SetQuota(all, map[string]string{"request_percentage": "50"})
	img := next.Build()
	if len(base.Quotas) != 1 || base.Quotas[alice]["producer_byte_rate"] != "10" {
		t.Fatalf("the base was written to: %v", base.Quotas)
	}
	if len(img.Quotas) != 1 || img.Quotas[all]["request_percentage"] != "50" {
		t.Fatalf("%v", img.Quotas)
	}
	if d := Diff(base, img); !d.Quotas || d.Empty() {
		t.Fatal("the change of a quota is not seen")
	}
	if d := Diff(base, base); d.Quotas {
		t.Fatal("no change is seen as one")
	}
}
