/** Checks of a fragment's own nodes, before they meet others. All faults are collected and reported together. */
import type { Each, Instances, LeafSpec, Node } from "./spec.ts";

const handlerNames = ["read", "write", "stream", "blockOnce", "request", "rdwr"] as const;

/** Faults of one plugin's nodes, each as `plugin: path: what is wrong`. */
export function checkNodes(plugin: string, at: string, nodes: readonly Node<never>[]): string[] {
  const faults: string[] = [];
  for (const node of nodes)
    check(node, at === "/" ? "" : at, (path, what) => faults.push(`${plugin}: ${path}: ${what}`));
  return faults;
}

type Fault = (path: string, what: string) => void;

function check(node: Node<never>, at: string, fault: Fault): void {
  switch (node?.kind) {
    case "leaf":
      checkName(node.name, at, fault);
      return checkLeaf(`${at}/${node.name}`, node.spec as LeafSpec<never>, fault);
    case "dir": {
      checkName(node.name, at, fault);
      const path = `${at}/${node.name}`;
      if (node.children.filter((c) => c.kind === "each").length > 1) fault(path, "a directory has at most one each");
      for (const below of node.children) check(below, path, fault);
      return;
    }
    case "each":
      return checkEach(node, at, fault);
    default:
      fault(at || "/", "is not made by leaf, dir or each");
  }
}

function checkEach(node: Each<never>, at: string, fault: Fault): void {
  const path = node.scope.path;
  const above = path.slice(0, path.lastIndexOf("/"));
  if (above !== at) fault(path, `its each stands in ${at || "/"}, not in ${above || "/"}`);
  if (["", "fid", "principal", "path", "signal"].includes(node.scope.key))
    fault(path, `its key ${JSON.stringify(node.scope.key)} is no name for an instance`);
  const spec = node.spec as Partial<Instances<never, object>>;
  for (const name of ["list", "get", "name"] as const)
    if (typeof spec[name] !== "function") fault(path, `each needs ${name}`);
  for (const below of node.children) check(below, path, fault);
}

function checkName(name: string, at: string, fault: Fault): void {
  if (!isLegal(name)) fault(`${at}/${name}`, illegal);
}

export const illegal = "is not a legal name (1-64 characters, no slash, brace or control character)";

export const isLegal = (name: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  /^[^/\u0000-\u001f\u007f{}]{1,64}$/.test(name) && name !== "." && name !== "..";

function checkLeaf(path: string, spec: LeafSpec<never>, fault: Fault): void {
  if (typeof spec !== "object" || spec === null) return fault(path, "a file needs a doc and a handler");
  const has = handlerNames.filter((name) => spec[name] !== undefined);
  for (const name of [...handlerNames, "size", "vers", "check", "deny"] as const)
    if (spec[name] !== undefined && typeof spec[name] !== "function") fault(path, `${name} is not a function`);
  if (has.length === 0) fault(path, "a file needs a handler");
  if (typeof spec.doc !== "string" || spec.doc.trim() === "") fault(path, "a file needs a doc");
  if (spec.stream && spec.blockOnce) fault(path, "stream and blockOnce exclude each other");
  if (spec.read && (spec.stream || spec.blockOnce)) fault(path, "read and a blocking handler exclude each other");
  if (spec.request && spec.rdwr) fault(path, "request and rdwr exclude each other");
  for (const one of ["request", "rdwr"] as const)
    if (spec[one] && has.length > 1)
      fault(path, `${one} excludes other handlers (${has.filter((h) => h !== one).join(", ")})`);
  if (spec.commit && !spec.write) fault(path, "commit needs write");
  if (spec.check && spec.commit !== "close") fault(path, "check needs commit close");
  if (spec.mode === undefined) return;
  if (spec.mode & ~0o777) fault(path, `mode ${spec.mode.toString(8)} has bits over 0777`);
  if (spec.mode & 0o444 && !readable(spec)) fault(path, "its mode allows reading, but no handler reads");
  if (spec.mode & 0o222 && !writable(spec)) fault(path, "its mode allows writing, but no handler writes");
}

export const readable = (s: LeafSpec<never>): boolean =>
  Boolean(s.read || s.stream || s.blockOnce || s.request || s.rdwr);
export const writable = (s: LeafSpec<never>): boolean => Boolean(s.write || s.request || s.rdwr);

/** What the handlers allow. */
export const defaultMode = (s: LeafSpec<never>): number => (readable(s) ? 0o444 : 0) | (writable(s) ? 0o222 : 0);
