/**
 * The plugin of the portal: the element `pai-plugin`, which shows the page in a frame and asks the cluster for it.
 *
 * The portal gives the token as an attribute. It is kept in this element alone: it is taken out of the document, is not
 * given to the frame, and is sent to the rest-server that the portal names, to the marketplace that the portal's
 * configuration names, and to nobody else.
 * Source: microsoft/pai, src/webportal/src/app/plugin/plugin.component.js and contrib/submit-job-v2/src/index.ts.
 */

import type { ClusterAnswer, ClusterRequest } from "./answers";
import { READY, type Opening, type Requested, type Responded } from "./messages";

/**
 * Where this script, and so the page, is from. The `config` of the portal's configuration follows its address:
 * `?platform=ltp&marketplace=/marketplace/api`, in which an address may be relative to the portal's.
 */
const SCRIPT = new URL((document.currentScript as HTMLScriptElement).src);
const FRAME = new URL("editor.html", SCRIPT);
/** The longest answer that is read, in bytes. */
const LONGEST = 16 * 1024 * 1024;
/** The time limit for an answer, in milliseconds. */
const PATIENCE = 60_000;

declare global {
  interface Window {
    PAI_PLUGINS?: { id?: string }[];
  }
}

class PortalPlugin extends HTMLElement {
  private readonly listener = (event: MessageEvent): void => this.open(event);
  private frame: HTMLIFrameElement | undefined;
  #token: string | undefined;

  connectedCallback(): void {
    this.#token ??= this.getAttribute("pai-rest-server-token") ?? undefined;
    this.removeAttribute("pai-rest-server-token");
    this.frame = document.createElement("iframe");
    this.frame.src = FRAME.href;
    this.frame.title = "Write and submit a job";
    this.frame.allow = "clipboard-write";
    Object.assign(this.frame.style, { display: "block", width: "100%", height: "100%", border: "0" });
    window.addEventListener("message", this.listener);
    this.replaceChildren(this.frame);
    // What the portal leaves below its own header.
    const top = Math.round(this.getBoundingClientRect().top + window.scrollY);
    Object.assign(this.style, { display: "block", height: `calc(100vh - ${top}px)`, minHeight: "30rem" });
  }

  disconnectedCallback(): void {
    window.removeEventListener("message", this.listener);
    this.replaceChildren();
  }

  private open({ data, source, origin }: MessageEvent): void {
    if (data !== READY || source !== this.frame?.contentWindow || origin !== FRAME.origin) {
      return;
    }
    const { port1, port2 } = new MessageChannel();
    const server = absolute(this.getAttribute("pai-rest-server-uri"));
    const marketplace = absolute(SCRIPT.searchParams.get("marketplace"));
    port1.onmessage = (event: MessageEvent<Requested>) => {
      const { number, request } = event.data;
      void this.sent(request, server, marketplace).then((response) =>
        port1.postMessage({ number, response } satisfies Responded),
      );
    };
    const opening: Opening = {
      platform: SCRIPT.searchParams.get("platform") === "ltp" ? "ltp" : "openpai",
      ...asked(),
      ...(marketplace === undefined ? {} : { marketplace }),
    };
    if (server !== undefined && this.#token !== undefined) {
      opening.cluster = { server, portal: location.origin };
    }
    this.frame.contentWindow?.postMessage(opening, FRAME.origin, [port2]);
  }

  /** What is answered to a request of the page, if it is one that the page may make. */
  private async sent(
    request: ClusterRequest,
    server: string | undefined,
    marketplace: string | undefined,
  ): Promise<ClusterAnswer> {
    const { method } = request;
    const url = new URL(request.url);
    const api = `${server ?? ""}/api/v2/`;
    const isApi = server !== undefined && url.href.startsWith(api);
    const isItems = marketplace !== undefined && url.href === `${marketplace}/items`;
    // Logs are below the portal, and have a key of their own.
    const isRead = method === "GET" && (isApi || isItems || url.origin === location.origin);
    const isJob = method === "POST" && url.href === `${api}jobs`;
    if (!isRead && !isJob) {
      return { failure: `the page may not ask '${url.host}' for this` };
    }
    if (!isApi && !isItems) {
      return answerTo(request, url, undefined);
    }
    const answer = await answerTo(request, url, this.#token);
    return "status" in answer && answer.status === 401 && this.isLoggedInAgain()
      ? answerTo(request, url, this.#token)
      : answer;
  }

  /**
   * Whether the same user has logged in to the portal again, in another tab: then the new token is used.
   *
   * Source: microsoft/pai, src/webportal/src/app/home/index/conn.js: the portal keeps user and token in cookies.
   */
  private isLoggedInAgain(): boolean {
    const [user, token] = [cookie("user"), cookie("token")];
    if (token === undefined || token === this.#token || user !== this.getAttribute("pai-user")) {
      return false;
    }
    this.#token = token;
    return true;
  }
}

/** An address of the portal's configuration, which may be relative to the portal's; undefined for none. */
function absolute(address: string | null): string | undefined {
  if (!address) {
    return undefined;
  }
  if (!URL.canParse(address, location.href)) {
    console.error(`pai-lsp: '${address}' is not an address`);
    return undefined;
  }
  return new URL(address, location.href).href.replace(/\/$/, "");
}

function cookie(name: string): string | undefined {
  const found = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return found === undefined ? undefined : decodeURIComponent(found.slice(name.length + 1));
}

/** Send a request, and read its answer. */
async function answerTo(
  { method, range, body }: ClusterRequest,
  url: URL,
  token: string | undefined,
): Promise<ClusterAnswer> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (token !== undefined) {
    headers.Authorization = `Bearer ${token}`;
  }
  if (method === "POST") {
    headers["Content-Type"] = "text/yaml";
  }
  if (range !== null) {
    headers.Range = range;
  }
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: method === "POST" ? body : null,
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(PATIENCE),
    });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await beginning(response),
    };
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    return { failure: isLate ? "the server did not answer in time" : "no connection can be made" };
  }
}

/** The text of an answer; what is longer than the limit is cut off. */
async function beginning(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = "";
  for (let length = 0; reader !== undefined && length <= LONGEST;) {
    const { value } = await reader.read();
    if (value === undefined) {
      return text + decoder.decode();
    }
    length += value.byteLength;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text;
}

/** What the portal asks for in its own address: a job that another page has left, or one of the cluster. */
function asked(): Pick<Opening, "text" | "plugin" | "resubmit"> {
  const query = new URLSearchParams(location.search);
  const plugin = window.PAI_PLUGINS?.[Number(query.get("index"))]?.id ?? "";
  const [user, job] = [query.get("user"), query.get("jobname")];
  if (query.get("op") === "init") {
    const text = sessionStorage.getItem("protocolYAML") ?? "";
    for (const key of ["protocolItemKey", "protocolYAML"]) {
      sessionStorage.removeItem(key);
    }
    return { plugin, text };
  }
  return query.get("op") === "resubmit" && user && job
    ? { plugin, text: "", resubmit: { user, job } }
    : { plugin, text: "" };
}

customElements.define("pai-plugin", PortalPlugin);
