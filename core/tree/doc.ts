/** Walks the spec: what /help and docs/namespace.md are made of. */
import type { BuiltDir, BuiltFile, BuiltNode } from "./node.ts";

export interface DocRow {
  /** Spec path: `/session/{name}/ctl`. */
  path: string;
  dir: boolean;
  mode: number;
  /** Plugin that serves it. */
  plugin: string;
  /** `read`, `write (at close)`, `stream`, … */
  kinds: string[];
  /** What `deny` does, in words. */
  rights: string;
  doc: string;
}

/** Every node, parents first, names in order. */
export function docRows(root: BuiltDir): DocRow[] {
  const rows: DocRow[] = [];
  const visit = (node: BuiltNode) => {
    rows.push(rowOf(node));
    if (node.kind === "file") return;
    const below = [...node.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const one of below) visit(one);
    if (node.each) visit(node.each.dir);
  };
  visit(root);
  return rows;
}

function rowOf(node: BuiltNode): DocRow {
  const file = node.kind === "file" ? node : undefined;
  return {
    path: node.path,
    dir: node.kind === "dir",
    mode: node.mode,
    plugin: node.owner.name,
    kinds: file ? kindsOf(file) : [],
    rights: file?.spec.rights ?? "",
    doc: node.doc.trim(),
  };
}

function kindsOf({ spec }: BuiltFile): string[] {
  const kinds: string[] = [];
  for (const kind of ["read", "stream", "blockOnce", "rdwr", "request"] as const) if (spec[kind]) kinds.push(kind);
  if (spec.write) kinds.push(spec.commit === "close" ? "write (at close)" : "write");
  return kinds;
}
