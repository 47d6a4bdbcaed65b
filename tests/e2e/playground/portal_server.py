"""portal_server.py PLUGIN: a portal that loads the plugin at this address, and a rest-server on another port.

Prints both addresses as JSON, and serves until its input ends. The page does what the portal's own does (microsoft/pai,
src/webportal/src/app/plugin/plugin.component.js). The marketplace is below the portal, as the cluster's gateway has it.
`/requests` of the portal is what rest-server and marketplace were asked; `/token?T` makes `T` the only valid token.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[2]))

from live_cluster_server import CONFIG, FAILED, LiveCluster, refuse, send
from loopback import Request, item, items, marketplace
from test_cluster_pull import ANSWERS
from test_cluster_submit import JOB

if TYPE_CHECKING:
    from loopback import Marketplace

PAGE = """\
<!doctype html>
<html lang="en">
  <title>Portal</title>
  <meta http-equiv="Content-Security-Policy" content="connect-src 'self' {rest}; frame-src {home}">
  <main id="content-wrapper"></main>
  <script src="portal.js"></script>
</html>
"""
SCRIPT = """\
window.PAI_PLUGINS = [{{ id: "checked-job", title: "Write and submit a job", uri: "{plugin}?{config}" }}];
const script = document.createElement("script");
script.addEventListener("load", () => {{
  script.remove();
  const plugin = document.createElement("pai-plugin");
  plugin.setAttribute("pai-rest-server-uri", "{rest}/rest-server");
  plugin.setAttribute("pai-version", "1.8.1");
  if (!location.search.includes("guest")) {{
    plugin.setAttribute("pai-user", "ann");
    plugin.setAttribute("pai-rest-server-token", "t0ken");
  }}
  document.getElementById("content-wrapper").replaceChildren(plugin);
}});
script.src = window.PAI_PLUGINS[0].uri;
document.head.append(script);
"""
# The key `config` of the plugin as the portal's configuration puts it after the address.
CONFIG_OF_PLUGIN = "platform=openpai&marketplace=%2Fmarketplace%2Fapi"
ITEMS = (
    item(1, "mnist"),
    item(2, "cifar"),
    item(3, "finetune", name="Fine-tune", type="template", summary="of a model", protocol=JOB),
)
# What the rest-server's `cors` allows: every page, and the headers that it wants to send.
CORS = {"Access_Control_Allow_Origin": "*"}


class RestServer(LiveCluster):
    """The rest-server as a page of another origin sees it; it takes jobs, and has one that failed."""

    def __call__(self, request: Request) -> None:
        if request.method == "OPTIONS":
            wanted = request.headers.get("access-control-request-headers", "")
            methods = {"Access_Control_Allow_Methods": "GET,POST", "Access_Control_Allow_Headers": wanted}
            request.send(204, b"", **CORS, **methods)
            return
        answer = request.send
        request.send = lambda status, body, **headers: answer(status, body, **CORS, **headers)  # type: ignore[method-assign]
        super().__call__(request)

    def answer(self, request: Request, place: str) -> None:
        if request.method == "POST":
            if place != "jobs" or request.headers.get("content-type") != "text/yaml":
                refuse(request, 400, "InvalidProtocolError", "not a job")
            else:
                request.send(202, b'{"message": "submitted"}', Content_Type="application/json")
        elif place == "jobs/ann~train/config":
            send(request, {**CONFIG, "defaults": {"virtualCluster": "default"}})
        elif f"/api/v2/{place}" in ANSWERS or place.startswith("cluster/"):
            query = urlsplit(request.path).query
            send(request, ANSWERS[f"/api/v2/{place}?{query}" if query else f"/api/v2/{place}"])
        else:
            super().answer(request, place)


class Portal:
    """The page of the plugin, the logs, and what was asked."""

    def __init__(self, plugin: str, rest: Marketplace, cluster: RestServer) -> None:
        self._plugin, self._rest, self._cluster = plugin, rest, cluster

    def __call__(self, request: Request) -> None:
        path = urlsplit(request.path).path
        if path in {"/plugin.html", "/portal.js"}:
            home = "{0.scheme}://{0.netloc}".format(urlsplit(self._plugin))
            form, kind = (PAGE, "text/html") if path.endswith(".html") else (SCRIPT, "text/javascript")
            text = form.format(plugin=self._plugin, config=CONFIG_OF_PLUGIN, rest=self._rest.url, home=home)
            request.send(200, text.encode(), Content_Type=f"{kind}; charset=utf-8")
        elif path == "/":
            request.send(200, b"<title>Portal</title>", Content_Type="text/html")
        elif path == "/requests":
            below = [one for one in request.server.requests if one.path.startswith("/marketplace/")]
            asked = [
                {"method": one.method, "path": one.path, "headers": one.headers, "body": one.body.decode()}
                for one in (*self._rest.requests, *below)
            ]
            send(request, asked)
        elif path == "/token":
            self._cluster.token = urlsplit(request.path).query
            request.send(204, b"")
        elif path.startswith("/marketplace/api/"):
            items(*ITEMS, token=self._cluster.token)(request)
        elif path.startswith("/log-manager/"):
            self._rest.reaction(request)
        else:
            request.send(404, b"")


def main(plugin: str) -> None:
    cluster = RestServer([FAILED])
    with marketplace(cluster) as rest, marketplace(Portal(plugin, rest, cluster)) as portal:
        sys.stdout.write(json.dumps({"portal": portal.url, "rest": rest.url}) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
