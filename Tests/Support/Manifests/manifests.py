"""Checks deploy/kubernetes: python3 manifests.py FOLDER. Prints "ok", or what is wrong."""
import pathlib
import sys

import yaml

SERVICES = ["auth", "social", "streaks", "media", "notifications", "billing"]
folder = pathlib.Path(sys.argv[1])
wrong = []


def check(holds, text):
    if not holds:
        wrong.append(text)


listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
files = sorted(p.name for p in folder.glob("*.yaml") if p.name != "kustomization.yaml")
check(sorted(listed) == files, f"kustomization.yaml lists {listed}, the folder has {files}")
objects = [o for name in listed for o in yaml.safe_load_all((folder / name).read_text()) if o]
kinds = {}
for o in objects:
    check(o.get("apiVersion") and o.get("kind") and o["metadata"].get("name"), f"not an object: {o}")
    kinds.setdefault(o["kind"], {})[o["metadata"]["name"]] = o

deployments, budgets = kinds["Deployment"], kinds["PodDisruptionBudget"]
for name in SERVICES + ["gateway"]:
    template = deployments[name]["spec"]["template"]
    label = {"app.kubernetes.io/name": name}
    check(label.items() <= template["metadata"]["labels"].items(), f"{name}: no label of its own")
    spread = template["spec"].get("topologySpreadConstraints", [])
    check(
        any(
            s["topologyKey"] == "kubernetes.io/hostname" and s["labelSelector"] == {"matchLabels": label} and s["maxSkew"] == 1
            for s in spread
        ),
        f"{name}: its replicas may share a node",
    )
    own = [b for b in budgets.values() if b["spec"]["selector"]["matchLabels"] == label]
    check(len(own) == 1 and own[0]["spec"]["maxUnavailable"] == 1, f"{name}: no disruption budget of its own")
check(len(budgets) == len(SERVICES) + 1, "one budget for each: of a pod with two, no eviction is possible")

policies = kinds["NetworkPolicy"].values()
scraped = [
    rule
    for p in policies
    for rule in p["spec"]["ingress"]
    if any(port.get("port") == "admin" for port in rule.get("ports", []))
]
check(
    len(scraped) == 1 and all("namespaceSelector" in peer for peer in scraped[0]["from"]),
    "the admin port is open to another namespace than Prometheus', or to none",
)
for name in SERVICES + ["gateway", "streams"]:
    ports = [p["name"] for c in deployments[name]["spec"]["template"]["spec"]["containers"] for p in c["ports"]]
    check("admin" in ports, f"{name}: no port called admin")

# Those that read or write blobs in the sources.
mounting = sorted(
    name
    for name, d in deployments.items()
    if any(v.get("persistentVolumeClaim", {}).get("claimName") == "blobs" for v in d["spec"]["template"]["spec"]["volumes"])
)
check(mounting == ["auth", "gateway", "media", "streaks"], f"the blob folder is mounted by {mounting}")
# A proxy is demanded before the gateway: without its address all who are not signed in share one limit.
compose = yaml.safe_load((folder.parent / "compose.yaml").read_text())["services"]
for what, settings in [("compose.yaml", compose["gateway"]["environment"]), ("config.yaml", kinds["ConfigMap"]["streaksnap"]["data"])]:
    check(settings.get("STREAKSNAP_HTTP_TRUSTED_PROXIES"), f"{what} does not name the proxy before the gateway")

scalers = {s["spec"]["scaleTargetRef"]["name"]: s["spec"] for s in kinds["HorizontalPodAutoscaler"].values()}
least = sum(scalers[n]["minReplicas"] if n in scalers else deployments[n]["spec"]["replicas"] for n in SERVICES)
check(least == 12, f"deploy/README.md computes with 12 replicas of services, not {least}")
print("\n".join(wrong) or "ok")
