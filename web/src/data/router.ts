// Where the reader is. Every state of a page is in the address behind #, so that it can be
// bookmarked and sent to others, and the server, its logs and proxies do not see keys and filters.

import { signal } from "@preact/signals";

export interface Route {
  path: string[];
  query: URLSearchParams;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal(parse(location.hash));

addEventListener("hashchange", () => {
  const before = route.peek().path.join("/");
  route.value = parse(location.hash);
  if (route.peek().path.join("/") !== before) scrollTo(0, 0);
});

export type Parameters = Record<string, string | undefined>;

// href returns the address of a page.
export function href(path: string[], query: Parameters = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

// change changes parameters of the current page. A change that is replaced gets no entry in the
// browser's history.
export function change(parameters: Parameters, replace = false): void {
  const all = { ...Object.fromEntries(route.peek().query), ...parameters };
  const to = href(route.peek().path, all);
  if (replace) {
    history.replaceState(null, "", to);
    route.value = parse(to);
  } else {
    location.hash = to;
  }
}
