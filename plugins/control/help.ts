/** /help: the tree as text. */
import type { DocRow } from "#core";

/** One line per node, `mode name [kinds] doc (rights)`, indented by depth. */
export function helpText(rows: readonly DocRow[]): string {
  const lines = rows.map((row) => {
    const depth = row.path === "/" ? 0 : row.path.split("/").length - 1;
    const name = row.path === "/" ? "/" : `${row.path.slice(row.path.lastIndexOf("/") + 1)}${row.dir ? "/" : ""}`;
    const head = `${"  ".repeat(Math.max(0, depth - 1))}${name}`;
    const what = [row.kinds.length > 0 ? `[${row.kinds.join(", ")}]` : "", row.doc, row.rights && `(${row.rights})`];
    const mode = row.mode.toString(8).padStart(4, "0");
    return `${mode} ${head.padEnd(24)} ${what.filter(Boolean).join(" ")}`.trimEnd();
  });
  return `${lines.join("\n")}\n`;
}
